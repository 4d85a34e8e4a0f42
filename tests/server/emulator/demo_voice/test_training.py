"""The road from analysed sound to the three files of the demo voice, on noise and for two steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from decoder.streaming import load_decoder
from server.emulator.demo_voice import DemoEncoder, analysis
from server.emulator.demo_voice.training import export, latents, quantise
from server.emulator.demo_voice.training.evaluate import border_jump, log_mel_distance_db, matched_words
from server.emulator.demo_voice.training.evaluation_texts import evaluation_texts
from server.emulator.demo_voice.training.losses import SpectralLoss
from server.emulator.demo_voice.training.model import new_decoder
from server.emulator.demo_voice.training.sentences import sentences
from server.emulator.demo_voice.training.train import Plan, Speech, Trainer

FRAMES = 1100


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with one analysed shard of noise whose loudness wanders."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(1)
    swell = np.repeat(rng.uniform(0.001, 0.3, FRAMES), analysis.FRAME_SAMPLES)
    pcm = (swell * rng.normal(0.0, 0.3, swell.size)).clip(-1, 1).astype(np.float32)
    (folder / "features").mkdir()
    np.savez(
        folder / "features" / "0000.npz",
        pcm=(pcm * 32767).astype(np.int16),
        log_mel=analysis.log_mel(pcm).astype(np.float16),
        excitation=rng.uniform(-0.7, 0.7, (FRAMES, 16, 2)).astype(np.float16),
        ends=np.array([FRAMES]),
    )
    latents.fit(folder)
    codebooks = quantise.fit(folder, rounds=1, seed=1)
    np.savez(folder / "codebooks.npz", codebooks=codebooks.astype(np.float16))
    return folder


def seeded_decoder():
    torch.manual_seed(1)
    return new_decoder()


def test_a_run_goes_on_where_it_stopped(data, tmp_path):
    plan = Plan(steps=4, rate=1e-3, batch=1, frames=3)
    speech = Speech(data, "latents")
    straight = Trainer(plan, tmp_path / "a", 1, seeded_decoder())
    for _ in range(2):
        straight.advance(speech)
    stopped = Trainer(plan, tmp_path / "b", 1, seeded_decoder())
    stopped.advance(speech)
    stopped.save()
    resumed = Trainer(plan, tmp_path / "b", 1, seeded_decoder())
    assert resumed.step == 1
    resumed.advance(speech)
    for name, value in straight.average.items():
        torch.testing.assert_close(resumed.average[name], value)


def test_what_is_exported_is_what_encoder_and_client_load(data, tmp_path):
    trainer = Trainer(Plan(steps=1, rate=1e-3, batch=1, frames=3), tmp_path / "run", 1, seeded_decoder())
    trainer.advance(Speech(data, "latents"))
    trainer.save()
    out = tmp_path / "voice"
    export.export(data, tmp_path / "run", out)
    pcm = np.random.default_rng(2).normal(0.0, 0.05, 9600).astype(np.float32)
    codes = DemoEncoder(out / "encoder.safetensors").encode(pcm)
    assert codes.shape == (5, 16)
    assert load_decoder(out / "speech_tokenizer", threads=1).new_stream().decode(codes).shape == (9600,)
    assert sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) < 12e6


def test_the_loss_of_a_sound_against_itself_is_nothing_and_grows_with_noise():
    loss = SpectralLoss()
    pcm = 0.1 * torch.randn(1, 6000, generator=torch.Generator().manual_seed(1))
    values = [float(loss(pcm + level * torch.randn_like(pcm), pcm)[0]) for level in (0.0, 0.01, 0.1)]
    assert values[0] < 1e-3
    assert values[0] < values[1] < values[2]


def test_figures_of_the_evaluation_mean_what_they_say():
    assert matched_words(["a", "b", "x", "d"], ["a", "b", "c", "d"]) == 3
    assert matched_words([], ["word"]) == 0
    pcm = np.random.default_rng(3).normal(0.0, 0.1, 19_200).astype(np.float32)
    assert log_mel_distance_db(pcm, pcm) == 0.0
    assert log_mel_distance_db(0.5 * pcm, pcm) == pytest.approx(6.0, abs=0.3)
    smooth = np.sin(np.arange(19_200) / 50).astype(np.float32)
    clicking = smooth.copy()
    clicking[::1920] += 0.2
    assert border_jump(smooth) < 1.2
    assert border_jump(clicking) > 3.0


def test_sentences_are_seeded_and_none_is_evaluated(tmp_path):
    (tmp_path / "wordnet").mkdir()
    for part in ("noun", "verb", "adj", "adv"):
        line = f'00 29 v 01 x 0 | a {part}; "this is an example for the {part}"\n'
        (tmp_path / "wordnet" / f"data.{part}").write_text(line)
    (tmp_path / "handbook").mkdir()
    page = '<div class="para">This paragraph has <em>two</em> sentences. Here comes the second of them.</div>'
    (tmp_path / "handbook" / "index.html").write_text(page)
    drawn = [sentences(tmp_path / "wordnet", tmp_path / "handbook", seed) for seed in (1, 1, 2)]
    first, same, other = ([next(texts) for _ in range(60)] for texts in drawn)
    assert first == same != other
    assert "This is an example for the verb." in first
    assert "Here comes the second of them." in first
    assert not {text for text, _ in evaluation_texts()} & set(first)
