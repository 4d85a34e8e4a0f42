"""Sound files for other programs: WAV, FLAC, Ogg Vorbis and, where libsndfile can, Opus."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from app.audio.wav import WavWriter
from app.desktop.recording import Sound
from app.errors import RecordingError

SUFFIXES = (".wav", ".flac", ".ogg", ".opus")
"""What `export` can write, as suffixes of file names."""
_FORMATS = {".flac": ("FLAC", "PCM_16"), ".ogg": ("OGG", "VORBIS"), ".opus": ("OGG", "OPUS")}
_NAME_CHARS = 80
_NAME_BYTES = 200
"""File systems count bytes, 255 of them at most."""
_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')
_RESERVED = {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(10))}


def suggested_name(text: str) -> str:
    """Make a file name, without suffix, of the first words of ``text``.

    It is safe everywhere and has 80 characters at most. Empty texts, and those without a
    character that may be in a name, become "Speech".
    """
    line = unicodedata.normalize("NFC", text[: 8 * _NAME_CHARS])
    words = _UNSAFE.sub(" ", "".join(_in_name(c) for c in line)).split()
    name = ""
    for word in words:
        longer = f"{name} {word}" if name else word
        if len(longer) > _NAME_CHARS or len(longer.encode()) > _NAME_BYTES:
            break
        name = longer
    if not name and words:  # the first word alone is too long, as where words are not separated
        name = words[0][:_NAME_CHARS].encode()[:_NAME_BYTES].decode(errors="ignore")
    name = name.strip(" .")
    # Windows' names of devices, which no file may have with any suffix.
    if name.partition(".")[0].strip().casefold() in _RESERVED:
        return f"{name} speech"
    return name or "Speech"


def _in_name(character: str) -> str:
    """Return what stands for ``character`` in a file name: marks that nobody sees are left out."""
    category = unicodedata.category(character)
    if category[0] == "Z" or category == "Cc":
        return " "
    return "" if category[0] == "C" else character


def available_suffixes() -> tuple[str, ...]:
    """Return those of `SUFFIXES` that the libsndfile at hand can write; imports soundfile."""
    try:
        import soundfile
    except (ImportError, OSError):
        return (".wav",)
    return tuple(s for s in SUFFIXES if s == ".wav" or soundfile.check_format(*_FORMATS[s]))


def export(sound: Sound, path: Path, title: str = "") -> None:
    """Write what there is of ``sound`` to ``path``, in the format of its suffix.

    What was there is replaced once the new file is whole, and not before.

    Raises:
        RecordingError: an unknown suffix (the known ones are listed), or the file cannot be written.

    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise RecordingError(f"cannot save {path.name}: its name has to end in {', '.join(SUFFIXES)}")
    if not sound.samples:
        raise RecordingError(f"cannot save {path.name}: there is no sound yet")
    unfinished = path.with_name(f".{secrets.token_hex(8)}{suffix}")
    try:
        if suffix == ".wav":
            _write_wav(sound, unfinished)
        else:
            _write_with_libsndfile(sound, unfinished, *_FORMATS[suffix], title)
        os.replace(unfinished, path)
    except OSError as error:
        raise RecordingError(f"cannot save {path}: {error.strerror or error}") from error
    except RecordingError as error:
        raise RecordingError(str(error).replace(str(unfinished), str(path))) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _blocks(sound: Sound) -> Iterator[Any]:
    """Yield a second of sound at a time: libsndfile's Vorbis takes its memory for a write from the stack."""
    for start in range(0, sound.samples, sound.rate_hz):
        yield sound.read(start, start + sound.rate_hz)


def _write_wav(sound: Sound, path: Path) -> None:
    with WavWriter(path, sound.rate_hz) as wav:
        for block in _blocks(sound):
            wav.write(block.astype(np.float32) / 32768)


def _write_with_libsndfile(sound: Sound, path: Path, container: str, coding: str, title: str) -> None:
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise RecordingError(
            f"cannot save as {path.suffix}: soundfile is missing ({error}); save as .wav, or "
            "pip install soundfile"
        ) from error
    if not soundfile.check_format(container, coding):
        raise RecordingError(f"this libsndfile cannot write {path.suffix}: save as .wav, .flac or .ogg")
    try:
        with soundfile.SoundFile(path, "w", sound.rate_hz, 1, coding, format=container) as file:
            if title:  # libsndfile refuses an empty one
                file.title = title
            for block in _blocks(sound):
                file.write(block)
    except (soundfile.SoundFileError, RuntimeError) as error:
        raise RecordingError(f"cannot save as {path.suffix} in {path.parent}: {error}") from error
