"""The codec's numbers."""

from __future__ import annotations

from decoder.spec import CodecSpec


def test_derived_numbers_are_those_of_the_published_codec() -> None:
    """12.5 frames a second, 80 ms and 32 bytes each, in place of 3840 bytes of PCM."""
    spec = CodecSpec()
    assert spec.frame_rate_hz == 12.5
    assert spec.frame_s == 0.08
    assert spec.frame_bytes == 32
    assert spec.pcm_frame_bytes == 3840


def test_payload_rates_are_those_of_the_protocol() -> None:
    """400 B/s of codes, 487.5 B/s at one frame a packet, against 48,000 B/s of PCM."""
    spec = CodecSpec()
    assert spec.frame_bytes * spec.frame_rate_hz == 400
    assert (spec.frame_bytes + 7) * spec.frame_rate_hz == 487.5
    assert spec.pcm_frame_bytes * spec.frame_rate_hz == 48_000


def test_specs_with_the_same_numbers_are_equal() -> None:
    """A spec is a value."""
    assert CodecSpec(codebook_size=1024) == CodecSpec(codebook_size=1024) != CodecSpec()
