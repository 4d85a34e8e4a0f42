"""The servers of which the suite is true; each is started once for the whole suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from tests.helpers.emulator_rig import emulator_server
from tests.helpers.omni_rig import plugin_server
from tests.helpers.reference_rig import reference_server
from tests.server.conformance.under_test import ServerUnderTest

SERVERS: dict[str, Callable[[], AbstractContextManager[ServerUnderTest]]] = {
    "emulator": emulator_server,
    "reference": reference_server,
    "plug-in": plugin_server,
}


@pytest.fixture(scope="package", params=list(SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[ServerUnderTest]:
    with SERVERS[request.param]() as under_test:
        yield under_test
