"""Deploy files to break: two that are right, and a way to change one place in them."""

from __future__ import annotations

from pathlib import Path

from server.deploy.check import check
from server.deploy.findings import Severity

TALKER = """\
pipeline: qwen3_tts_talker_only
model_runner: v1
async_chunk: false
trust_remote_code: true
stages:
  - stage_id: 0
    devices: "0"
    gpu_memory_utilization: 0.6
    max_num_seqs: 64
    max_num_batched_tokens: 8192
    max_model_len: 4096
    default_sampling_params:
      temperature: 0.9
      max_tokens: 4096
      min_tokens: 2
platforms:
  npu:
    stages:
      - stage_id: 0
        enforce_eager: true
"""
BOTH = """\
pipeline: qwen3_tts
async_chunk: true
connectors:
  frames:
    name: SharedMemoryConnector
    extra:
      codec_chunk_frames: 25
stages:
  - stage_id: 0
    devices: "0"
    gpu_memory_utilization: 0.3
    max_num_seqs: 64
    max_num_batched_tokens: 512
    max_model_len: 4096
    output_connectors: {to_stage_1: frames}
    default_sampling_params: {max_tokens: 4096, min_tokens: 2}
  - stage_id: 1
    devices: "0"
    gpu_memory_utilization: 0.3
    max_num_seqs: 64
    max_num_batched_tokens: 65536
    max_model_len: 65536
    input_connectors: {from_stage_0: frames}
    default_sampling_params: {max_tokens: 65536}
"""


def changed(text: str, old: str, new: str) -> str:
    """Return ``text`` with the first ``old`` replaced; it has to be there."""
    assert old in text, old
    return text.replace(old, new, 1)


def told(folder: Path, text: str) -> list[str]:
    """Return what the checker says of a file, a line each, as ``line:column severity: what -> advice``."""
    path = folder / "deploy.yaml"
    path.write_text(text, "utf-8")
    found = [finding for finding in check(path).findings if finding.severity is not Severity.NOTE]
    return [f"{f.place.line}:{f.place.column} {f.severity.value}: {f.what} -> {f.advice}" for f in found]
