"""Checkpoints of the true architecture and file layout, tiny and random, that the real qwen-tts loads.

Only a process that may import qwen-tts as ``server.reference`` does can make them: see ``reference_process``.

Where they are not realistic: what they say is noise; a token is a byte; and the talker's weights are random
but for one pair of channels, wired so that it stops after about as many frames as its text has bytes, at
the pace of speech. In place of learned attention, its first layer compares how many positions come from the
text with how many are frames. A clone, whose text lies under the frames of its reference, stops by its
``max_new_tokens`` only.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

from decoder.streaming.random_weights import random_decoder
from server.reference.official import official_model
from tests.helpers.small_codec import SMALL_CODEC
from tests.helpers.tiny_kinds import (
    BASE,
    CLONE_TOKENS,
    CUSTOM_VOICE,
    DIALECTS,
    EMBEDDING_SIZE,
    LANGUAGES,
    SPEAKERS,
)

EOS = 2150
HIDDEN = EMBEDDING_SIZE
CODEC = SMALL_CODEC

_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>")
_WORDS = ("assistant", "user")
"""The two that the prompt needs as one token each."""
_SOURCE, _SHARE = 0, 1
"""The wired channels: what a position comes from (text +, frame -), and the mean of that over all of them."""


def make_tiny(folder: Path, kind: str) -> Path:
    """Write a checkpoint of ``kind``, a ``tts_model_type``; the same one each time. Returns ``folder``."""
    official_model()
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = _write_tokenizer(folder)
    config = _config(kind, vocabulary)
    _write(folder / "config.json", config)
    _write(folder / "generation_config.json", {
        "do_sample": True, "temperature": 0.9, "top_p": 1.0, "top_k": 50, "repetition_penalty": 1.05,
        "subtalker_dosample": True, "subtalker_temperature": 0.9, "subtalker_top_p": 1.0,
        "subtalker_top_k": 50, "max_new_tokens": CLONE_TOKENS if kind == BASE else 2048,
    })  # fmt: skip
    _write(folder / "preprocessor_config.json", {
        "padding_side": "left", "padding_value": 0.0, "processor_class": "Qwen3TTSProcessor",
        "return_attention_mask": True,
    })  # fmt: skip
    models = importlib.import_module("qwen_tts.core.models")
    model = models.Qwen3TTSForConditionalGeneration(models.Qwen3TTSConfig(**config))
    _randomise(model, seed=len(kind))
    _wire(model.talker, stops=kind != BASE)
    _save(folder, model)
    _write_speech_tokenizer(folder / "speech_tokenizer")
    return folder


def _config(kind: str, vocabulary: dict[str, int]) -> dict[str, Any]:
    attention = {"hidden_size": HIDDEN, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}
    speaks = kind == CUSTOM_VOICE
    return {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_size": "1b7",  # the smaller size takes no instructions
        "tts_model_type": kind,
        "im_start_token_id": vocabulary["<|im_start|>"],
        "im_end_token_id": vocabulary["<|im_end|>"],
        "tts_pad_token_id": vocabulary["<tts_pad>"],
        "tts_bos_token_id": vocabulary["<tts_text_bos>"],
        "tts_eos_token_id": vocabulary["<tts_text_eod>"],
        "speaker_encoder_config": {
            "enc_dim": EMBEDDING_SIZE, "sample_rate": 24_000, "enc_channels": [16, 16, 16, 16, 48],
            "enc_attention_channels": 8, "enc_se_channels": 8, "enc_res2net_scale": 4,
        },
        "talker_config": {
            **attention,
            "model_type": "qwen3_tts_talker",
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "vocab_size": 3072,
            "text_vocab_size": len(vocabulary),
            "text_hidden_size": 40,
            "num_code_groups": 16,
            "rope_theta": 1_000_000,
            "rope_scaling": {"interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default"},
            "codec_pad_id": 2148, "codec_bos_id": 2149, "codec_eos_token_id": EOS, "codec_think_id": 2154,
            "codec_nothink_id": 2155, "codec_think_bos_id": 2156, "codec_think_eos_id": 2157,
            "codec_language_id": LANGUAGES,
            "spk_id": SPEAKERS if speaks else {},
            "spk_is_dialect": DIALECTS if speaks else {},
            "code_predictor_config": {
                **attention,
                "model_type": "qwen3_tts_talker_code_predictor",
                "intermediate_size": 48,
                "num_hidden_layers": 1,
                "num_code_groups": 16,
                "vocab_size": CODEC.codebook_size,
            },
        },
    }  # fmt: skip


def _write_tokenizer(folder: Path) -> dict[str, int]:
    """Write a byte-level BPE of single bytes and two whole words; returns the vocabulary."""
    pieces, merges = list(_byte_letters()), []
    for word in _WORDS:
        for end in range(2, len(word) + 1):
            merges.append(f"{word[: end - 1]} {word[end - 1]}")
            pieces.append(word[:end])
    _write(folder / "vocab.json", {piece: number for number, piece in enumerate(pieces)})
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")
    specials = {len(pieces) + n: name for n, name in enumerate(_SPECIALS)}
    _write(folder / "tokenizer_config.json", {
        "tokenizer_class": "Qwen2Tokenizer", "errors": "replace", "model_max_length": 131_072,
        "add_prefix_space": False, "bos_token": None, "unk_token": None, "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>", "split_special_tokens": False,
        "added_tokens_decoder": {
            str(number): {"content": name, "lstrip": False, "normalized": False, "rstrip": False,
                          "single_word": False, "special": True}
            for number, name in specials.items()
        },
    })  # fmt: skip
    return {piece: n for n, piece in enumerate(pieces)} | {name: number for number, name in specials.items()}


def _byte_letters() -> list[str]:
    """Return the letter that stands for each byte in a byte-level vocabulary, as GPT-2 chose them."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(byte) for byte in shown] + [chr(256 + n) for n in range(256 - len(shown))]


