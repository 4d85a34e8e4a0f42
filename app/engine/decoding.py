"""What the decode thread tells: facts hop to the event loop and become stages, numbers and notices."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from app.engine.events import DecoderState, EngineEvent, Notice, SentenceDecoded, Severity
from app.engine.utterance import Sentence, Utterance
from app.errors import NearfieldError
from app.playback import facts
from decoder.errors import DecoderError
from decoder.wire.events import Outcome


class Decoding:
    """Knows whether the decoder is ready; ``active`` are the utterances that were begun and are not done."""

    def __init__(
        self,
        active: Sequence[Utterance],
        tell: Callable[[EngineEvent], None],
        on_failure: Callable[[Utterance], None],
        on_sentence: Callable[[Utterance], None] = lambda utterance: None,
    ) -> None:
        """``on_failure`` is called once an utterance cannot be decoded further.

        ``on_sentence`` is called whenever a sentence's place in an utterance's sound is known.
        """
        self._active = active
        self._tell = tell
        self._on_failure = on_failure
        self._on_sentence = on_sentence
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: asyncio.Future[None] | None = None
        self._missing: facts.DeviceMissing | None = None

    def start(self) -> None:
        """Wait for the decoder from now on; called before the decode thread is started."""
        self._loop = asyncio.get_running_loop()
        self._ready = self._loop.create_future()
        self._tell(DecoderState(False, "preparing"))

    async def prepared(self) -> None:
        """Wait until the decoder is warm.

        Raises:
            NearfieldError: the engine was closed, or it cannot be loaded.
            DecoderError: it cannot be loaded.

        """
        assert self._ready is not None, "the engine is started first"
        await asyncio.wait({self._ready})
        self._ready.result()

    def close(self) -> None:
        """Let nobody wait for the decoder any longer."""
        self._settle(NearfieldError("the engine was closed"))

    def emit(self, fact: facts.DecodeFact) -> None:
        """Hop from the decode thread, which calls this, to the event loop."""
        assert self._loop is not None, "the worker is started by the engine"
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody is left to be told
            self._loop.call_soon_threadsafe(self._take, fact)

    # -- event loop -------------------------------------------------------------------------------------

    def _take(self, fact: facts.DecodeFact) -> None:
        match fact:
            case facts.DecoderReady():
                self._on_ready(fact)
            case facts.DeviceMissing():
                self._missing = fact
            case facts.DecoderBroken():
                self._tell(DecoderState(False, str(fact.error), is_broken=True))
                self._settle(_as_told(fact.error))
            case _:
                utterance = next((u for u in self._active if u.number == fact.utterance), None)
                if utterance is not None:
                    self._take_of(utterance, fact)

    def _take_of(self, utterance: Utterance, fact: facts.DecodeFact) -> None:
        match fact:
            case facts.ChunkDecoded():
                utterance.meter.chunk_was_decoded(fact.started_s, fact.ended_s, fact.samples)
            case facts.UnitBegins():
                self._on_unit(utterance, fact)
            case facts.LeadingSilence():
                utterance.meter.leading_silence_s = fact.silence_s
            case facts.UtteranceDecoded():
                utterance.decoded = True
            case facts.DecodeFailed():
                utterance.decoded = True
                utterance.conclude(Outcome.FAILED, f"the decoder failed: {fact.error}")
                self._on_failure(utterance)
            case facts.SinkFailed():
                self._tell(Notice.of(Severity.ERROR, "the recording stopped: {0}", fact.error))
            case facts.PcmRepaired():
                text = "the decoder's sound was mended: {0} samples were no numbers, {1} beyond full scale"
                self._tell(Notice.of(Severity.WARNING, text, fact.not_finite, fact.clipped))
            case facts.SamplesMissing():
                self._tell(Notice.of(Severity.WARNING, "the decoder left out {0} samples", fact.samples))

    def _on_unit(self, utterance: Utterance, fact: facts.UnitBegins) -> None:
        text = fact.text or utterance.text
        utterance.sentences.append(Sentence(text, fact.at_samples))
        self._on_sentence(utterance)
        reading, part = utterance.reading, utterance.part
        if reading is not None and part is not None:
            starts = part.starts_samples + fact.at_samples
            self._tell(SentenceDecoded(reading.number, utterance.number, fact.text, starts))

    def _on_ready(self, fact: facts.DecoderReady) -> None:
        detail = f"loaded in {fact.load_s:.1f} s, warm in {fact.warm_up_s:.1f} s, RTF {fact.rtf:.2f}"
        self._tell(DecoderState(True, detail, fact.rtf))
        if (missing := self._missing) is not None:
            text = "{0} was asked for and is not there: {1} decodes, RTF {2}"
            used = missing.wanted, missing.used, f"{fact.rtf:.2f}"
            self._tell(Notice.of(Severity.WARNING, text, *used))
        if fact.rtf > 1:
            text = "this machine decodes slower than real time (RTF {0}): speech starts later"
            self._tell(Notice.of(Severity.WARNING, text, f"{fact.rtf:.2f}"))
        self._settle(None)

    def _settle(self, error: Exception | None) -> None:
        if self._ready is None or self._ready.done():
            return
        if error is None:
            self._ready.set_result(None)
        else:
            self._ready.set_exception(error)
            self._ready.exception()  # told here; waiting for it later tells again


def _as_told(error: Exception) -> Exception:
    """Return ``error`` if it was raised on purpose, with its exit code, or put it in words."""
    if isinstance(error, NearfieldError | DecoderError):
        return error
    return NearfieldError(f"the decoder cannot be loaded: {error}")
