"""Write the demo voice: ``python -m server.emulator.demo_voice.training.export --data … --run … --out …``.

From ``RUN/checkpoint.pt`` (its running average), ``codebooks.npz`` and ``projection.npz`` to
``speech_tokenizer/{config.json,model.safetensors}`` (float16, official names) and ``encoder.safetensors``.
All are written beside the target first and then moved into place.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from decoder.streaming.checkpoint import save_checkpoint
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from server.emulator.demo_voice.training.latents import WIDTH
from server.emulator.demo_voice.training.model import CONFIG

EXCITATION_CODEBOOKS = 2
"""The first codebooks hold the excitation, the others the mel block."""
_FILES = ("encoder.safetensors", "speech_tokenizer/config.json", "speech_tokenizer/model.safetensors")


def assemble(
    data: Path, checkpoint: Path, gain_db: float = 0.0, stretch: float = 1.0
) -> Qwen3TTSTokenizerV2Decoder:
    """Return the whole decoder: trained weights, codebooks, projections that let codebook sums through.

    ``gain_db`` goes into the last convolution. Training on logarithms leaves the voice a little too soft.
    ``stretch`` moves the entries of the mel codebooks away from zero: they are the means of their cells, so
    their sums vary less than what they stand for. Encoder and decoder read the same entries.
    """
    state = torch.load(checkpoint, weights_only=True)["average"]
    with np.load(data / "codebooks.npz") as stored:
        codebooks = torch.from_numpy(stored["codebooks"].astype(np.float32))
    codebooks[EXCITATION_CODEBOOKS:] *= stretch
    # Codebooks are half as wide as what the first convolution takes: the other half stays zero.
    projection = torch.cat([torch.eye(WIDTH), torch.zeros(WIDTH, WIDTH)])[:, :, None]
    tensors = dict(state)
    for name in (f"decoder.{len(CONFIG.upsample_rates) + 2}.conv.{part}" for part in ("weight", "bias")):
        tensors[name] = state[name] * 10.0 ** (gain_db / 20.0)
    for part, books in (("rvq_first", codebooks[:1]), ("rvq_rest", codebooks[1:])):
        tensors[f"quantizer.{part}.output_proj.weight"] = projection
        for index, book in enumerate(books):
            prefix = f"quantizer.{part}.vq.layers.{index}._codebook."
            tensors[f"{prefix}embedding_sum"] = book
            tensors[f"{prefix}cluster_usage"] = torch.ones(len(book))
    whole = Qwen3TTSTokenizerV2Decoder(CONFIG)
    whole.load_state_dict(tensors)
    return whole.eval()


def export(data: Path, run: Path, out: Path, gain_db: float = 0.0, stretch: float = 1.0) -> None:
    """Write the three files to ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch_name:
        scratch = Path(scratch_name)
        save_checkpoint(
            scratch / "speech_tokenizer",
            assemble(data, run / "checkpoint.pt", gain_db, stretch),
            dtype=torch.float16,
        )
        with np.load(data / "projection.npz") as projection:
            save_file(
                {name: np.ascontiguousarray(projection[name], np.float16) for name in projection.files},
                scratch / "encoder.safetensors",
            )
        (out / "speech_tokenizer").mkdir(exist_ok=True)
        for name in _FILES:
            os.replace(scratch / name, out / name)
            shutil.copymode(Path(__file__), out / name)
    total = sum((out / name).stat().st_size for name in _FILES)
    print(f"{out}: {total / 1e6:.2f} MB")


def main() -> None:
    """Read the flags and export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--gain-db", type=float, default=0.0, help="as evaluate finds the loudness wanting")
    parser.add_argument("--stretch", type=float, default=1.0, help="of the mel codebooks' entries")
    flags = parser.parse_args()
    export(flags.data, flags.run, flags.out, flags.gain_db, flags.stretch)


if __name__ == "__main__":
    main()
