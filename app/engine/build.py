"""Makes an engine of a configuration: the only place that names concrete classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.audio.devices import DeviceChoice
from app.audio.keeper import OutputEvent, OutputKeeper, OutputLost, OutputMissing, OutputOpened
from app.audio.null import NullOutput
from app.audio.output import Output, SampleSource
from app.config import Config, DecoderConfig
from app.engine.engine import Engine, Parts, SoundOutput
from app.engine.events import EngineEvent, Notice, OutputChanged, Severity
from app.engine.reference import reference_uri
from app.engine.voicing import spoken
from app.errors import ConfigError
from app.playback.chunk_policy import StartBuffer, start_buffer_s
from app.playback.decode_worker import DecodeWorker
from app.playback.decoder import Decoder
from app.playback.facts import DecodeFact, DeviceMissing
from app.playback.pcm_source import PcmSource
from app.playback.shared_decoder import SharedDecoder
from app.session.address import server_address
from app.session.session import Session
from decoder.errors import CheckpointError
from decoder.spec import CodecSpec
from decoder.streaming.config import CodecConfig
from decoder.streaming.location import CONFIG_NAME, find_checkpoint
from decoder.wire.messages import MAX_MESSAGE_BYTES, SessionConfig
from decoder.wire.rules import config_fault

if TYPE_CHECKING:
    from decoder.streaming import LoadedDecoder

    Weights = SharedDecoder[LoadedDecoder]
else:
    Weights = SharedDecoder
"""Decoder weights for several engines; made empty, filled by the first of them."""

_OpenDecoder = Callable[[Callable[[DecodeFact], None]], Decoder]


def build(
    config: Config, *, audible: bool = True, paced: bool = True, weights: Weights | None = None
) -> Engine:
    """Make an engine; nothing is opened or loaded before its ``start``.

    With ``audible`` false no device is opened; with ``paced`` false, too, the sound is taken as fast as it
    is made, for files only. Engines with the same ``weights`` load the decoder once; those that nobody hears
    let the others decode first, and do not measure it again.

    Raises:
        ConfigError: a value that cannot be used.
        CheckpointError: the checkpoint that was asked for is not there.

    """
    spec, open_decoder = _decoder(config, Weights() if weights is None else weights, gives_way=not audible)
    address = server_address(
        config.server.url,
        config.server.api_key,
        config.server.ca_file,
        config.server.allow_insecure_key,
        config.server.connect_timeout_s,
    )
    start_s = start_buffer_s(config.audio.start_buffer_s, config.server.packet_frames, spec.frame_s)
    start_buffer = StartBuffer(start_s)
    parts = Parts(
        session=lambda on_event: Session(address, spec, on_event),
        worker=lambda emit: DecodeWorker(
            lambda: open_decoder(emit), emit, start_buffer, measures=audible or weights is None
        ),
        output=lambda source, tell: _output(config, source, tell, audible, paced),
        source=PcmSource(spec.sample_rate_hz, config.audio.lead_in_s),
    )
    return Engine(parts, session_config(config), config.server.patience_s)


def session_config(config: Config) -> SessionConfig:
    """Say how it shall be spoken; what is empty is left to the server.

    A task that is named gets only the fields it takes; the others keep their values for the next choice.

    Raises:
        ConfigError: a combination that no server takes, or a recording that cannot be used.

    """
    voice = spoken(config.voice)
    message = SessionConfig(
        voice=voice.name or None,
        language=voice.language or None,
        task_type=voice.task or None,
        instructions=voice.instructions or None,
        seed=voice.seed,
        ref_audio=reference_uri(voice.ref_audio) if voice.ref_audio else None,
        ref_text=voice.ref_text or None,
        x_vector_only_mode=voice.x_vector_only or None,
        accept_codec_context=True,
        packet_frames=config.server.packet_frames or None,
    )
    if fault := config_fault(message):
        raise ConfigError(f"voice: {fault}")
    if len(message.to_json().encode()) > MAX_MESSAGE_BYTES:
        raise ConfigError(f"voice: its settings are larger than {MAX_MESSAGE_BYTES // 2**20} MiB together")
    return message


def _decoder(config: Config, weights: Weights, gives_way: bool) -> tuple[CodecSpec, _OpenDecoder]:
    """Return the codec and what loads its decoder.

    A checkpoint that was asked for must be there. Where none was named, the default one is missed only when
    it is needed: a server that decodes itself needs none, and an unreachable one is the more urgent news.
    """
    try:
        folder = find_checkpoint(config.decoder.checkpoint)
        spec = CodecConfig.from_file(folder / CONFIG_NAME).spec
    except CheckpointError as error:
        if config.decoder.checkpoint != DecoderConfig().checkpoint:
            raise
        return CodecSpec(), _failing(error)

    def open_decoder(emit: Callable[[DecodeFact], None]) -> Decoder:
        # Here, in the decode thread, torch is imported, which takes seconds.
        from decoder.streaming import load_decoder

        settings = config.decoder
        decoder = weights.weights(
            settings,
            lambda: load_decoder(
                folder,
                device=settings.device,
                threads=settings.threads or None,
                precision=settings.precision,
            ),
        )
        if not decoder.device.startswith(settings.device):
            emit(DeviceMissing(settings.device, decoder.device))
        decoder.prepare_thread()
        return weights.in_turn(decoder, gives_way=gives_way)

    return spec, open_decoder


def _failing(error: CheckpointError) -> _OpenDecoder:
    def open_decoder(emit: Callable[[DecodeFact], None]) -> Decoder:
        raise error

    return open_decoder


def _output(
    config: Config, source: PcmSource, tell: Callable[[EngineEvent], None], audible: bool, paced: bool
) -> SoundOutput:
    def open_output(of: SampleSource, choice: DeviceChoice | None) -> Output:
        if not audible:
            return NullOutput(of, paced=paced)
        from app.audio.sounddevice_output import open_output as open_device

        return open_device(of, choice, latency_s=config.audio.latency_s)

    def on_event(event: OutputEvent) -> None:
        for told in output_events(event, audible):
            tell(told)

    if not audible:
        return OutputKeeper(source, open_output, on_event, fingerprint=lambda: None)
    choice = DeviceChoice.parse(config.audio.device)
    return OutputKeeper(source, open_output, on_event, choice=choice)


def output_events(event: OutputEvent, audible: bool) -> list[EngineEvent]:
    """Say what ``event`` means to a front end; ``audible`` is whether somebody wants to hear something."""
    match event:
        case OutputOpened():
            is_dummy = audible and not event.info.audible
            detail = "a dummy sink: nobody hears anything" if is_dummy else "opened"
            events: list[EngineEvent] = [OutputChanged(event.info, detail)]
            if event.info.note:
                events.append(Notice(Severity.WARNING, event.info.note))
            if is_dummy:
                text = "{0} is a dummy sink: nobody hears anything"
                events.append(Notice.of(Severity.WARNING, text, event.info.name))
            return events
        case OutputLost() | OutputMissing():
            notice = Notice(Severity.WARNING, _sentence(event.reason, event.hint))
            return [OutputChanged(None, event.reason), notice]


def _sentence(reason: str, hint: str) -> str:
    return f"{reason}: {hint}" if hint else reason
