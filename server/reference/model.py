"""One loaded checkpoint, spoken with by the official code; the frames are taken where they are made."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from decoder.wire.packets import Codes
from decoder.wire.rules import MAX_NEW_TOKENS
from server.reference.official import official_prompt_item
from server.reference.reference_audio import Sample
from server.reference.script import SEEDS, Facts, Script, Voice


@dataclass(frozen=True)
class Clone:
    """A voice that was listened to."""

    prompt: Any
    """What the official code goes on from."""
    codes: Codes | None
    """The reference as frames, int16 ``[n, codebooks]``; ``None`` if only the speaker's sound was taken."""


class Steps(Protocol):
    """Who follows a run; what its methods raise ends the run, and is raised from it."""

    def check(self) -> None:
        """Be told that a step is next, the one that reads the text included."""

    def take(self, codes: Codes) -> None:
        """Get a new frame, int16 ``[1, codebooks]``."""


class Model(Protocol):
    """What a talker needs; every method blocks, and only one of them runs at a time."""

    @property
    def facts(self) -> Facts:
        """What was loaded."""

    def clone(self, voice: Voice, sample: Sample | None) -> Clone:
        """Listen to a voice; ``sample`` is what its URI holds."""

    def silence(self) -> Codes:
        """Return the frame of a pause, int16 ``[1, codebooks]``."""

    def speak(self, script: Script, clone: Clone | None, steps: Steps) -> None:
        """Say ``script``; returns after the last frame."""


class QwenModel:
    """A checkpoint in memory. One run at a time: the hook that takes the frames is one of the whole model."""

    def __init__(self, official: Any, facts: Facts) -> None:
        self._official = official
        self._model = official.model
        self.facts = facts
        self._model.load_speech_tokenizer(_EncodesOnly(self._model.speech_tokenizer))

    def clone(self, voice: Voice, sample: Sample | None) -> Clone:
        """Listen to a voice; ``sample`` is what its URI holds."""
        if voice.embedding is not None:
            return Clone([self._prompt_of(voice.embedding)], None)
        assert sample is not None
        prompt = self._official.create_voice_clone_prompt(
            ref_audio=(sample.samples, sample.rate_hz),
            ref_text=voice.text,
            x_vector_only_mode=voice.x_vector_only,
        )
        codes = prompt[0].ref_code
        return Clone(prompt, None if codes is None else _array(codes))

    def silence(self) -> Codes:
        """Return the frame of a pause, int16 ``[1, codebooks]``: the last of a second of digital silence."""
        rate_hz = self.facts.spec.sample_rate_hz
        encoded = self._model.speech_tokenizer.encode(np.zeros(rate_hz, np.float32), sr=rate_hz)
        return _array(encoded.audio_codes[0])[-1:]

    def speak(self, script: Script, clone: Clone | None, steps: Steps) -> None:
        """Say ``script``; returns after the last frame.

        The same seed gives the same frames as the official code after ``transformers.set_seed(seed)``.
        """
        from transformers import set_seed

        set_seed(secrets.randbelow(SEEDS) if script.seed is None else script.seed)
        options = {
            "language": script.language,
            "max_new_tokens": new_tokens(script.max_frames, self._official.generate_defaults),
        }
        with followed(self._model.talker, steps):
            match self.facts.task:
                case "CustomVoice":
                    self._official.generate_custom_voice(
                        script.text, script.speaker, instruct=script.instructions or None, **options
                    )
                case "VoiceDesign":
                    self._official.generate_voice_design(script.text, script.instructions, **options)
                case _:
                    assert clone is not None
                    self._official.generate_voice_clone(
                        script.text, voice_clone_prompt=clone.prompt, **options
                    )

    def _prompt_of(self, embedding: tuple[float, ...]) -> Any:
        numbers = next(self._model.parameters()).new_tensor(embedding)
        return official_prompt_item()(
            ref_code=None, ref_spk_embedding=numbers, x_vector_only_mode=True, icl_mode=False
        )


class _EncodesOnly:
    """The speech tokenizer without its decoder's work: whoever listens decodes the frames."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, *arguments: Any, **options: Any) -> Any:
        return self._tokenizer.encode(*arguments, **options)

    def decode(self, encoded: list[Any]) -> tuple[list[NDArray[np.float32]], int]:
        """Return no sound for each of ``encoded``."""
        return [np.zeros(0, np.float32) for _ in encoded], self._tokenizer.model.get_output_sample_rate()


def new_tokens(max_frames: int | None, defaults: Mapping[str, Any]) -> int | None:
    """Return ``max_new_tokens`` for the official code; ``defaults`` are those of the checkpoint.

    N new tokens are N - 1 frames: the last token is sampled and never spoken. A checkpoint may allow more
    than a client may ask for; so far it is not followed. ``None``: the official code's own, lower number.
    """
    if max_frames is not None:
        return max_frames + 1
    most: int | None = defaults.get("max_new_tokens")
    return None if most is None else min(most, MAX_NEW_TOKENS + 1)


@contextlib.contextmanager
def followed(talker: Any, steps: Steps) -> Iterator[None]:
    """Tell ``steps`` of each forward of ``talker``; the one that reads the text makes no frame.

    Raises, in the middle of the run:
        FloatingPointError: what would be sampled from are no numbers. To sample from them on a GPU would
            not fail one text but leave the device unusable for the whole process.

    """

    def before(module: Any, arguments: Any) -> None:
        steps.check()

    def after(module: Any, arguments: Any, output: Any) -> None:
        frame = output.hidden_states[-1]
        if frame is not None:
            steps.take(_array(frame))

    def check(module: Any, arguments: Any, output: Any) -> None:
        if not bool(output.logits[:, -1].isfinite().all()):
            raise FloatingPointError("the model came to no numbers; if it is --dtype float16, try bfloat16")

    hooks = [
        talker.register_forward_pre_hook(before),
        talker.register_forward_hook(after),
        talker.register_forward_hook(check),
        talker.code_predictor.register_forward_hook(check),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _array(codes: Any) -> Codes:
    """Return a tensor of codes ``[n, codebooks]`` as int16 of its own."""
    array: Codes = codes.detach().cpu().numpy().astype(np.int16)
    return array
