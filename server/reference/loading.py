"""From the name of a checkpoint to a model that speaks: where it is put, and what it is."""

from __future__ import annotations

import contextlib
import logging
import sys
from pathlib import Path
from typing import Any

from decoder.spec import CodecSpec
from server.reference.errors import NotLoaded
from server.reference.model import QwenModel
from server.reference.official import official_model
from server.reference.script import Facts

log = logging.getLogger("nearfield.reference")

TASKS = {"custom_voice": "CustomVoice", "voice_design": "VoiceDesign", "base": "Base"}
"""``tts_model_type`` in a checkpoint, and the wire's name for what it does."""


def load(checkpoint: str, device: str | None = None, dtype: str | None = None) -> QwenModel:
    """Load a checkpoint, a folder or the name of a repository; it takes seconds to minutes, and blocks.

    Without ``device`` it is the first GPU, or the CPU; without ``dtype`` float32 on a CPU, else bfloat16.

    Raises:
        NotInstalled: qwen-tts is missing.
        NotLoaded: this is no checkpoint that can be spoken with.

    """
    # Both print notices to stdout, where the address of the server is awaited.
    with contextlib.redirect_stdout(sys.stderr):
        official = official_model()
        for chatty in ("transformers", "qwen_tts"):  # they would speak at each text: of padding, of defaults
            logging.getLogger(chatty).setLevel(logging.ERROR)
        try:
            loaded = official.from_pretrained(checkpoint, **_placing(device, dtype))
            return QwenModel(loaded, facts_of(loaded.model, _name(checkpoint)))
        except NotLoaded:
            raise
        except Exception as error:  # whatever is wrong with a file shows as an error of its own kind
            raise NotLoaded(
                f"{checkpoint} cannot be loaded: {error}\n"
                "It has to be a Qwen3-TTS 12 Hz checkpoint: a folder with config.json and speech_tokenizer/, "
                "or a repository name such as Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice. "
                "And --device has to be one that this torch can use."
            ) from error


def _placing(device: str | None, dtype: str | None) -> dict[str, Any]:
    from transformers.utils.import_utils import is_torch_cuda_available

    device = device or ("cuda:0" if is_torch_cuda_available() else "cpu")
    log.info("loading to %s", device)
    if device == "cpu":  # where transformers puts it without being told, and without accelerate
        return {"dtype": dtype or "float32"}
    return {"dtype": dtype or "bfloat16", "device_map": device}


def _name(checkpoint: str) -> str:
    return Path(checkpoint).resolve().name if Path(checkpoint).is_dir() else checkpoint


def facts_of(model: Any, name: str) -> Facts:
    """Return what the official ``model``, with its speech tokenizer, is.

    Raises:
        NotLoaded: it is none that can be spoken with.

    """
    tokenizer = model.speech_tokenizer.model
    if model.tts_model_type not in TASKS:
        raise NotLoaded(f"{name} is a {model.tts_model_type!r}, known are {', '.join(TASKS)}")
    decoder = tokenizer.config.decoder_config
    talker = model.config.talker_config
    if talker.num_code_groups != decoder.num_quantizers:
        raise NotLoaded(
            f"{name}: its talker makes {talker.num_code_groups} codes a frame, its decoder takes "
            f"{decoder.num_quantizers}"
        )
    return Facts(
        name=name,
        task=TASKS[model.tts_model_type],
        spec=CodecSpec(
            codebooks=decoder.num_quantizers,
            codebook_size=decoder.codebook_size,
            sample_rate_hz=tokenizer.get_output_sample_rate(),
            samples_per_frame=tokenizer.get_decode_upsample_rate(),
        ),
        speakers=tuple(speaker.lower() for speaker in model.get_supported_speakers() or ()),
        languages=tuple(language.lower() for language in model.get_supported_languages()),
        embedding_size=model.config.speaker_encoder_config.enc_dim,
    )
