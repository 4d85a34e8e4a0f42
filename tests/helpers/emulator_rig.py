"""The emulator as a server under test: random frames, all of them known, at twenty times real time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from decoder.wire.messages import SessionConfig
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


class WatchedTalker(SyntheticTalker):
    """Counts what it is asked for and has not ended."""

    running = 0

    async def frames(self, text: str, config: SessionConfig) -> AsyncGenerator[Codes, None]:
        self.running += 1
        try:
            async for codes in super().frames(text, config):
                yield codes
        finally:
            self.running -= 1


@contextmanager
def emulator_server(scenario: Scenario = SCENARIO) -> Iterator[ServerUnderTest]:
    """Run it for the time of the block."""
    talker = WatchedTalker()

    def frames(text: str, config: Mapping[str, Any]) -> Codes:
        return talker.codes(text.strip(), config.get("seed"))[: config.get("max_new_tokens")]

    with in_own_loop(Emulator(talker, scenario, api_key=KEY)) as emulator:
        yield ServerUnderTest(
            url=emulator.url,
            http_url=emulator.http_url,
            voices=talker.voices,
            frames=frames,
            generating=lambda: talker.running,
            api_key=KEY,
            sends_context={},
            config_timeout_s=scenario.config_timeout_s,
            idle_timeout_s=scenario.idle_timeout_s,
        )
