"""Gives a stock vLLM-Omni 0.30 the codec-token mode of ``/v1/audio/speech/stream``.

vLLM calls :func:`register` through the entry point ``vllm.general_plugins``, in the API process and in every
engine and worker process, sometimes more than once. Importing this package loads neither vLLM nor torch.
"""

from __future__ import annotations

import logging

# Below "vllm", so that vLLM's own handler writes it, in every process.
log = logging.getLogger("vllm.nearfield_omni")

_was_called = False


def register() -> None:
    """Register the pipeline and patch the handler, or say in one line why the server stays as it is.

    Never raises: an exception here would keep the server from starting.
    """
    global _was_called
    if _was_called:
        return
    _was_called = True
    try:
        _register()
    except Exception as error:
        log.warning("nearfield-omni does nothing: %s: %s", type(error).__name__, error)


def _register() -> None:
    from .installed import Unfit, check
    from .patching import when_imported
    from .pipeline import PIPELINE, register_pipeline, wanted_route

    try:
        installed = check()
        route = register_pipeline(installed, wanted_route())
    except Unfit as reason:
        level = logging.INFO if reason.is_served_already else logging.WARNING
        log.log(level, "nearfield-omni does nothing: %s", reason)
        return
    when_imported("vllm_omni.entrypoints.openai.serving_speech_stream", _patch)
    log.info("nearfield-omni: pipeline %s is registered, rows by %s", PIPELINE, route.value)


def _patch(module: object) -> None:
    try:
        from .handler import patch

        patch(module)
    except Exception as error:  # the module is being imported: the server would not start
        log.warning("nearfield-omni cannot patch the handler: %s: %s", type(error).__name__, error)
