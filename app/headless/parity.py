"""``nearfield parity``: the decoder against the official one, and two servers against each other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from app.config import Config
from app.engine.build import session_config
from app.errors import SessionError
from app.headless.calling import address_of, dial_to, progress, say
from decoder.errors import BenchError
from decoder.spec import CodecSpec
from decoder.streaming.config import CodecConfig
from decoder.streaming.location import CONFIG_NAME, find_checkpoint
from decoder.streaming.parity.report import ParityReport, ServersReport, Way
from decoder.tape import Tape
from decoder.wire.packets import Codes
from server.caller import CallError
from server.parity import SpokenByBoth, fetch_both, fetch_codes

if TYPE_CHECKING:
    from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder

_SHOWN_SECONDS = 30
"""Rows of the table by second; JSON and the picture have them all."""


@dataclass(frozen=True)
class ParityOptions:
    """What was asked for on the command line."""

    checkpoint: str | None = None
    """Folder or repository id; None makes random weights, or takes the configured ones."""
    configured: bool = False
    tape: Path | None = None
    text: str | None = None
    frames: int = 150
    two_stage: str = ""
    threshold_db: float | None = None
    two_stage_db: float | None = None
    limit_s: float = 60.0
    as_json: bool = False
    plot: Path | None = None


@dataclass(frozen=True)
class _Material:
    """What is decoded in every way, and where it is from."""

    codes: Codes
    origin: str
    context: Codes | None = None
    both: SpokenByBoth | None = None


def run(config: Config, options: ParityOptions, out: Console, notes: Console) -> int:
    """Compare, print to ``out``, say what is going on to ``notes``; return an exit code.

    Raises:
        NearfieldError: a server cannot be used; the text says why.
        DecoderError: something that was asked for is missing; the text says what to do.

    """
    if options.plot is not None:
        from decoder.streaming.bench.plot import check_plot

        check_plot(options.plot)
    if config.voice.seed is None:
        config = replace(config, voice=replace(config.voice, seed=1))
    with progress(notes) as tell:
        found, servers = _measure(config, options, tell)
    if options.as_json:
        values = {"decoder": found.to_dict(), "servers": servers.to_dict() if servers else None}
        say(out, json.dumps(values, ensure_ascii=False))
    else:
        show(found, out)
        if servers is not None:
            show_servers(servers, out)
    if options.plot is not None:
        from decoder.streaming.parity.plot import plot

        plot(found, servers, options.plot)
    return 0 if found.has_passed and _servers_agree(servers, options.two_stage_db) else 1


def _measure(
    config: Config, options: ParityOptions, tell: Callable[[str], object]
) -> tuple[ParityReport, ServersReport | None]:
    source = options.checkpoint
    if source is None and (options.configured or options.two_stage):
        source = config.decoder.checkpoint  # other weights than the server's would make another sound
    spec = _spec_of(source)
    material = _fetch(config, options, spec, tell)
    # torch takes seconds to import, so here.
    tell("preparing weights")
    from decoder.streaming.parity.compare import ParityRequest, load_weights, parity, random_codes

    decoder, weights = load_weights(source)
    seed = config.voice.seed or 0
    if material is None:
        origin = f"random, seed {seed}"
        material = _Material(random_codes(decoder, options.frames, seed), origin)
    request = ParityRequest(
        decoder=decoder,
        weights=weights,
        codes=material.codes,
        origin=material.origin,
        context=material.context,
        precision=config.decoder.precision,
        threads=config.decoder.threads or None,
        threshold_db=options.threshold_db,
    )
    found = parity(request, tell)
    if material.both is None:
        return found, None
    tell("comparing the servers")
    return found, _compare(config, options, decoder, material.both)


def _compare(
    config: Config, options: ParityOptions, decoder: Qwen3TTSTokenizerV2Decoder, both: SpokenByBoth
) -> ServersReport:
    from decoder.streaming.parity.two_servers import Spoken, compare_servers

    (first, again), (pcm, pcm_again) = both.codes, both.pcm
    spoken = Spoken(
        text=options.text or "",
        seed=config.voice.seed or 0,
        codes=first.codes,
        codes_again=again.codes,
        context=first.context,
        other_codes=None if both.other_codes is None else both.other_codes.codes,
        pcm=pcm.pcm,
        pcm_again=pcm_again.pcm,
        rate_hz=pcm.rate_hz,
    )
    return compare_servers(decoder, spoken, config.decoder.threads or None)


def _fetch(
    config: Config, options: ParityOptions, spec: CodecSpec, tell: Callable[[str], object]
) -> _Material | None:
    """Return codes that are not random: a tape's, or a server's."""
    if options.tape is not None:
        tape = Tape.load(options.tape)
        if tape.spec != spec:
            raise BenchError(
                f"{options.tape} has frames of {tape.spec.codebooks} codes below {tape.spec.codebook_size},"
                f" the decoder takes {spec.codebooks} below {spec.codebook_size}: name with --checkpoint"
                " what it was recorded for"
            )
        return _Material(tape.codes, f"tape {options.tape}")
    if options.text is None:
        return None
    address = address_of(config.server)
    dial, message = dial_to(address), session_config(config)
    origin = f"“{options.text}” from {address.url}, seed {message.seed}"
    try:
        if not options.two_stage:
            tell("the server speaks")
            spoken = asyncio.run(fetch_codes(dial, spec, message, options.text, options.limit_s))
            return _Material(spoken.codes, origin, spoken.context)
        tell("the servers speak")
        other = dial_to(address_of(config.server, options.two_stage))
        both = asyncio.run(fetch_both(dial, other, spec, message, options.text, options.limit_s))
    except CallError as error:
        raise SessionError(str(error)) from error
    return _Material(both.codes[0].codes, origin, both.codes[0].context, both)


def _spec_of(source: str | None) -> CodecSpec:
    """Return the codec of a checkpoint, or that of random weights."""
    return (
        CodecSpec() if source is None else CodecConfig.from_file(find_checkpoint(source) / CONFIG_NAME).spec
    )


def _servers_agree(servers: ServersReport | None, least_db: float | None) -> bool:
    if servers is None or least_db is None:
        return True
    return servers.snr_db is not None and servers.snr_db >= least_db


def show(found: ParityReport, out: Console) -> None:
    """Print what the decoder came to, as tables and a last line in words."""
    say(out, f"codes: {found.codes}; {found.frames} frames")
    threads = "1 thread" if found.threads == 1 else f"{found.threads} threads"
    say(out, f"weights: {found.weights}; {found.backend} on {threads}, {found.versions}")
    rows: list[tuple[str, ...]] = [
        (way.name, _db(way.snr_db), _db(way.worst_second_db), _judged(found, way)) for way in found.ways
    ]
    out.print(_table("SNR against the official whole forward, dB", ("", "all", "worst second", ""), rows))
    ours = [way.each_second_db for way in found.ways if way.is_ours]
    others = [way for way in found.ways if not way.is_ours]
    seconds = len(ours[0])
    rows = [
        (
            f"{second} to {min(second + 1, found.sound_s):.3g} s",
            _db(min(each[second] for each in ours)),
            *(_db(way.each_second_db[second]) for way in others),
        )
        for second in range(min(seconds, _SHOWN_SECONDS))
    ]
    columns = ("", "ours, worst cut", *(way.name for way in others))
    out.print(_table("second by second, dB", columns, rows))
    if seconds > _SHOWN_SECONDS:
        say(out, f"and {seconds - _SHOWN_SECONDS} s more, see --json or --plot")
    verdict = "reached" if found.has_passed else "missed"
    say(out, f"ours: at least {found.threshold_db:g} dB wanted, {verdict}")


def _judged(found: ParityReport, way: Way) -> str:
    if not way.is_ours:
        return "compared with"
    return "reached" if way.snr_db >= found.threshold_db else "missed"


def show_servers(servers: ServersReport, out: Console) -> None:
    """Print what the two servers came to."""
    say(out, f"two servers, “{servers.text}”, seed {servers.seed}")
    difference_s = servers.pcm_s - servers.codes_s
    prefix_s = servers.prefix_frames * CodecSpec().frame_s
    rows = [
        ("duration of the codes", f"{servers.codes_s:.2f} s"),
        ("duration of the other's sound", f"{servers.pcm_s:.2f} s ({difference_s:+.2f})"),
        ("codes, twice with one seed", _repeats(servers)),
        ("sound, twice with one seed", "the same samples" if servers.pcm_repeats else "differs"),
        ("token agreement", _tokens(servers)),
        (
            "compared prefix",
            f"{servers.prefix_frames} frames ({prefix_s:.2f} s)",
        ),
    ]
    if servers.shift_samples:
        rows.append(("shift of the other's sound", f"{servers.shift_samples:+d} samples, taken out"))
    if servers.snr_db is not None:
        worst = min(servers.each_second_db)
        rows.append(("SNR over the prefix", f"{_db(servers.snr_db)} dB, worst second {_db(worst)}"))
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        table.add_row(*row)
    out.print(table)
    for note in servers.notes:
        say(out, f"note: {note}")


def _repeats(servers: ServersReport) -> str:
    repeat = servers.codes_repeat
    if repeat.is_whole:
        return f"the same {repeat.first_frames} frames"
    return (
        f"{repeat.first_frames} and {repeat.second_frames} frames, the first {repeat.prefix_frames} the same"
    )


def _tokens(servers: ServersReport) -> str:
    tokens = servers.tokens
    if tokens is None:
        return "not known, the other sends none"
    common = min(tokens.first_frames, tokens.second_frames)
    return f"the first {tokens.prefix_frames} of {common} frames; {tokens.equal_codes:.0%} of all codes"


def _table(title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=False)
    for row in rows:
        table.add_row(*row)
    return table


def _db(value: float) -> str:
    return "equal" if value == np.inf else "not finite" if value == -np.inf else f"{value:.0f}"
