"""Servers of which several tests ask something; each is started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.omni_rig import OmniServer, omni_server
from tests.helpers.omni_server.scene import Scene


@pytest.fixture(scope="package")
def codec_process() -> Iterator[OmniServer]:
    with omni_server(plugin=True, talker_only=True) as server:
        yield server


@pytest.fixture
def codec(codec_process: OmniServer) -> OmniServer:
    """The plug-in over a talker alone."""
    codec_process.play(Scene())
    return codec_process


@pytest.fixture(scope="package")
def two_stage_process() -> Iterator[OmniServer]:
    with omni_server(plugin=True) as server:
        yield server


@pytest.fixture
def two_stage(two_stage_process: OmniServer) -> OmniServer:
    """The plug-in over a deployment that decodes."""
    two_stage_process.play(Scene())
    return two_stage_process


@pytest.fixture(scope="package")
def stock_process() -> Iterator[OmniServer]:
    with omni_server() as server:
        yield server


@pytest.fixture
def stock(stock_process: OmniServer) -> OmniServer:
    """The same without the plug-in."""
    stock_process.play(Scene())
    return stock_process
