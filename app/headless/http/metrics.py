"""Numbers for Prometheus, of what the engine and the desk tell; the one door to ``prometheus_client``."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from app.desk.desk import Desk
from app.desk.events import DeskEvent, Ending, Failed, Finished, Interrupted
from app.engine.events import LinkStatus, Progress, UtteranceDone
from app.metrics.report import Report
from app.session.events import LinkState

CONTENT_TYPE = CONTENT_TYPE_LATEST
ALOUD, IN_FILES = "aloud", "file"
"""Utterances of the loudspeaker, and of ``/v1/audio/speech``, whose latencies are nobody's."""
_LATENCY_S = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
_RTF = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0, 4.0)
_BUFFER_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Metrics:
    """Counts in a registry of its own; what is a state is asked of the desk when somebody looks."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._registry = registry = CollectorRegistry()
        self._was_ready = False
        self._has_been_ready = False
        Info("nearfield", "What runs.", registry=registry).info({"version": version("nearfield")})
        self._ttfa = Histogram(
            "nearfield_ttfa_seconds",
            "Time to first audio: from the text sent to the DAC time of the first sample.",
            buckets=_LATENCY_S,
            registry=registry,
        )
        self._parts = Histogram(
            "nearfield_ttfa_part_seconds",
            "The parts of the time to first audio; they add up to it.",
            ("part",),
            buckets=_LATENCY_S,
            registry=registry,
        )
        self._before_sent = Histogram(
            "nearfield_before_sent_seconds",
            "From the request to the text sent: connecting, and the texts before it.",
            buckets=_LATENCY_S,
            registry=registry,
        )
        self._leading_silence = Histogram(
            "nearfield_leading_silence_seconds",
            "From the first sample to the first one beyond -50 dBFS.",
            buckets=_LATENCY_S,
            registry=registry,
        )
        self._rtf = Histogram(
            "nearfield_decode_rtf",
            "Seconds spent decoding for a second of sound; below 1 keeps up.",
            buckets=_RTF,
            registry=registry,
        )
        self._lowest_buffer = Histogram(
            "nearfield_lowest_buffer_seconds",
            "The least sound in hand while an utterance played and more was to come.",
            buckets=_BUFFER_S,
            registry=registry,
        )
        self._buffer = Gauge(
            "nearfield_buffer_seconds", "Decoded sound that waits for the device now.", registry=registry
        )
        self._underruns = Counter(
            "nearfield_underruns", "Times that the sound ran out in mid-utterance.", registry=registry
        )
        self._gap = Counter("nearfield_gap_seconds", "Silence of underruns.", registry=registry)
        self._device_underflows = Counter(
            "nearfield_device_underflows",
            "Times that the sound device was served too late, as it said.",
            registry=registry,
        )
        self._reconnects = Counter(
            "nearfield_reconnects", "Times that the server was reached again.", registry=registry
        )
        self._utterances = Counter(
            "nearfield_utterances", "Utterances by their end.", ("path", "outcome"), registry=registry
        )
        self._requests = Counter(
            "nearfield_requests", "Requests of all sources by their end.", ("outcome",), registry=registry
        )
        self._wire_bytes = Counter(
            "nearfield_wire_bytes", "Bytes of messages received.", ("path",), registry=registry
        )
        self._pcm_bytes = Counter(
            "nearfield_pcm_bytes", "Bytes the same sound takes as 16-bit PCM.", ("path",), registry=registry
        )
        self._audio = Counter("nearfield_audio_seconds", "Sound decoded.", ("path",), registry=registry)
        self._add_states()
        for path in (ALOUD, IN_FILES):
            for counter in (self._wire_bytes, self._pcm_bytes, self._audio):
                counter.labels(path)
        self._leave = (desk.watch(self.observe), desk.subscribe(self._on_request))

    def text(self) -> bytes:
        """Return all numbers as Prometheus reads them."""
        return generate_latest(self._registry)

    def close(self) -> None:
        """Follow the desk no longer."""
        for leave in self._leave:
            leave()

    def observe(self, event: object) -> None:
        """Take an event of the engine that is heard."""
        match event:
            case Progress():
                self._buffer.set(event.report.buffered_s)
            case UtteranceDone():
                self._on_utterance(event)
            case LinkStatus():
                self._on_link(event)

    def observe_unheard(self, event: object) -> None:
        """Take an event of an engine that nobody hears."""
        if isinstance(event, UtteranceDone):
            self._count(event, IN_FILES)

    # -- inside -----------------------------------------------------------------------------------------

    def _add_states(self) -> None:
        for name, about, state in (
            ("queue_length", "Requests that wait.", lambda: len(self._desk.status().queue)),
            ("link_up", "Whether the server is connected.", self._is_up),
            (
                "decoder_ready",
                "Whether the decoder is warm.",
                lambda: self._desk.status().decoder_ready,
            ),
            (
                "output_audible",
                "Whether the sound goes where somebody can hear it.",
                lambda: self._desk.status().audible,
            ),
            ("paused", "Whether the sound is held.", lambda: self._desk.status().paused),
        ):
            Gauge(f"nearfield_{name}", about, registry=self._registry).set_function(state)

    def _is_up(self) -> bool:
        return self._desk.status().link is LinkState.READY

    def _on_utterance(self, done: UtteranceDone) -> None:
        self._buffer.set(0.0)
        self._count(done, ALOUD)
        report = done.report
        self._underruns.inc(report.underruns)
        self._gap.inc(report.gap_s)
        self._device_underflows.inc(report.device_underflows)
        if report.ttfa_s is None:
            return
        self._before_sent.observe(report.before_sent_s)
        self._observe_latency(report)

    def _observe_latency(self, report: Report) -> None:
        for histogram, value in (
            (self._ttfa, report.ttfa_s),
            (self._leading_silence, report.leading_silence_s),
            (self._rtf, report.rtf),
            (self._lowest_buffer, report.lowest_buffer_s),
            *((self._parts.labels(name.removesuffix("_s")), v) for name, v in asdict(report.parts).items()),
        ):
            if value is not None:
                histogram.observe(value)

    def _count(self, done: UtteranceDone, path: str) -> None:
        self._utterances.labels(path, done.outcome.value).inc()
        self._wire_bytes.labels(path).inc(done.report.wire_bytes)
        self._pcm_bytes.labels(path).inc(done.report.pcm_bytes)
        self._audio.labels(path).inc(done.report.audio_s)

    def _on_link(self, event: LinkStatus) -> None:
        is_ready = event.state is LinkState.READY
        if is_ready and not self._was_ready:
            if self._has_been_ready:
                self._reconnects.inc()
            self._has_been_ready = True
        self._was_ready = is_ready

    def _on_request(self, event: DeskEvent) -> None:
        names = {Finished: "finished", Interrupted: "interrupted", Failed: "failed"}
        if isinstance(event, Ending):
            self._requests.labels(names[type(event)]).inc()


__all__ = ["ALOUD", "CONTENT_TYPE", "IN_FILES", "Metrics"]
