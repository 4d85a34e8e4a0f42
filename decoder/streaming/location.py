"""Where a checkpoint lies: a folder, or what was fetched from a repository. Needs no torch."""

from __future__ import annotations

import re
from pathlib import Path

from decoder.errors import CheckpointError

CONFIG_NAME = "config.json"
WEIGHTS_NAME = "model.safetensors"
SUBFOLDER = "speech_tokenizer"
"""Where a talker's repository keeps its codec."""

_REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def find_checkpoint(source: str | Path) -> Path:
    """Return the folder that holds ``config.json`` and ``model.safetensors``. No network.

    ``source`` is that folder, the file in it, a folder with ``speech_tokenizer/`` in it, or a
    repository id (``owner/name``) that was fetched before, by ``nearfield fetch`` or any other tool that
    shares the Hugging Face cache.

    Raises CheckpointError: the text says what is missing and how to get it.
    """
    path = Path(source).expanduser()
    if path.is_dir():
        for folder in (path / SUBFOLDER, path):
            if (folder / WEIGHTS_NAME).is_file():
                if not (folder / CONFIG_NAME).is_file():
                    raise CheckpointError(f"{folder}: {WEIGHTS_NAME} is there, but {CONFIG_NAME} is missing")
                return folder
        raise CheckpointError(
            f"{path}: neither {WEIGHTS_NAME} nor {SUBFOLDER}/{WEIGHTS_NAME} is in this folder"
        )
    if path.is_file():
        if path.name == WEIGHTS_NAME:
            return find_checkpoint(path.parent)
        raise CheckpointError(
            f"{path} ({path.stat().st_size:,} bytes): a checkpoint is a folder with {CONFIG_NAME} and"
            f" {WEIGHTS_NAME}, not this file"
        )
    if isinstance(source, str) and _REPO_ID.fullmatch(source):
        from decoder.streaming.fetch import cached  # huggingface_hub: only when it is asked for

        if (folder_or_none := cached(source)) is not None:
            return folder_or_none
        raise CheckpointError(
            f"{source}: no such folder, and no such repository was fetched; run `nearfield fetch {source}`"
        )
    raise CheckpointError(f"{path}: no such folder")
