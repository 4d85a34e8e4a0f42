"""The load tool against the released handlers, with and without the plug-in, over a simulated talker."""

from __future__ import annotations

from typing import Any

import pytest

from decoder.wire.messages import SessionConfig
from server.load.report import LoadReport, report
from server.load.run import LoadRequest, LoadRun
from tests.helpers.load_servers import dial
from tests.helpers.omni_rig import NEW, OLD, omni_server
from tests.helpers.omni_server.scene import VOICES, Scene

SCENE = Scene(step_s=0.004)


async def measured(url: str) -> LoadReport:
    request = LoadRequest(levels=(12,), words=2, texts=2, at_once=6, limit_s=20.0)
    run = LoadRun(dial(url), SessionConfig(voice=VOICES[0]), request)
    await run.run()
    return report(run, url)


@pytest.mark.parametrize(
    ("server", "mode", "connections"),
    [
        pytest.param({"plugin": True, "talker_only": True}, "codec tokens", 1, id="plug-in"),
        pytest.param({"version": NEW}, "PCM", 1, id="stock"),
        pytest.param({"version": OLD}, "PCM", 2, id="one text a connection"),
    ],
)
async def test_sessions_at_once_get_their_own(server: dict[str, Any], mode: str, connections: int) -> None:
    with omni_server(SCENE, **server) as running:
        found = await measured(running.url)
    (level,) = found.levels
    assert found.mode == mode
    assert found.has_passed, (found.caveats, level.failures)
    assert (level.complete_texts, level.compared_sessions) == (24, 12)
    assert {len(session.connects_s) for session in found.details[0].sessions} == {connections}
