from __future__ import annotations

from tests.helpers.engine_rig import rig
from tests.helpers.waiting import eventually


async def test_the_output_is_asked_to_throw_away_what_it_holds() -> None:
    """Beside whatever is going on."""
    async with rig() as r:
        r.engine.empty_output()
        await eventually(lambda: r.speaker.dropped == 1, 2.0, "the request")
