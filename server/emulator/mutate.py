"""The misbehaviour of a scenario, applied to what a correct session wants to send; pure, without a socket."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from decoder.spec import CodecSpec
from decoder.wire.packets import HEADER_FORMAT, MAX_PACKET_FRAMES, Codes, Flags, unpack
from server.emulator.scenario import Scenario


@dataclass(frozen=True)
class Cut:
    """End the connection here: with a close frame of this code, or without one if it is 1006."""

    code: int


Outgoing = str | bytes | Cut


@dataclass
class Mutation:
    """Takes the messages of one utterance in their order; one object an utterance.

    Messages that belong to no utterance (``error``, ``input.cancelled``) may pass through as well.
    """

    scenario: Scenario
    spec: CodecSpec
    frames: int = 0
    """Frames of the true stream that have passed, over all units."""
    is_pcm: bool = False
    """The unit at hand is one of PCM."""
    _ended: bool = False
    _so_far: list[Codes] = field(default_factory=list)
    _held: list[Outgoing] = field(default_factory=list)
    _packets: int = 0

    def apply(self, message: str | bytes) -> list[Outgoing]:
        """Return what becomes of ``message``; nothing follows a :class:`Cut`."""
        if self._ended:
            return []
        if isinstance(message, str):
            out = self._on_json(message)
        elif self.is_pcm:
            out = self._on_pcm(message)
        else:
            out = self._on_packet(message)
        if self.scenario.cut_at_frame is not None and self._ended:
            out.append(Cut(self.scenario.cut_code))
        return out

    # -- JSON -------------------------------------------------------------------------------------------

    def _on_json(self, message: str) -> list[Outgoing]:
        body: dict[str, Any] = json.loads(message)
        match body["type"]:
            case "codec.start" | "audio.start":
                return self._on_start(body, message)
            case "codec.done":
                return self._on_done(body, message)
            case "codec.context" if self.scenario.bad_context:
                return [json.dumps(body | {"frames": body["frames"] + 1})]
            case "session.done" if self.scenario.omit_session_done:
                return []
            case "input.cancelled" if self.scenario.ignore_cancel:
                return []
        return [message]

    def _on_start(self, body: dict[str, Any], message: str) -> list[Outgoing]:
        self.is_pcm = body["type"] == "audio.start"
        self._so_far, self._held, self._packets = [], [], 0
        self._ended = self.scenario.cut_at_frame is not None and self.frames >= self.scenario.cut_at_frame
        if self.is_pcm:
            return [message]
        if self.scenario.announce:
            message = json.dumps(body | dict(self.scenario.announce), ensure_ascii=False)
        return [message, *self._empty_message(0)]

    def _on_done(self, body: dict[str, Any], message: str) -> list[Outgoing]:
        out, self._held = self._held, []
        if self.scenario.omit_codec_done:
            return out
        if self.scenario.totals_offset:
            body["total_frames"] += self.scenario.totals_offset
            message = json.dumps(body, ensure_ascii=False)
        if self.scenario.eos == "none":
            body["seq_last"] = self._packets - 1 if self._packets else None
            message = json.dumps(body, ensure_ascii=False)
        return [*out, message]

    # -- binary -----------------------------------------------------------------------------------------

    def _on_pcm(self, data: bytes) -> list[Outgoing]:
        frames = len(data) // self.spec.pcm_frame_bytes
        kept = self._frames_before_cut(frames)
        return [data] if kept == frames else [data[: kept * self.spec.pcm_frame_bytes]] if kept else []

    def _on_packet(self, data: bytes) -> list[Outgoing]:
        packet = unpack(data, self.spec.codebooks)
        flags = packet.flags
        if self.scenario.eos == "none" and flags & Flags.EOS:
            flags &= ~Flags.EOS
            if not packet.n_frames:
                return []
        first = self.frames
        kept = self._frames_before_cut(packet.n_frames)
        if packet.n_frames and not kept:
            return []
        codes = self._codes(packet.codes[:kept], first)
        header = struct.pack(HEADER_FORMAT, packet.seq, len(codes), flags & 0xFF)
        self._packets = packet.seq + 1
        data = header + codes.astype("<i2").tobytes()
        return [*self._order(packet.seq, data), *self._empty_message(packet.seq + 1)]

    def _frames_before_cut(self, frames: int) -> int:
        """Count ``frames`` more, and return how many of them come before the cut."""
        cut = self.scenario.cut_at_frame
        kept = frames if cut is None else min(frames, cut - self.frames)
        self.frames += kept
        self._ended = cut is not None and self.frames >= cut
        return kept

    def _codes(self, codes: Codes, first: int) -> Codes:
        s = self.scenario
        if s.zero_codes:
            codes = np.zeros_like(codes)
        if s.bad_code is not None and first <= s.bad_code_frame < first + len(codes):
            codes = codes.copy()
            codes[s.bad_code_frame - first, s.bad_code_codebook] = s.bad_code
        if s.cumulative and len(codes):
            self._so_far.append(codes)
            codes = np.concatenate(self._so_far)[:MAX_PACKET_FRAMES]
        return codes

    def _order(self, seq: int, data: bytes) -> list[Outgoing]:
        s = self.scenario
        held, self._held = self._held, []
        if seq in s.truncate_packets:
            data = data[: len(data) // 2]
        if seq in s.drop_packets:
            return held
        copies: list[Outgoing] = [data, data] if seq in s.duplicate_packets else [data]
        if seq in s.swap_packets:
            self._held = copies
            return held
        return [*copies, *held]

    def _empty_message(self, before_seq: int) -> list[Outgoing]:
        return [b""] if self.scenario.empty_message_at == before_seq else []
