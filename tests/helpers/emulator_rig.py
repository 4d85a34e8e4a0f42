"""The emulator as a server under test: random frames, all of them known, at twenty times real time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from decoder.wire.packets import Codes
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.helpers.own_loop import in_own_loop
from tests.server.conformance.under_test import ServerUnderTest

KEY = "a key for the tests"
CONFIG_TIMEOUT_S = 1.0
IDLE_TIMEOUT_S = 1.5
SCENARIO = Scenario(
    pace=20.0, context_frames=3, config_timeout_s=CONFIG_TIMEOUT_S, idle_timeout_s=IDLE_TIMEOUT_S
)


@contextmanager
def emulator_server(scenario: Scenario = SCENARIO) -> Iterator[ServerUnderTest]:
    """Run it for the time of the block."""
    talker = SyntheticTalker()

    def frames(text: str, config: Mapping[str, Any]) -> Codes:
        return talker.codes(text.strip(), config.get("seed"))[: config.get("max_new_tokens")]

    with in_own_loop(Emulator(talker, scenario, api_key=KEY)) as emulator:

        def generating() -> int:
            open_now = {session.number for session in tuple(emulator.sessions) if session.open}
            return sum(not u.finished and u.session in open_now for u in tuple(emulator.utterances))

        yield ServerUnderTest(
            url=emulator.url,
            http_url=emulator.http_url,
            voices=talker.voices,
            frames=frames,
            generating=generating,
            api_key=KEY,
            sends_context={},
            config_timeout_s=scenario.config_timeout_s,
            idle_timeout_s=scenario.idle_timeout_s,
        )
