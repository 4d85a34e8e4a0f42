"""What a checkpoint can do, and what it is to say: a request becomes a :class:`Script`, or is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

from decoder.spec import CodecSpec
from decoder.wire.messages import SessionConfig
from server.emulator.speech import GenerationError

DEFAULT_VOICE = "default"
"""Listed among the voices of every server, and no speaker."""
MAX_TEXT_CHARS = 4_096
"""Of one unit; a longer one is no sentence, and its first frame is late by all that is read before it."""
SEEDS = 2**32
LARGEST_NUMBER = 1_000.0
"""In a ``speaker_embedding``; those of true voices are far smaller, and absurd ones break a GPU for all."""


@dataclass(frozen=True)
class Facts:
    """What a loaded checkpoint is; nothing here changes while it is loaded."""

    name: str
    task: str
    """"CustomVoice", "VoiceDesign" or "Base"."""
    spec: CodecSpec
    speakers: tuple[str, ...]
    """In lower case, in the order of the checkpoint."""
    languages: tuple[str, ...]
    """In lower case, "auto" among them."""
    embedding_size: int
    """Numbers in a ``speaker_embedding``."""


@dataclass(frozen=True)
class Voice:
    """The voice to clone: a reference that can be read, or the embedding of a speaker."""

    uri: str | None = None
    text: str | None = None
    """What is said in the reference."""
    x_vector_only: bool = False
    """Only the speaker's sound is taken, not how the reference is spoken: it has no codes to go on from."""
    embedding: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Script:
    """What is to be said, and how; the checkpoint can do all of it."""

    text: str
    language: str
    seed: int | None
    """``None``: another one each time."""
    max_frames: int | None
    """``None``: what the checkpoint's ``generation_config.json`` says, within what the wire allows."""
    speaker: str | None = None
    instructions: str = ""
    voice: Voice | None = None


def script_for(text: str, config: SessionConfig, facts: Facts) -> Script:
    """Return what ``config``, which keeps the rules of the wire, asks this checkpoint to say.

    Without ``task_type`` it is what the checkpoint can do; without a voice, its first speaker.

    Raises:
        GenerationError: this checkpoint cannot do that; the text says what it can.

    """
    task = config.task_type or facts.task
    if task != facts.task:
        raise GenerationError(
            f"the server has loaded {facts.name}, which does task_type {facts.task} only; "
            f"ask for that, or start a server with a {task} checkpoint"
        )
    if len(text) > MAX_TEXT_CHARS:
        raise GenerationError(
            f"{len(text)} characters in one piece, at most {MAX_TEXT_CHARS} are spoken; "
            "send less, or set split_granularity to 'sentence'"
        )
    script = Script(
        text,
        _language(config, facts),
        None if config.seed is None else config.seed % SEEDS,
        config.max_new_tokens,
        instructions=(config.instructions or "").strip(),
    )
    if task == "Base":
        return replace(script, voice=_voice(config, facts))
    if task == "CustomVoice":
        return replace(script, speaker=_speaker(config, facts))
    if not script.instructions:
        raise GenerationError("VoiceDesign needs instructions that describe the voice")
    return script


def _language(config: SessionConfig, facts: Facts) -> str:
    language = (config.language or "auto").lower()
    if language not in facts.languages:
        raise GenerationError(
            f"{facts.name} does not speak {config.language}; it knows {', '.join(facts.languages)}"
        )
    return language


def _speaker(config: SessionConfig, facts: Facts) -> str | None:
    name = (config.voice or "").strip().lower()
    if name and name != DEFAULT_VOICE:
        return name
    return facts.speakers[0] if facts.speakers else None


def _voice(config: SessionConfig, facts: Facts) -> Voice:
    if config.speaker_embedding is not None:
        if config.ref_audio is not None:
            raise GenerationError("ref_audio and speaker_embedding both name a voice; send one of them")
        return Voice(x_vector_only=True, embedding=_embedding(config.speaker_embedding, facts.embedding_size))
    if len(config.ref_text or "") > MAX_TEXT_CHARS:
        raise GenerationError(f"ref_text has over {MAX_TEXT_CHARS} characters: more than can be said in 30 s")
    if config.ref_audio is None:
        raise GenerationError(
            f"{facts.name} clones voices and this server stores none: set task_type Base and send ref_audio "
            "with ref_text, or speaker_embedding"
        )
    return Voice(config.ref_audio, config.ref_text, bool(config.x_vector_only_mode))


def _embedding(given: list[object], size: int) -> tuple[float, ...]:
    numbers = [x for x in given if isinstance(x, (int, float)) and not isinstance(x, bool)]
    if len(numbers) != len(given) or not all(abs(x) <= LARGEST_NUMBER for x in numbers):
        raise GenerationError(f"speaker_embedding has to be a list of numbers within ±{LARGEST_NUMBER:.0f}")
    if len(numbers) != size:
        raise GenerationError(
            f"speaker_embedding has {len(numbers)} numbers, the checkpoint's speakers have {size}"
        )
    return tuple(map(float, numbers))
