from __future__ import annotations

import logging
from pathlib import Path

import pytest

from app.config import Config, DecoderConfig
from app.desk.request import Request
from app.headless.owned import owned_desk
from tests.helpers.waiting import eventually


async def test_what_stands_in_the_way_is_logged_and_texts_are_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """There is a desk at once; without an engine there is nothing to empty."""
    config = Config(decoder=DecoderConfig(checkpoint=str(tmp_path)))
    with caplog.at_level(logging.ERROR):
        async with owned_desk(config, False) as owned:
            ticket = owned.desk.speak(Request("Hello."))
            await eventually(lambda: str(tmp_path) in caplog.text, 5.0, "the reason")
            owned.empty_output()
        assert (await ticket.done).id == ticket.id


async def test_it_ends_while_it_is_starting() -> None:
    """A start that is still going on is given up."""
    async with owned_desk(Config(), False):
        pass
