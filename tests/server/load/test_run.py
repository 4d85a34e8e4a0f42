"""Sessions at once against real servers over real sockets: good ones, and ones that do wrong in company."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from decoder.spec import CodecSpec
from decoder.wire.events import Mode
from decoder.wire.messages import SessionConfig
from decoder.wire.server import ServerTraits
from server.caller import CallError
from server.emulator import Emulator, Scenario, SyntheticTalker
from server.load.report import LoadReport, report
from server.load.run import LoadRequest, LoadRun
from tests.helpers.load_servers import (
    BatchedServer,
    LeakingServer,
    LosingServer,
    MoodyServer,
    PlainServer,
    TwoStageServer,
    dial,
)
from tests.helpers.servers import silent, tcp_server
from tests.helpers.waiting import eventually

FAST = Scenario(pace=0)


def load(url: str, **changes: Any) -> LoadRun:
    request = LoadRequest(**{"levels": (4,), "words": 2, "limit_s": 5.0, "at_once": 8, **changes})
    return LoadRun(dial(url), SessionConfig(), request)


async def measured(url: str, *, allow_divergence: bool = False, **changes: Any) -> LoadReport:
    run = load(url, **changes)
    await run.run()
    return report(run, url, allow_divergence=allow_divergence)


async def test_every_session_gets_its_own_frames_from_a_good_server() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        found = await measured(emulator.url, levels=(2, 5), texts=3)
    assert found.has_passed
    assert found.mode == "codec tokens"
    assert found.model == "nearfield-synthetic"
    assert found.is_deterministic
    assert [level.sessions for level in found.levels] == [2, 5]
    assert [level.texts for level in found.levels] == [6, 15]
    assert [level.compared_sessions for level in found.levels] == [2, 5]
    assert found.levels[1].continuity == {"0": 1.0, "50": 1.0, "100": 1.0, "200": 1.0}


async def test_sessions_have_texts_and_seeds_of_their_own() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        run = load(emulator.url, levels=(3,), seed=40, references=False)
        await run.run()
        spoken = {(u.text, u.config.seed) for u in emulator.utterances if u.text != "One, two, three."}
    assert spoken == {(session.text, session.seed) for session in run.levels[0].sessions}
    assert [session.seed for session in run.levels[0].sessions] == [40, 41, 42]


async def test_bytes_are_those_on_the_wire() -> None:
    """32 bytes a frame, 7 of the packet and 2 of the WebSocket, 12.5 times a second, and some JSON."""
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        (level,) = (await measured(emulator.url, levels=(2,), words=40, references=False)).levels
    assert level.bytes_per_s is not None
    assert 12.5 * (32 + 7 + 2) < level.bytes_per_s < 12.5 * (32 + 7 + 2) + 60


async def test_a_server_that_leaks_frames_is_found_out() -> None:
    async with LeakingServer().running() as url:
        found = await measured(url, at_once=1)
    (level,) = found.levels
    assert found.is_deterministic
    assert not found.has_passed
    assert level.mixed_up_sessions
    assert not level.failures
    judgements = [u.judgement for session in found.details[0].sessions for u in session.utterances]
    assert any(
        judgement is not None and judgement.foreign_frames and judgement.others for judgement in judgements
    )


async def test_a_server_that_leaks_is_found_out_even_if_it_leaked_into_the_solo_runs() -> None:
    """Several solo runs at once are none, and what differs is asked for again, truly alone."""
    async with LeakingServer().running() as url:
        found = await measured(url, at_once=8)
    assert not found.has_passed
    assert found.levels[0].mixed_up_sessions or any("solo runs were made" in text for text in found.caveats)


async def test_a_server_that_loses_frames_in_company_is_found_out() -> None:
    async with LosingServer().running() as url:
        found = await measured(url, at_once=1)
    assert found.levels[0].mixed_up_sessions
    assert not found.has_passed


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_batch_that_takes_another_turn_is_told_from_cross_talk(allowed: bool) -> None:
    async with BatchedServer().running() as url:
        found = await measured(url, at_once=1, words=6, allow_divergence=allowed)
    (level,) = found.levels
    assert level.diverged_sessions
    assert not level.mixed_up_sessions
    assert found.has_passed is allowed


async def test_a_server_that_is_not_deterministic_is_only_judged_by_what_it_names() -> None:
    async with MoodyServer().running() as url:
        found = await measured(url)
    assert found.is_deterministic is False
    assert any("not deterministic" in text for text in found.caveats)
    (level,) = found.levels
    assert level.compared_sessions == 0
    assert level.mixed_up_sessions, "it named the sentence of another"
    assert not found.has_passed


async def test_a_server_that_stalls_shows_in_gaps_and_in_players_that_run_dry() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        run = load(emulator.url, levels=(3,))
        target = await run.prepare()
        emulator.scenario = Scenario(pace=4.0, stall_at_frame=4, stall_s=0.5)
        await run.run_level(target, 3)
    (level,) = report(run, emulator.url).levels
    assert level.gap.max_s is not None
    assert level.gap.max_s > 0.45
    # Four frames are in hand, 0.32 s, most of which have been heard meanwhile.
    assert level.needed_buffer.max_s is not None
    assert level.needed_buffer.max_s > 0.5 - 0.32
    assert level.continuity["0"] == 0.0


async def test_refused_handshakes_are_failures_in_words_and_hold_nobody_up() -> None:
    server = PlainServer(turned_away=frozenset({2, 4}))  # the first contact is number 0
    async with server.running() as url:
        found = await asyncio.wait_for(measured(url, levels=(5,), references=False), 10)
    (level,) = found.levels
    assert level.complete_texts == 3
    assert [(count, "HTTP 503" in text) for text, count in level.failures.items()] == [(2, True)]
    assert not found.has_passed


async def test_a_server_that_never_answers_is_a_failure_after_the_time_it_had() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        run = load(emulator.url, limit_s=0.3)
        target = await run.prepare()
        emulator.scenario = Scenario(first_frame_delay_s=60)
        await asyncio.wait_for(run.run_level(target, 4), 5)
    (level,) = report(run, emulator.url).levels
    assert level.failures == {"the server was not done after 0.3 s": 4}
    assert level.continuity["200"] == 0.0


async def test_a_handshake_that_hangs_is_a_failure_too() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator, tcp_server(silent) as port:
        run = load(emulator.url, levels=(2,), references=False)
        target = replace(await run.prepare(), dial=dial(f"ws://127.0.0.1:{port}", 0.3))
        await asyncio.wait_for(run.run_level(target, 2), 5)
    (level,) = report(run, emulator.url).levels
    assert level.texts == 0
    assert list(level.failures.values()) == [2]
    assert "no answer in 0.3 s" in next(iter(level.failures))
    assert level.continuity["0"] is None


async def test_a_server_that_cuts_connections_is_told_in_words() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        run = load(emulator.url, levels=(3,), words=6)
        target = await run.prepare()
        emulator.scenario = Scenario(pace=0, cut_at_frame=5)
        await run.run_level(target, 3)
    found = report(run, emulator.url)
    (level,) = found.levels
    assert sum(level.failures.values()) == 3
    assert all("the connection ended" in text for text in level.failures)
    assert not level.mixed_up_sessions, "what was cut off is incomplete, not mixed up"


async def test_a_session_that_fails_again_and_again_gives_up() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        run = load(emulator.url, levels=(2,), duration_s=60.0, references=False)
        target = await run.prepare()
        emulator.scenario = Scenario(pace=0, error_at_frame=0)
        await asyncio.wait_for(run.run_level(target, 2), 10)
    assert [len(session.utterances) for session in run.levels[0].sessions] == [3, 3]


async def test_a_server_that_decodes_is_measured_by_its_samples() -> None:
    talker = SyntheticTalker()
    async with Emulator(talker, Scenario(pace=0, kind="stock")) as emulator:
        found = await measured(emulator.url, levels=(3,))
    (level,) = found.levels
    assert found.mode == "PCM"
    assert level.complete_texts == 3
    assert level.bytes_per_s == pytest.approx(48_000, rel=0.05)
    # The emulator's sound is the same for every text: nobody could tell one from another.
    assert level.compared_sessions == 0
    assert any("no frame of their own" in text for text in found.caveats)


async def test_samples_of_different_texts_are_compared_like_frames() -> None:
    async with TwoStageServer(decode=loud_decode).running() as url:
        found = await measured(url, levels=(3,))
    assert found.has_passed
    assert found.levels[0].compared_sessions == 3


def loud_decode(codes: Any) -> Any:
    """Samples that depend on the codes, and on nothing else."""
    import numpy as np

    return np.repeat(codes[:, 0], CodecSpec().samples_per_frame).astype(np.float32) / 4096


async def test_a_server_that_could_send_tokens_may_be_asked_for_sound() -> None:
    async with TwoStageServer(decode=loud_decode, traits=ServerTraits()).running() as url:
        codec, pcm = await measured(url), await measured(url, mode=Mode.PCM)
    assert (codec.mode, pcm.mode) == ("codec tokens", "PCM")


async def test_an_old_server_gets_a_new_connection_for_every_text() -> None:
    async with Emulator(SyntheticTalker(), replace(FAST, old_generation=True)) as emulator:
        found = await measured(emulator.url, levels=(2,), texts=2)
    assert found.has_passed
    assert [len(session.connects_s) for session in found.details[0].sessions] == [2, 2]


async def test_another_codec_of_the_same_packets_is_learnt() -> None:
    async with Emulator(SyntheticTalker(CodecSpec(codebook_size=64)), FAST) as emulator:
        run = load(emulator.url)
        await run.run()
    assert run.contact is not None
    assert run.contact.spec.codebook_size == 64
    assert report(run, emulator.url).has_passed


async def test_sessions_start_one_after_another_on_a_ramp() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        run = load(emulator.url, levels=(4,), ramp_s=0.4, references=False)
        target = await run.prepare()
        began_s = time.perf_counter()
        level = await run.run_level(target, 4)
    begun_s = [session.utterances[0].sent_s - began_s for session in level.sessions]
    # Later on a busy machine, but never before its turn.
    assert [at_s >= 0.1 * number for number, at_s in enumerate(begun_s)] == [True] * 4


async def test_what_was_measured_outlives_an_interruption() -> None:
    async with Emulator(SyntheticTalker(), FAST) as emulator:
        run = load(emulator.url, levels=(2, 3), references=False)
        target = await run.prepare()
        await run.run_level(target, 2)
        emulator.scenario = Scenario(first_frame_delay_s=60)
        task = asyncio.create_task(run.run_level(target, 3))
        await eventually(lambda: len(emulator.utterances) == 6)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    found = report(run, emulator.url)
    assert [(level.texts, level.interrupted) for level in found.levels] == [(2, False), (0, True)]
    assert any("interrupted" in text for text in found.caveats)


async def test_nobody_there_is_an_error_that_says_so() -> None:
    async with PlainServer().running() as url:
        pass
    with pytest.raises(CallError, match="cannot reach"):
        await load(url).run()


async def test_a_server_that_speaks_nothing_even_alone_is_an_error_that_says_why() -> None:
    async with Emulator(
        SyntheticTalker(), Scenario(pace=0, error_at_frame=0, error_text="no GPU")
    ) as emulator:
        with pytest.raises(CallError, match="no GPU"):
            await load(emulator.url).run()


async def test_a_codec_that_cannot_be_read_is_an_error_with_both_values() -> None:
    scenario = Scenario(pace=0, announce={"header_format": "<QQ"})
    async with Emulator(SyntheticTalker(), scenario) as emulator:
        with pytest.raises(CallError, match=r"<QQ.*<IHB"):
            await load(emulator.url).run()
