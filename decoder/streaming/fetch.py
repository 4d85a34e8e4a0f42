"""Fetch the decoder part of a checkpoint from a Hugging Face repository: 457 of 682 MB.

A safetensors file opens with a table of byte ranges, so the decoder's tensors alone can be asked for with
HTTP ranges. They are written to a file of their own, in the ecosystem's cache for files that tools
derive (``cached_assets_path``), in a folder named for the commit::

    <assets>/nearfield/<owner--name>/<commit>/{config.json, model.safetensors}
    <assets>/nearfield/<owner--name>/refs/<revision>      the commit that a name stood for last

A file that any tool has put into the Hugging Face cache is used as it is. ``HF_ENDPOINT``,
``HF_HOME``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE`` mean what they mean everywhere. Works with
huggingface_hub 0.34 (on requests) to 1.x (on httpx). Needs no torch.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import (
    cached_assets_path,
    constants,
    get_hf_file_metadata,
    get_session,
    hf_hub_download,
    hf_hub_url,
    try_to_load_from_cache,
)
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import WeakFileLock, build_hf_headers  # type: ignore[attr-defined]

from decoder.errors import CheckpointError
from decoder.streaming.location import CONFIG_NAME, SUBFOLDER, WEIGHTS_NAME
from decoder.streaming.ranges import NETWORK_ERRORS, RangesRefusedError, download_tensors

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all, from the calling thread."""

_LIBRARY = "nearfield"
_TIMEOUT_S = 10.0
"""For an answer to a HEAD."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NEEDED = re.compile(r"decoder\.(?!quantizer\.\w+\.input_proj\.)")
"""The decoder's tensors but for the projections that only encoding needs."""


def fetch(
    repo_id: str,
    revision: str | None = None,
    progress: Progress | None = None,
    *,
    endpoint: str | None = None,
    cache_folder: Path | None = None,
) -> Path:
    """Fetch a checkpoint's decoder, or find it in the cache; return its folder.

    Blocks for minutes. Stopped in any way, it goes on where it was when it is called again.

    Args:
        repo_id: ``owner/name``, of a talker (the codec is in ``speech_tokenizer/``) or of the codec itself.
        revision: a branch, tag or commit; None is ``main``.
        progress: called now and then, at least at the end.
        endpoint: the server; None is ``HF_ENDPOINT``, or huggingface.co.
        cache_folder: instead of ``HF_HOME``.

    Raises:
        CheckpointError: says what to do next. Without network, a fetched checkpoint is still found.

    """
    repo = _Repository(repo_id, revision or "main", endpoint, cache_folder)
    report = progress or (lambda done, total: None)
    try:
        remote = _resolve(repo)
    except (HfHubHTTPError, HFValidationError) as error:
        raise _refusal(repo, error) from error
    except NETWORK_ERRORS as error:
        if (folder := cached(repo_id, revision, cache_folder=cache_folder)) is not None:
            return folder
        raise _unreachable(repo, error) from error
    try:
        folder = _fetch_commit(repo, remote, report)
        ref = repo.ref_path()
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(remote.commit, encoding="utf-8")
        return folder
    except LocalEntryNotFoundError as error:  # how hf_hub_download says that the network is gone
        raise _unreachable(repo, error) from error
    except (HfHubHTTPError, HFValidationError) as error:
        raise _refusal(repo, error) from error
    except NETWORK_ERRORS as error:
        raise _unreachable(repo, error) from error
    except (OSError, ValueError) as error:  # ValueError: cached_assets_path found a file for a folder
        raise CheckpointError(f"{repo_id}: cannot be stored ({error})") from error


def cached(repo_id: str, revision: str | None = None, *, cache_folder: Path | None = None) -> Path | None:
    """Return the folder of a checkpoint that is here already, or None. No network."""
    repo = _Repository(repo_id, revision or "main", None, cache_folder)
    commit = repo.revision
    try:
        ref = repo.ref_path()
        if ref.is_file():
            commit = ref.read_text(encoding="utf-8").strip()
        if _COMMIT.fullmatch(commit) and _is_complete(folder := repo.assets(commit)):
            return folder
    except (OSError, ValueError) as error:  # cached_assets_path makes folders: where it cannot, is nothing
        logger.debug("no cache of our own for %s: %s", repo_id, error)
    for known in dict.fromkeys((commit, repo.revision)):
        for subfolder in (SUBFOLDER, ""):
            if (folder_or_none := repo.in_hub_cache(subfolder, known)) is not None:
                return folder_or_none
    return None


@dataclass(frozen=True)
class _Repository:
    """Names, addresses and places of one repository."""

    repo_id: str
    revision: str
    endpoint: str | None
    cache_folder: Path | None

    @property
    def host(self) -> str:
        return self.endpoint or constants.ENDPOINT

    @property
    def hub_cache(self) -> Path | None:
        return self.cache_folder / "hub" if self.cache_folder else None

    def url(self, filename: str, revision: str) -> str:
        return hf_hub_url(self.repo_id, filename, revision=revision, endpoint=self.endpoint)

    def assets(self, subfolder: str) -> Path:
        assets = self.cache_folder / "assets" if self.cache_folder else None
        namespace = self.repo_id.replace("/", "--")
        return Path(cached_assets_path(_LIBRARY, namespace=namespace, subfolder=subfolder, assets_dir=assets))

    def ref_path(self) -> Path:
        return self.assets("refs") / self.revision.replace("/", "--")

    def download(self, filename: str, commit: str) -> Path:
        """Fetch a whole file to the Hugging Face cache."""
        path = hf_hub_download(
            self.repo_id,
            filename,
            revision=commit,
            endpoint=self.endpoint,
            cache_dir=self.hub_cache,
            library_name=_LIBRARY,
        )
        return Path(path)

    def in_hub_cache(self, subfolder: str, revision: str) -> Path | None:
        """Return the folder in the Hugging Face cache if both files are there whole."""
        found = None
        for name in (CONFIG_NAME, WEIGHTS_NAME):
            path = try_to_load_from_cache(
                self.repo_id, _join(subfolder, name), cache_dir=self.hub_cache, revision=revision
            )
            if not isinstance(path, str):
                return None
            found = Path(path).parent
        return found


