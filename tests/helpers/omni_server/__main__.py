"""Serves until standard input ends: the first line there is the job, each later one a question.

Answers go to standard output, one JSON line each: the port first.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import socket
import sys
import threading
from typing import Any

from tests.helpers.omni_server import engine as engines
from tests.helpers.omni_server import service as services
from tests.helpers.omni_server import stubs
from tests.helpers.omni_server.scene import Scene


class Answers:
    """Answers what the tests ask over standard input."""

    def __init__(self, service: services.OmniOpenAIServingSpeech, loaded: list[str]) -> None:
        self._loaded = loaded
        self._service = service
        self._engine = service.engine_client

    async def to(self, question: dict[str, Any]) -> Any:
        """Answer one question; runs in the loop of the server."""
        match question:
            case {"scene": values}:
                self._engine.scene = Scene.of(values)
                return True
            case {"ask": "state"}:
                return {
                    "running": self._engine.running,
                    "generations": [g.to_dict() for g in self._engine.generations],
                    "unknown_aborts": self._engine.unknown_aborts,
                    "marked_ready": self._service.marked_ready,
                    "discarded": self._service.discarded,
                    "pipelines": sorted(registered("vllm_omni.config.pipeline_registry", "OMNI_PIPELINES")),
                    "models": [
                        registered("vllm.model_executor.models", "ModelRegistry"),
                        registered("vllm_omni.model_executor.models", "OmniModelRegistry"),
                    ],
                    "tasks": len(asyncio.all_tasks()),
                    "loaded": self._loaded,
                }
        raise ValueError(question)


def registered(module: str, name: str) -> dict[str, Any]:
    """Return what was put into a stand-in for a registry, by name."""
    registry = getattr(sys.modules.get(module), name, {})
    return dict(getattr(registry, "models", registry))


def main() -> None:
    """Serve."""
    job = json.loads(sys.stdin.readline())
    answers_to = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    sys.path[:0] = job["path"]
    stubs.install(services)
    job["loaded"] = load_plugin(job) if job["plugin"] else []
    handler_module = importlib.import_module("vllm_omni.entrypoints.openai.serving_speech_stream")
    scene = Scene.of(job["scene"])
    engine = engines.FakeEngine(job["pipeline"], scene, adapter=job["adapter"])
    is_talker_only = job["pipeline"] == engines.TALKER_ONLY
    service = services.OmniOpenAIServingSpeech(engine, adapter=job["adapter"], async_chunk=not is_talker_only)
    handler = handler_module.OmniStreamingSpeechHandler(
        service, idle_timeout=job["idle_timeout_s"], config_timeout=job["config_timeout_s"]
    )
    serve(job, handler, service, answers_to)


def load_plugin(job: dict[str, Any]) -> list[str]:
    """Load the plug-in as vLLM would: by its entry point if it is installed, else by its name.

    Returns the modules that were loaded by that.
    """
    stubs.registries()
    before = set(sys.modules)
    if job["plugin"] == "installed":
        from importlib.metadata import entry_points

        for point in entry_points(group="vllm.general_plugins"):
            if point.name == "nearfield_omni":
                point.load()()
    else:
        importlib.import_module("nearfield_omni").register()
    return sorted(set(sys.modules) - before)


def serve(job: dict[str, Any], handler: Any, service: Any, answers_to: Any) -> None:
    """Run the server; say its port, and answer questions, until standard input ends."""
    import uvicorn

    from tests.helpers.omni_server.http import application

    # asyncio lets small packets leave at once on sockets that say they are TCP; vLLM's uvloop does on all.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        application(handler, service, job["api_key"]),
        log_level="warning",
        ssl_certfile=job["certificate"],
        ssl_keyfile=job["key"],
        timeout_graceful_shutdown=1,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    answers = Answers(service, job["loaded"])

    def listen(loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            answer = asyncio.run_coroutine_threadsafe(answers.to(json.loads(line)), loop).result(10)
            answers_to.write(json.dumps(answer) + "\n")
        server.should_exit = True

    async def run() -> None:
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started and not serving.done():  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.005)
        answers_to.write(json.dumps({"port": listener.getsockname()[1]}) + "\n")
        threading.Thread(target=listen, args=[asyncio.get_running_loop()], daemon=True).start()
        await serving

    asyncio.run(run())


if __name__ == "__main__":
    main()
