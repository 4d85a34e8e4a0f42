"""The process of the reference talker's tests: tiny checkpoints, servers that speak with them, and the truth.

It is one because qwen-tts wants packages of its own (see ``reference_peers``), and takes seconds to import.
It reads a command as a line of JSON, does it, and writes a line with the result; the rig in ``reference_rig``
is its other end. The truth comes from a second instance of the checkpoint, which the server never touches.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import soundfile
import torch

from server.emulator import Emulator
from server.reference.__main__ import HONEST
from server.reference.loading import facts_of
from server.reference.model import QwenModel
from server.reference.official import official_model
from server.reference.reference_audio import AudioPolicy
from server.reference.talker import ReferenceTalker
from tests.helpers.tiny_talker import make_tiny


@dataclass
class Served:
    """A talker on a checkpoint, and how often its model went a step."""

    talker: ReferenceTalker
    forwards: list[int] = field(default_factory=lambda: [0])


class Process:
    """Does the commands; one method each."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._served: dict[str, Served] = {}
        self._emulators: list[Emulator] = []

    def checkpoint(self, kind: str) -> Path:
        path = self._folder / kind
        return path if path.exists() else make_tiny(path, kind)

    async def do_make(self, kind: str) -> str:
        """Make the checkpoint and return its folder."""
        return str(self.checkpoint(kind))

    async def do_open(
        self,
        kind: str,
        scenario: dict[str, Any],
        api_key: str | None,
        ref_folder: str | None,
        ref_http: bool,
        dtype: str,
    ) -> dict[str, Any]:
        """Open a server; those of one kind, policy and precision share a talker."""
        policy = AudioPolicy(None if ref_folder is None else Path(ref_folder), ref_http)
        name = f"{kind} {policy} {dtype}"
        if name not in self._served:
            self._served[name] = await self._serve(kind, policy, dtype)
        served = self._served[name]
        emulator = Emulator(served.talker, replace(HONEST, **scenario), api_key=api_key)
        await self._stack.enter_async_context(emulator)
        self._emulators.append(emulator)
        number = len(self._emulators) - 1
        return {"number": number, "name": name, "url": emulator.url, "http_url": emulator.http_url}

    async def do_close(self, number: int) -> None:
        await self._emulators[number].__aexit__(None, None, None)

    async def do_generating(self, name: str) -> int:
        return self._served[name].talker.generating

    async def do_forwards(self, name: str) -> int:
        return self._served[name].forwards[0]

    async def do_official(
        self, kind: str, method: str, seed: int, arguments: dict[str, Any], reference: str | None
    ) -> dict[str, Any]:
        """Return the codes that the official method hands to its decoder, and those of the reference."""
        # A run that was cut off may be about to sample once more, and torch has one random state for all.
        while any(served.talker.generating for served in self._served.values()):  # noqa: ASYNC110  # no event
            await asyncio.sleep(0.001)
        return await asyncio.to_thread(self._official, kind, method, seed, arguments, reference)

    def _official(
        self, kind: str, method: str, seed: int, arguments: dict[str, Any], reference: str | None
    ) -> dict[str, Any]:
        official, decoded = self._truth(kind)
        options = dict(arguments)
        if reference is not None:
            samples, rate_hz = soundfile.read(reference, dtype="float32")
            options["ref_audio"] = (samples, rate_hz)
        torch.manual_seed(seed)
        decoded.clear()
        getattr(official, method)(**options)
        codes = decoded[0]["audio_codes"].numpy()
        context: list[list[int]] = []
        if reference is not None and not options.get("x_vector_only_mode"):
            tokenizer = official.model.speech_tokenizer
            context = tokenizer.encode([samples], sr=rate_hz).audio_codes[0].numpy().tolist()
        return {"context": context, "codes": codes[len(context) :].tolist(), "decoded": codes.tolist()}

    @functools.cache  # noqa: B019  # as long as the process
    def _truth(self, kind: str) -> tuple[Any, list[dict[str, Any]]]:
        official = official_model().from_pretrained(str(self.checkpoint(kind)), dtype=torch.float32)
        decoded: list[dict[str, Any]] = []
        decode = official.model.speech_tokenizer.decode

        def noting(encoded: list[dict[str, Any]]) -> Any:
            decoded.extend(encoded)
            return decode(encoded)

        official.model.speech_tokenizer.decode = noting
        return official, decoded

    async def _serve(self, kind: str, policy: AudioPolicy, dtype: str) -> Served:
        official = official_model().from_pretrained(str(self.checkpoint(kind)), dtype=dtype)
        model = QwenModel(official, facts_of(official.model, f"tiny-{kind}"))
        served = Served(ReferenceTalker(model, policy))
        await self._stack.enter_async_context(served.talker)

        def counting(*_: Any) -> None:
            served.forwards[0] += 1

        official.model.talker.register_forward_pre_hook(counting)
        return served


async def main(folder: Path) -> None:
    torch.set_num_threads(1)
    commands, results = sys.stdin, sys.stdout
    sys.stdout = sys.stderr  # whatever prints does not disturb the answers
    async with AsyncExitStack() as stack:
        process = Process(folder, stack)
        while line := await asyncio.to_thread(commands.readline):
            command = json.loads(line)
            try:
                answer = {"result": await getattr(process, f"do_{command.pop('do')}")(**command)}
            except Exception as error:  # the test that asked is told
                answer = {"error": repr(error)}
            results.write(json.dumps(answer) + "\n")
            results.flush()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(Path(sys.argv[1])))