@dataclass(frozen=True)
class _Remote:
    """The weights file as the server describes it."""

    subfolder: str
    commit: str
    size_bytes: int


def _resolve(repo: _Repository) -> _Remote:
    """Ask where the weights are, how large, and which commit the revision stands for."""
    # One attempt of our own: huggingface_hub 0.x would ask an unreachable server for 23 s.
    headers = build_hf_headers(library_name=_LIBRARY)
    get_session().head(repo.url(CONFIG_NAME, repo.revision), headers=headers, timeout=_TIMEOUT_S)
    for subfolder in (SUBFOLDER, ""):
        url = repo.url(_join(subfolder, WEIGHTS_NAME), repo.revision)
        try:
            metadata = get_hf_file_metadata(url, library_name=_LIBRARY)
        except EntryNotFoundError:
            continue
        if not metadata.commit_hash or metadata.size is None:
            raise CheckpointError(f"{repo.repo_id}: {repo.host} does not answer like a Hugging Face server")
        return _Remote(subfolder, metadata.commit_hash, metadata.size)
    raise CheckpointError(
        f"{repo.repo_id}: has neither {SUBFOLDER}/{WEIGHTS_NAME} nor {WEIGHTS_NAME};"
        " is it a Qwen3-TTS repository?"
    )


def _fetch_commit(repo: _Repository, remote: _Remote, report: Progress) -> Path:
    """Bring the files of one commit here, the cheapest way that works."""
    folder = repo.assets(remote.commit)
    if not _is_complete(folder):
        hub_folder = repo.in_hub_cache(remote.subfolder, remote.commit)
        if hub_folder is not None:
            return hub_folder
        config = repo.download(_join(remote.subfolder, CONFIG_NAME), remote.commit)
        url = repo.url(_join(remote.subfolder, WEIGHTS_NAME), remote.commit)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with WeakFileLock(folder / "fetch.lock"):
                if not (folder / WEIGHTS_NAME).is_file():
                    headers = build_hf_headers(library_name=_LIBRARY)
                    download_tensors(
                        url, folder / WEIGHTS_NAME, remote.size_bytes, _NEEDED, headers=headers, report=report
                    )
                # Last: a folder with both files is complete.
                shutil.copyfile(config, folder / CONFIG_NAME)
        except RangesRefusedError:
            report(0, remote.size_bytes)
            folder = repo.download(_join(remote.subfolder, WEIGHTS_NAME), remote.commit).parent
            report(remote.size_bytes, remote.size_bytes)
            return folder
    size = (folder / WEIGHTS_NAME).stat().st_size
    report(size, size)
    return folder


def _is_complete(folder: Path) -> bool:
    return (folder / CONFIG_NAME).is_file() and (folder / WEIGHTS_NAME).is_file()


def _join(subfolder: str, name: str) -> str:
    return f"{subfolder}/{name}" if subfolder else name


def _refusal(repo: _Repository, error: HfHubHTTPError | HFValidationError) -> CheckpointError:
    """Say what the server (or the name) is not content with, and the next step."""
    name = repo.repo_id
    credentials = "set HF_TOKEN, or run `hf auth login`"
    if isinstance(error, HFValidationError):
        return CheckpointError(f"{name!r} is neither a folder here nor a repository id such as owner/name")
    if isinstance(error, GatedRepoError):
        return CheckpointError(f"{name} is gated: accept its terms at {repo.host}/{name}, then {credentials}")
    if isinstance(error, EntryNotFoundError):
        return CheckpointError(f"{name} lacks a file: {error}")
    if isinstance(error, RevisionNotFoundError):
        return CheckpointError(f"{name} has no revision {repo.revision!r}")
    status = error.response.status_code if error.response is not None else None
    if isinstance(error, RepositoryNotFoundError) or status in {401, 403}:
        return CheckpointError(
            f"{name}: {repo.host} knows no such repository, or does not show it to you; check the name,"
            f" and for a private one {credentials}"
        )
    return CheckpointError(f"{name}: {repo.host} answered {status}; try again later")


def _unreachable(repo: _Repository, error: Exception) -> CheckpointError:
    if isinstance(error, OfflineModeIsEnabled) or constants.HF_HUB_OFFLINE:
        return CheckpointError(
            f"{repo.repo_id} is not in the cache, and HF_HUB_OFFLINE forbids to fetch it; unset that,"
            " or give the folder of a checkpoint"
        )
    proxy = next((name for name in ("https_proxy", "HTTPS_PROXY") if os.environ.get(name)), None)
    hint = f" (through the proxy in {proxy})" if proxy else ""
    reason: BaseException = error
    while (cause := reason.__cause__ or reason.__context__) is not None:
        reason = cause  # the innermost says it in words, those around it repeat each other
    return CheckpointError(
        f"{repo.repo_id}: cannot reach {repo.host}{hint}: {reason}; check the network and run it again, it"
        " goes on where it was, or give the folder of a checkpoint"
    )
