"""Every kind of broken file, and exactly what is said of it."""

# The messages are one line each, as a terminal shows them.
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.deploy.broken import BOTH, TALKER, changed, told


@dataclass(frozen=True)
class Case:
    """One change to a right file, and what the checker says then."""

    name: str
    right: str
    old: str
    new: str
    says: tuple[str, ...]


CASES = [
    Case(
        "a key with a letter too few",
        TALKER,
        "max_num_seqs: 64",
        "max_num_seq: 64",
        (
            "9:5 error: unknown key `max_num_seq` in a stage: the server stops at it when it starts -> did you mean `max_num_seqs`?",
        ),
    ),
    Case(
        "a misspelt key at the top",
        TALKER,
        "async_chunk: false",
        "async_chunks: false",
        (
            "1:1 warning: `async_chunk` is true if nothing is said, and `qwen3_tts_talker_only` has no next stage -> write `async_chunk: false`",
            "3:1 error: unknown key `async_chunks` at the top level: vllm-omni ignores it without a word -> did you mean `async_chunk`?",
        ),
    ),
    Case(
        "dashes for underscores",
        TALKER,
        "max_num_seqs: 64",
        "max-num-seqs: 64",
        (
            "9:5 error: unknown key `max-num-seqs` in a stage: the server stops at it when it starts -> did you mean `max_num_seqs`?",
        ),
    ),
    Case(
        "a stage key at the top",
        TALKER,
        "model_runner: v1",
        "max_num_seqs: 64",
        (
            "2:1 error: unknown key `max_num_seqs` at the top level: vllm-omni ignores it without a word -> `max_num_seqs` belongs in a stage, under `- stage_id: …`",
        ),
    ),
    Case(
        "a sampling key in the stage",
        TALKER,
        "    max_model_len: 4096",
        "    max_model_len: 4096\n    temperature: 0.9",
        (
            "12:5 error: unknown key `temperature` in a stage: the server stops at it when it starts -> `temperature` belongs under `default_sampling_params` of a stage",
        ),
    ),
    Case(
        "a top key in a stage",
        TALKER,
        "    max_model_len: 4096",
        "    max_model_len: 4096\n    pipeline: qwen3_tts",
        (
            "12:5 error: unknown key `pipeline` in a stage: the server stops at it when it starts -> `pipeline` belongs at the top level",
        ),
    ),
    Case(
        "a sampling key that vllm does not know",
        TALKER,
        "temperature: 0.9",
        "temprature: 0.9",
        (
            "13:7 error: unknown key `temprature` under `default_sampling_params`: the server stops at it when it starts -> did you mean `temperature`?",
        ),
    ),
    Case(
        "a diffusion key",
        TALKER,
        "    max_model_len: 4096",
        "    max_model_len: 4096\n    cache_backend: tea_cache",
        (
            "12:5 error: `cache_backend` belongs to diffusion stages, and Qwen3-TTS has none: the server stops at it when it starts -> take it out",
        ),
    ),
    Case(
        "a command line option",
        TALKER,
        "    max_model_len: 4096",
        "    max_model_len: 4096\n    tts_max_instructions_length: 500",
        (
            "12:5 error: `tts_max_instructions_length` in a file: the server stops at it when it starts, although its loader knows the key -> give `vllm serve` --tts-max-instructions-length instead",
        ),
    ),
    Case(
        "a runner chosen for one stage",
        TALKER,
        "    max_model_len: 4096",
        "    max_model_len: 4096\n    engine_extras: {use_v2_model_runner: true}",
        (
            "12:21 error: `use_v2_model_runner` follows from `model_runner` and the pipeline: the server stops at it when it starts -> take it out, and set `model_runner` at the top level",
        ),
    ),
    Case(
        "text for a number",
        TALKER,
        "max_num_seqs: 64",
        'max_num_seqs: "64"',
        (
            '9:19 error: `max_num_seqs` is the text "64", not a whole number from 1 -> write `max_num_seqs: 64`, without quotes',
        ),
    ),
    Case(
        "words for a number",
        TALKER,
        "max_num_seqs: 64",
        "max_num_seqs: many",
        (
            '9:19 error: `max_num_seqs` is the text "many", not a whole number from 1 -> write a whole number from 1',
        ),
    ),
    Case(
        "a share above one",
        TALKER,
        "gpu_memory_utilization: 0.6",
        "gpu_memory_utilization: 60",
        (
            "8:29 error: `gpu_memory_utilization` is the number 60, not a number above 0 and at most 1 -> write `gpu_memory_utilization: 0.6`",
        ),
    ),
    Case(
        "a share in per cent",
        TALKER,
        "gpu_memory_utilization: 0.6",
        "gpu_memory_utilization: 60%",
        (
            '8:29 error: `gpu_memory_utilization` is the text "60%", not a number above 0 and at most 1 -> write `gpu_memory_utilization: 0.6`',
        ),
    ),
    Case(
        "a decimal comma",
        TALKER,
        "gpu_memory_utilization: 0.6",
        "gpu_memory_utilization: 0,6",
        (
            '8:29 error: `gpu_memory_utilization` is the text "0,6", not a number above 0 and at most 1 -> write `gpu_memory_utilization: 0.6`',
        ),
    ),
    Case(
        "a comma for the thousands",
        TALKER,
        "max_num_batched_tokens: 8192",
        "max_num_batched_tokens: 8,192",
        (
            '10:29 error: `max_num_batched_tokens` is the text "8,192", not a whole number from 1 -> write `max_num_batched_tokens: 8192`',
        ),
    ),
    Case(
        "a word in capitals",
        TALKER,
        "model_runner: v1",
        "model_runner: V1",
        ('2:15 error: `model_runner` is the text "V1", not `v1` or `v2` -> write `model_runner: v1`',),
    ),
    Case(
        "stages that are empty",
        TALKER,
        TALKER[TALKER.index("stages:") :],
        "stages:\n",
        ("5:1 error: `stages` is empty -> begin each stage with `- stage_id: 0`",),
    ),
    Case(
        "not a number",
        TALKER,
        "gpu_memory_utilization: 0.6",
        "gpu_memory_utilization: .nan",
        (
            "8:29 error: `gpu_memory_utilization` is the number nan, not a number above 0 and at most 1 -> write a number above 0 and at most 1",
        ),
    ),
    Case(
        "zero sequences",
        TALKER,
        "max_num_seqs: 64",
        "max_num_seqs: 0",
        (
            "9:19 error: `max_num_seqs` is the number 0, not a whole number from 1 -> write a whole number from 1",
        ),
    ),
    Case(
        "a number for true",
        TALKER,
        "async_chunk: false",
        "async_chunk: 0",
        ("3:14 error: `async_chunk` is the number 0, not true or false -> write `async_chunk: false`",),
    ),
    Case(
        "text for false",
        TALKER,
        "async_chunk: false",
        'async_chunk: "no"',
        (
            '3:14 error: `async_chunk` is the text "no", not true or false -> write `async_chunk: false`, without quotes',
        ),
    ),
    Case(
        "devices as a number",
        TALKER,
        'devices: "0"',
        "devices: 0",
        ('7:14 error: `devices` is the number 0, not text -> write `devices: "0"`',),
    ),
    Case(
        "devices as a list",
        TALKER,
        'devices: "0"',
        "devices: [0, 1]",
        ('7:14 error: `devices` is a list, not text -> write `devices: "0,1"`',),
    ),
    Case(
        "devices that are no numbers",
        TALKER,
        'devices: "0"',
        'devices: "cuda:0"',
        (
            '7:14 error: `devices: cuda:0` are not numbers of GPUs -> write numbers with commas, in quotes, such as `devices: "0"`',
        ),
    ),
    Case(
        "one GPU twice",
        TALKER,
        'devices: "0"',
        'devices: "1,1"',
        ("7:14 error: `devices` names GPU 1 twice -> name each GPU once",),
    ),
    Case(
        "more width than GPUs",
        TALKER,
        'devices: "0"',
        'devices: "0"\n    tensor_parallel_size: 2',
        (
            "7:14 error: `tensor_parallel_size: 2` wants 2 GPUs, and `devices` names 1 -> name as many; Qwen3-TTS is small enough for one",
        ),
    ),
    Case(
        "replicas without GPUs",
        TALKER,
        'devices: "0"',
        'devices: "0,1"\n    num_replicas: 3',
        (
            "7:14 error: `num_replicas: 3` wants 3 GPUs, and `devices` names 2: the server stops at it when it starts -> name all of them, or those of one as a pattern that starts at 0",
        ),
    ),
    Case(
        "a pattern for replicas that starts elsewhere",
        TALKER,
        'devices: "0"',
        'devices: "1"\n    num_replicas: 2',
        (
            "7:14 error: `devices: 1` is a pattern for 2 replicas, and starts at 0: the server stops at it when it starts -> name the GPUs of all replicas, or those of one from 0 on",
        ),
    ),
    Case(
        "an unknown runner",
        TALKER,
        "model_runner: v1",
        "model_runner: v3",
        ('2:15 error: `model_runner` is the text "v3", not `v1` or `v2` -> write `v1` or `v2`',),
    ),
    Case(
        "the other runner",
        TALKER,
        "model_runner: v1",
        "model_runner: v2",
        (
            "2:15 error: the plug-in takes the codec frames from the v1 runner; v2 does not hand them out -> write `model_runner: v1`",
        ),
    ),
    Case(
        "an empty value",
        TALKER,
        "max_num_seqs: 64",
        "max_num_seqs:",
        (
            "9:5 warning: `max_num_seqs` is empty, which means that it is not set -> write its value, or take the line out",
        ),
    ),
    Case(
        "an empty switch at the top",
        TALKER,
        "async_chunk: false",
        "async_chunk:",
        ("3:1 error: `async_chunk` is empty -> write true or false after it, or take the line out",),
    ),
    Case(
        "too few sequences",
        TALKER,
        "max_num_seqs: 64",
        "max_num_seqs: 1",
        (
            "9:19 error: `max_num_seqs: 1` speaks 1 at a time: whoever comes next is heard with gaps -> write `max_num_seqs: 64`, and never less than 4",
        ),
    ),
    Case(
        "less tokens than sequences",
        TALKER,
        "max_num_batched_tokens: 8192",
        "max_num_batched_tokens: 32",
        (
            "10:29 error: `max_num_batched_tokens: 32` is less than `max_num_seqs: 64`: the server stops at it when it starts -> write 64 at least; 512 is quick, 8192 takes more at once",
        ),
    ),
    Case(
        "prompts that do not fit",
        TALKER,
        "max_num_batched_tokens: 8192",
        "max_num_batched_tokens: 512\n    enable_chunked_prefill: false",
        (
            "10:29 error: `enable_chunked_prefill` is off, and a prompt may have more than 512 tokens: the server stops at it when it starts -> leave `enable_chunked_prefill` out",
        ),
    ),
    Case(
        "no min_tokens",
        TALKER,
        "      min_tokens: 2\n",
        "",
        (
            "13:7 error: without `min_tokens` some checkpoints stop at once, and nothing is heard -> write `min_tokens: 2` under `default_sampling_params`",
        ),
    ),
    Case(
        "one min_token",
        TALKER,
        "min_tokens: 2",
        "min_tokens: 1",
        (
            "15:19 error: `min_tokens: 1` lets some checkpoints stop at once, and nothing is heard -> write `min_tokens: 2` under `default_sampling_params`",
        ),
    ),
    Case(
        "more min_tokens than max_tokens",
        TALKER,
        "max_tokens: 4096\n      min_tokens: 2",
        "max_tokens: 10\n      min_tokens: 20",
        (
            "15:19 error: `min_tokens` is above `max_tokens: 10`: the server stops at it when it starts -> write `min_tokens: 2` under `default_sampling_params`",
        ),
    ),
    Case(
        "no max_tokens",
        TALKER,
        "      max_tokens: 4096\n",
        "",
        (
            "13:7 error: without `max_tokens` vllm ends each sentence after 16 frames, 1.28 s -> write `max_tokens: 4096` under `default_sampling_params`",
        ),
    ),
    Case(
        "no sampling at all",
        TALKER,
        "    default_sampling_params:\n      temperature: 0.9\n      max_tokens: 4096\n      min_tokens: 2\n",
        "",
        (
            "6:5 error: without `max_tokens` vllm ends each sentence after 16 frames, 1.28 s -> write `max_tokens: 4096` under `default_sampling_params`",
            "6:5 error: without `min_tokens` some checkpoints stop at once, and nothing is heard -> write `min_tokens: 2` under `default_sampling_params`",
        ),
    ),
    Case(
        "a stop token that is a code",
        TALKER,
        "min_tokens: 2",
        "min_tokens: 2\n      stop_token_ids: [2150, 7]",
        (
            "16:30 error: stop token 7 is a code that is spoken: a sentence ends wherever it sounds -> take `stop_token_ids` out; the pipeline adds 2150, the talker's own",
        ),
    ),
    Case(
        "a stop word",
        TALKER,
        "min_tokens: 2",
        'min_tokens: 2\n      stop: ["."]',
        (
            "16:13 error: `stop` looks for words, and a talker writes codes: the server stops at it when it starts -> take it out; the pipeline adds the stop token",
        ),
    ),
    Case(
        "more frames than positions",
        TALKER,
        "max_model_len: 4096",
        "max_model_len: 2048",
        (
            "11:20 error: `max_model_len: 2048` holds prompt and sound together, less than `max_tokens: 4096` -> write `max_model_len: 4096` at least, or less `max_tokens`",
        ),
    ),
    Case(
        "chunks for nobody",
        TALKER,
        "async_chunk: false",
        "async_chunk: true",
        (
            "3:14 error: `async_chunk: true` hands chunks to the next stage, and `qwen3_tts_talker_only` has none -> write `async_chunk: false`",
        ),
    ),
    Case(
        "chunks by default",
        TALKER,
        "async_chunk: false\n",
        "",
        (
            "1:1 warning: `async_chunk` is true if nothing is said, and `qwen3_tts_talker_only` has no next stage -> write `async_chunk: false`",
        ),
    ),
    Case(
        "a connector to nobody",
        TALKER,
        "    max_model_len: 4096",
        "    max_model_len: 4096\n    output_connectors: {to_stage_1: shm}",
        (
            "12:24 error: `output_connectors`: the talker-only pipeline has no other stage -> take `output_connectors` and `connectors` out",
        ),
    ),
    Case(
        "a stage that the pipeline lacks",
        TALKER,
        "platforms:",
        "  - stage_id: 1\n    gpu_memory_utilization: 0.3\nplatforms:",
        (
            "16:15 error: `qwen3_tts_talker_only` has no stage 1, so that vllm-omni ignores this -> known: 0; take it out",
        ),
    ),
    Case(
        "the same stage twice",
        TALKER,
        "platforms:",
        '  - stage_id: 0\n    devices: "1"\nplatforms:',
        (
            "16:15 error: `stage_id: 0` is also in line 6, and one of the two is lost -> give every stage its own number, or make one of the two",
        ),
    ),
    Case(
        "no stage_id",
        TALKER,
        "- stage_id: 0\n    devices",
        "- num_replicas: 1\n    devices",
        (
            "6:5 error: a stage without `stage_id`: the server stops at it when it starts -> begin it with `- stage_id: 0`",
        ),
    ),
    Case(
        "a pipeline of nobody",
        TALKER,
        "qwen3_tts_talker_only",
        "qwen3_tts_talker",
        (
            "1:11 error: vllm-omni 0.30.0 has no pipeline `qwen3_tts_talker`, and neither has the plug-in -> write `pipeline: qwen3_tts_talker_only`, or `pipeline: qwen3_tts`",
        ),
    ),
    Case(
        "a pipeline of another model",
        TALKER,
        "qwen3_tts_talker_only",
        "cosyvoice3",
        (
            "1:11 warning: the pipeline `cosyvoice3` is not Qwen3-TTS, so that only keys and types were checked -> write `pipeline: qwen3_tts_talker_only`, or `pipeline: qwen3_tts`",
        ),
    ),
    Case(
        "an unknown platform",
        TALKER,
        "  npu:",
        "  nqu:",
        (
            "17:3 error: `nqu` is no platform, so that what it says never applies -> known: cuda, musa, npu, rocm, xpu",
        ),
    ),
    Case(
        "a platform that changes no stage",
        TALKER,
        "      - stage_id: 0\n        enforce",
        "      - stage_id: 3\n        enforce",
        ("19:19 error: the platform npu changes stage 3, which is not there: nothing happens -> known: 0",),
    ),
    Case(
        "a platform that breaks a stage",
        TALKER,
        "enforce_eager: true",
        "max_num_seqs: 2",
        (
            "20:23 error: `max_num_seqs: 2` speaks 2 at a time: whoever comes next is heard with gaps -> write `max_num_seqs: 64`, and never less than 4",
        ),
    ),
    Case(
        "a runner that the platform lacks",
        TALKER,
        "  npu:\n",
        "  npu:\n    model_runner: v2\n",
        (
            "18:19 error: model runner v2 does not run on npu: the server stops at it when it starts -> write `model_runner: v1`",
        ),
    ),
    Case(
        "an unknown key of a platform",
        TALKER,
        "  npu:\n",
        "  npu:\n    async_chunk: true\n",
        (
            "18:5 error: unknown key `async_chunk` of a platform: vllm-omni ignores it without a word -> known: model_runner, stages",
        ),
    ),
    Case(
        "the older layout",
        TALKER,
        '    devices: "0"\n    gpu',
        '    runtime: {devices: "0", process: true}\n    gpu',
        (
            "7:5 warning: `runtime` is the older layout, which 0.30 still reads -> write its entries directly in the stage",
            "7:29 error: unknown key `process` under `runtime`: vllm-omni ignores it without a word -> known: devices, env, num_replicas",
        ),
    ),
    Case(
        "the removed layout",
        TALKER,
        "stages:\n  - stage_id: 0\n    dev",
        "stage_args:\n  - stage_id: 0\n    dev",
        (
            "5:1 error: `stage_args` is a layout that is no longer read: the server stops at it when it starts -> write the settings of each stage under `stages:`",
        ),
    ),
    Case(
        "stages as a mapping",
        TALKER,
        TALKER[TALKER.index("stages:") :],
        "stages: {stage_id: 0}\n",
        ("5:9 error: `stages` is keys and values, not a list -> begin each stage with `- stage_id: 0`",),
    ),
    Case(
        "a stage that is a word",
        TALKER,
        TALKER[TALKER.index("stages:") :],
        "stages: [talker]\n",
        (
            '5:10 error: a stage is the text "talker", not keys and values -> begin each stage with `- stage_id: 0`',
        ),
    ),
    Case(
        "no stages",
        TALKER,
        TALKER[TALKER.index("stages:") :],
        "",
        (
            "1:1 error: no stages: the talker would run with vllm's own settings -> write `stages:` with `- stage_id: 0`, as in server/deploy/*.yaml",
        ),
    ),
    Case(
        "a value from the environment",
        TALKER,
        "max_num_seqs: 64",
        "max_num_seqs: ${oc.env:SEQS}",
        (
            "9:19 warning: `max_num_seqs` is filled in when the server starts, so that it cannot be checked -> write the value itself",
        ),
    ),
    Case(
        "both stages on one GPU with more than all of it",
        BOTH,
        "0.3\n    max_num_seqs: 64\n    max_num_batched_tokens: 512",
        "0.8\n    max_num_seqs: 64\n    max_num_batched_tokens: 512",
        (
            "19:29 error: the stages on GPU 0 take 0.8 + 0.3 = 1.10 of its memory -> write shares whose sum is below 1, such as 0.3 each",
        ),
    ),
    Case(
        "a stage without its share",
        BOTH,
        "    gpu_memory_utilization: 0.3\n    max_num_seqs: 64\n    max_num_batched_tokens: 512",
        "    max_num_seqs: 64\n    max_num_batched_tokens: 512",
        (
            "9:5 warning: stage 0 says no `gpu_memory_utilization`, and takes 0.92 -> write the share of the GPU that it may have, such as 0.3",
            "18:29 error: the stages on GPU 0 take 0.92 + 0.3 = 1.22 of its memory -> write shares whose sum is below 1, such as 0.3 each",
        ),
    ),
    Case(
        "nothing before the end",
        BOTH,
        "async_chunk: true",
        "async_chunk: false",
        (
            "2:14 warning: without `async_chunk` the server sends nothing before a sentence is complete -> write `async_chunk: true`",
        ),
    ),
    Case(
        "only one of two hands over",
        BOTH,
        "  - stage_id: 1\n",
        "  - stage_id: 1\n    async_chunk: false\n",
        (
            "18:18 error: one stage takes part in `async_chunk` and the other does not: the server stops at it when it starts -> take the line out",
        ),
    ),
    Case(
        "a decoder with too little room",
        BOTH,
        "max_model_len: 65536",
        "max_model_len: 32768",
        (
            "22:20 warning: 4096 frames are 65536 codes for the decoder, more than `max_model_len: 32768` -> write `max_model_len: 65536`",
            "22:20 error: `max_model_len: 32768` holds prompt and sound together, less than `max_tokens: 65536` -> write `max_model_len: 65536` at least, or less `max_tokens`",
        ),
    ),
    Case(
        "a connector that is not there",
        BOTH,
        "{from_stage_0: frames}",
        "{from_stage_0: frame}",
        ("23:38 error: there is no connector `frame` under `connectors` -> known: frames",),
    ),
    Case(
        "a connector that nobody uses",
        BOTH,
        "stages:",
        "  spare: {name: SharedMemoryConnector}\nstages:",
        ("8:3 warning: no stage uses the connector `spare` -> take it out, or name it in the stages",),
    ),
    Case(
        "a connector of no kind",
        BOTH,
        "SharedMemoryConnector",
        "SharedMemory",
        (
            "5:11 error: vllm-omni has no connector `SharedMemory`: the server stops at it when it starts -> did you mean `SharedMemoryConnector`?",
        ),
    ),
    Case(
        "a misspelt entry of a connector",
        BOTH,
        "codec_chunk_frames",
        "codec_chunk_frame",
        (
            "7:7 warning: nothing reads `codec_chunk_frame`; it looks like `codec_chunk_frames` -> write `codec_chunk_frames`",
        ),
    ),
    Case(
        "the stage of a decoder is missing",
        BOTH,
        BOTH[BOTH.index("  - stage_id: 1") :],
        "",
        (
            "9:3 error: stage 1 of `qwen3_tts` is not here and takes vllm's own settings -> write `- stage_id: 1` and its settings",
        ),
    ),
    Case(
        "a cache that the decoder lacks",
        BOTH,
        "async_chunk: true",
        "async_chunk: true\nenable_prefix_caching: true",
        (
            "3:24 warning: the decoder's stage does not support the prefix cache -> write `enable_prefix_caching: false` in stage 1",
        ),
    ),
]


@pytest.mark.parametrize("right", [TALKER, BOTH], ids=["talker", "both"])
def test_the_files_to_break_are_right(tmp_path: Path, right: str) -> None:
    assert told(tmp_path, right) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_wrong_is_said_with_its_place_and_what_to_write(tmp_path: Path, case: Case) -> None:
    assert tuple(told(tmp_path, changed(case.right, case.old, case.new))) == case.says
