"""The entry point: it never raises, and what goes wrong in it is one line."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from server.omni_plugin import nearfield_omni
from tests.helpers.omni_rig import OmniServer


def test_a_handler_that_cannot_be_patched_does_not_keep_its_server_from_starting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is patched while its module is imported; an exception there would be the server's end."""
    with caplog.at_level(logging.WARNING, "vllm.nearfield_omni"):
        nearfield_omni._patch(SimpleNamespace())
    (line,) = caplog.messages
    assert line.startswith("nearfield-omni cannot patch the handler: AttributeError: ")


def test_lines_go_through_vllms_own_logging() -> None:
    assert nearfield_omni.log.name.startswith("vllm.")


def test_an_engine_or_a_worker_loads_the_handler_and_the_wire_no_sooner_than_before(
    codec: OmniServer,
) -> None:
    """They register the pipeline and never serve a client; start-up is paid in every process."""
    loaded = codec.state()["loaded"]
    assert "nearfield_omni.pipeline" in loaded
    heavy = (
        "nearfield_omni.handler",
        "decoder",
        "torch",
        "vllm_omni.entrypoints.openai.serving_speech_stream",
    )
    assert not set(heavy) & set(loaded)
