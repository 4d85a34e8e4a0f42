"""What a server does: its kind, its pace, and everything that it gets wrong, as one frozen value.

Frames are counted from 0 over the whole utterance, packets from 0 in each unit (as ``seq`` counts them).
With the defaults a server does nothing wrong and speaks at twice real time, in the packets that its client
asks for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any

from decoder.spec import CodecSpec
from decoder.wire.messages import CodecStart
from decoder.wire.packets import MAX_PACKET_FRAMES

KINDS = ("codec", "stock", "stock-talker-only", "no-codec-adapter")
EOS_STYLES = ("own", "last", "none")
CLOSE_CODES = frozenset([1000, 1001, 1002, 1003, 1005, 1006, *range(1007, 1015), *range(3000, 5000)])
ANNOUNCED = tuple(f.name for f in fields(CodecStart))
HANDSHAKE_STATUSES = range(400, 600)


def _opt(default: Any, help_text: str, *, fault: bool = True, choices: tuple[str, ...] | None = None) -> Any:
    metadata = {"help": help_text, "fault": fault, "choices": choices}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Scenario:
    """How a server behaves; every field is also an option of ``python -m server.emulator``."""

    # What kind of server it is, and how it talks. None of this is a fault.
    seed: int = _opt(0, "seed of every random choice", fault=False)
    kind: str = _opt(
        "codec",
        "codec; stock: PCM, no cancel, not reading while it speaks; stock-talker-only: audio.start and zero "
        "bytes; no-codec-adapter: refuses codec tokens, speaks PCM",
        fault=False,
        choices=KINDS,
    )
    old_generation: bool = _opt(False, "input.done ends the connection, no utterance_index", fault=False)
    pace: float = _opt(2.0, "frames a second, as a multiple of real time; 0: as fast as it goes", fault=False)
    packet_frames: int | None = _opt(
        None,
        "frames in a packet, whatever the client asks for; by default what it asks for, else 1",
        fault=False,
    )
    packet_frames_max: int | None = _opt(
        None, "packets of a random size, from --packet-frames (or 1) to this many frames", fault=False
    )
    eos: str = _opt(
        "own",
        "EOS as its own packet, on the last frames, or only in codec.done",
        fault=False,
        choices=EOS_STYLES,
    )
    context_frames: int = _opt(
        0,
        "reference frames (silence) in front of each unit, for clients that accept codec.context",
        fault=False,
    )
    config_timeout_s: float = _opt(10.0, "seconds within which a client must say session.config", fault=False)
    idle_timeout_s: float = _opt(
        30.0, "seconds without a message after which a client is dropped", fault=False
    )
    faulty_utterances: int | None = _opt(
        None, "only the first N utterances go wrong, later ones are spoken well", fault=False
    )

    # When things come.
    handshake_delay_s: float = _opt(0.0, "seconds before the handshake is answered")
    first_frame_delay_s: float = _opt(0.0, "seconds of silence before the first message of an utterance")
    jitter_s: float = _opt(0.0, "each packet is late by a random time of up to this many seconds")
    burst_frames: int = _opt(0, "this many frames come at once, before the pace begins")
    stall_at_frame: int | None = _opt(None, "pause before this frame")
    stall_s: float = _opt(1.0, "how long that pause lasts, in seconds")
    catch_up: bool = _opt(False, "what a stall held back comes in one burst, as from a stalled network")

    # What comes.
    silent_frames: int = _opt(0, "frames of silence in front of each unit")
    placeholder_frames: int = _opt(0, "all-zero frames in front of each unit")
    max_frames: int | None = _opt(None, "each unit ends after this many frames; 0: no audio at all")
    endless: bool = _opt(False, "the talker never stops by itself, only after --max-frames")
    error_at_frame: int | None = _opt(None, "the talker fails before this frame")
    error_text: str = _opt("", "what it says then; by default what a real server says")

    # What becomes of it on the way out.
    cut_at_frame: int | None = _opt(None, "the connection ends after exactly this many frames")
    cut_code: int = _opt(1006, "close code of the cut; 1006: no close frame, 1005: one without a code")
    omit_codec_done: bool = _opt(False, "codec.done is never sent")
    omit_session_done: bool = _opt(False, "session.done is never sent")
    totals_offset: int = _opt(0, "added to total_frames")
    bad_code: int | None = _opt(None, "a code to put in the place of one of the talker's, say 2150 or -1")
    bad_code_frame: int = _opt(0, "in this frame")
    bad_code_codebook: int = _opt(0, "in this codebook, 0..15")
    zero_codes: bool = _opt(False, "every code is 0")
    truncate_packets: tuple[int, ...] = _opt((), "these packets are cut in half")
    drop_packets: tuple[int, ...] = _opt((), "these packets are lost")
    duplicate_packets: tuple[int, ...] = _opt((), "these packets come twice")
    swap_packets: tuple[int, ...] = _opt((), "each of these packets comes after its successor")
    bad_context: bool = _opt(False, "codec.context announces a frame more than it has")
    empty_message_at: int | None = _opt(None, "a binary message of 0 bytes comes before this packet")
    cumulative: bool = _opt(False, "each packet repeats all frames of its unit so far")
    announce: Mapping[str, Any] = _opt({}, "NAME=VALUE: what codec.start says instead of the truth")
    ignore_cancel: bool = _opt(False, "input.cancel is neither obeyed nor answered")

    # Whether anything comes at all.
    handshake_status: int | None = _opt(None, "HTTP status in place of a connection, say 401 or 503")
    handshake_refusals: int | None = _opt(None, "only the first N handshakes are refused so")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            ValueError: a value out of range; the text names the field and what is allowed.

        """
        for name, known in (("kind", KINDS), ("eos", EOS_STYLES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, known are {', '.join(known)}")
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in ("seed", "bad_code", "totals_offset"):
                continue
            numbers = value if isinstance(value, tuple) else (value,)
            if any(isinstance(number, (int, float)) and not number >= 0 for number in numbers):
                raise ValueError(f"{f.name} is {value}, it cannot be negative")
        least = 1 if self.packet_frames is None else self.packet_frames
        if not 1 <= least <= (self.packet_frames_max or MAX_PACKET_FRAMES) <= MAX_PACKET_FRAMES:
            raise ValueError(
                f"packets have 1..{MAX_PACKET_FRAMES} frames, "
                f"not {least}..{self.packet_frames_max or MAX_PACKET_FRAMES}"
            )
        if self.bad_code is not None and not -0x8000 <= self.bad_code <= 0x7FFF:
            raise ValueError(f"bad_code is {self.bad_code}, an int16 is sent")
        if self.bad_code_codebook >= CodecSpec.codebooks:
            raise ValueError(
                f"bad_code_codebook is {self.bad_code_codebook}, there are {CodecSpec.codebooks}"
            )
        if self.cut_code not in CLOSE_CODES:
            raise ValueError(f"cut_code is {self.cut_code}, no close code that can be sent (or 1005, 1006)")
        if self.handshake_status is not None and self.handshake_status not in HANDSHAKE_STATUSES:
            raise ValueError(f"handshake_status is {self.handshake_status}, expected 400..599")
        if unknown := sorted(set(self.announce) - set(ANNOUNCED)):
            raise ValueError(f"codec.start has no {', '.join(unknown)}; it has {', '.join(ANNOUNCED)}")

    @property
    def speaks_codec(self) -> bool:
        """Whether the server's front knows ``output_mode`` and ``input.cancel``."""
        return not self.kind.startswith("stock")

    def healthy(self) -> Scenario:
        """Return the same server without any fault."""
        truth = {f.name: _default(f) for f in fields(self) if f.metadata["fault"]}
        return replace(self, **truth)


def _default(f: Field[Any]) -> Any:
    return {} if f.default is MISSING else f.default


def add_scenario_arguments(parser: argparse.ArgumentParser) -> None:
    """Give ``parser`` one option a field, ``--packet-frames`` for ``packet_frames``."""
    group = parser.add_argument_group("scenario", Scenario.__doc__)
    for f in fields(Scenario):
        flag = "--" + f.name.replace("_", "-")
        help_text = f.metadata["help"].replace("%", "%%")
        kind = str(f.type)
        if kind == "bool":
            group.add_argument(flag, action="store_true", help=help_text)
        elif kind.startswith("tuple"):
            group.add_argument(flag, type=int, nargs="+", default=[], metavar="SEQ", help=help_text)
        elif kind.startswith("Mapping"):
            group.add_argument(
                flag, type=_pair, action="append", default=[], metavar="NAME=VALUE", help=help_text
            )
        else:
            of_type: type = next(t for t in (int, float, str) if kind.startswith(t.__name__))
            shown = "" if _default(f) in (None, "") else f" (default: {_default(f)})"
            group.add_argument(
                flag,
                type=of_type,
                default=_default(f),
                choices=f.metadata["choices"],
                metavar=None if f.metadata["choices"] else of_type.__name__.upper(),
                help=help_text + shown,
            )


def scenario_from(arguments: argparse.Namespace) -> Scenario:
    """Return the scenario that the options ask for.

    Raises:
        ValueError: a value out of range.

    """
    values = {f.name: getattr(arguments, f.name) for f in fields(Scenario)}
    for name, value in values.items():
        if name == "announce":
            values[name] = dict(value)
        elif isinstance(value, list):
            values[name] = tuple(value)
    return Scenario(**values)


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