def _write_speech_tokenizer(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    config = CODEC.to_dict() | {"encoder_config": {
        "num_filters": 4, "hidden_size": 32, "codebook_dim": 16, "vector_quantization_hidden_dimension": 16,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16,
        "intermediate_size": 32, "upsample_groups": 32, "num_quantizers": 16, "use_cache": False,
        "use_streaming": False,
    }}  # fmt: skip
    _write(folder / "config.json", config)
    _write(folder / "preprocessor_config.json", {
        "feature_extractor_type": "EncodecFeatureExtractor", "feature_size": 1, "sampling_rate": 24_000,
        "padding_side": "right", "padding_value": 0.0, "return_attention_mask": True, "chunk_length_s": None,
        "overlap": None,
    })  # fmt: skip
    tokenizer = "qwen_tts.core.tokenizer_12hz"
    configuration = importlib.import_module(f"{tokenizer}.configuration_qwen3_tts_tokenizer_v2")
    modelling = importlib.import_module(f"{tokenizer}.modeling_qwen3_tts_tokenizer_v2")
    model = modelling.Qwen3TTSTokenizerV2Model(configuration.Qwen3TTSTokenizerV2Config(**config))
    _randomise(model.encoder, seed=3)
    decoder = random_decoder(CODEC, seed=5)
    _missing, unexpected = model.decoder.load_state_dict(decoder.state_dict(), strict=False)
    assert not unexpected
    _save(folder, model)


def _randomise(model: nn.Module, seed: int) -> None:
    """Give every parameter a random value of a scale at which it matters, and every codebook entries."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                fan_in = 1 if "embedding" in name else parameter[0].numel()
                parameter.normal_(0.0, fan_in**-0.5, generator=random)
            else:
                parameter.normal_(0.0 if name.endswith("bias") else 1.0, 0.1, generator=random)
        for name, buffer in model.named_buffers():
            if name.endswith(("embed_sum", "cluster_usage", "initialized")):
                buffer.fill_(1.0)
            if name.endswith("embed_sum"):
                buffer.normal_(0.0, 1.0, generator=random)


def _wire(talker: Any, *, stops: bool) -> None:
    """Let the talker stop when more of its positions are frames than text."""
    with torch.no_grad():
        inner = talker.model
        inner.codec_embedding.weight[:, [_SOURCE, _SHARE]] = 0.0
        inner.codec_embedding.weight[: CODEC.codebook_size, _SOURCE] = -48.0
        for embedding in talker.code_predictor.model.codec_embedding:
            embedding.weight[:, [_SOURCE, _SHARE]] = 0.0
        last = talker.text_projection.linear_fc2
        last.weight[[_SOURCE, _SHARE]] = 0.0
        last.bias[[_SOURCE, _SHARE]] = torch.tensor([8.0, 0.0])
        for layer in inner.layers:
            layer.self_attn.o_proj.weight[[_SOURCE, _SHARE]] = 0.0
            layer.mlp.down_proj.weight[[_SOURCE, _SHARE]] = 0.0
        first = inner.layers[0].self_attn
        first.q_proj.weight.zero_()  # so that every position counts alike
        first.v_proj.weight[0] = 0.0
        first.v_proj.weight[0, _SOURCE] = 1.0
        first.o_proj.weight[_SHARE] = 0.0
        first.o_proj.weight[_SHARE, 0] = 4.0
        talker.codec_head.weight[:, [_SOURCE, _SHARE]] = 0.0
        talker.codec_head.weight[EOS] = 0.0
        talker.codec_head.weight[EOS, _SHARE] = -200.0 if stops else 0.0


def _save(folder: Path, model: nn.Module) -> None:
    tensors = {name: tensor.contiguous().clone() for name, tensor in model.state_dict().items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _write(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False), encoding="utf-8")
