"""Every field of a scenario does what it says, seen from the other end of a real socket."""

from __future__ import annotations

import time
from dataclasses import fields

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from decoder.errors import PacketError
from decoder.wire.packets import Flags
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.server.emulator.wire_client import Heard, client, talk

TEXT = "Twenty characters ok"  # 20 letters and a few: about 21 frames
TRUE = SyntheticTalker().codes(TEXT)
N = len(TRUE)


async def heard_from(scenario: Scenario, text: str = TEXT, **config) -> Heard:
    async with Emulator(SyntheticTalker(), scenario) as e:
        return await talk(e.url, text, **config)


def fast(**fields_) -> Scenario:
    return Scenario(pace=0, **fields_)


async def heard_until_closed(scenario: Scenario) -> tuple[Heard, ConnectionClosed]:
    heard = Heard()
    async with Emulator(SyntheticTalker(), scenario) as e, client(e.url) as c:
        await c.configure()
        await c.ask(TEXT)
        with pytest.raises(ConnectionClosed) as caught:
            await c.hear_into(heard, until="nothing")
    return heard, caught.value


def test_every_field_is_named_in_a_test() -> None:
    with open(__file__, encoding="utf-8") as file:
        source = file.read()
    assert [f.name for f in fields(Scenario) if f"{f.name}=" not in source] == []


# -- kind and manner ------------------------------------------------------------------------------------


async def test_stock_answers_codec_tokens_with_pcm_and_knows_no_cancel() -> None:
    async with Emulator(SyntheticTalker(), fast(kind="stock")) as e, client(e.url) as c:
        await c.configure()
        await c.send("input.cancel")
        assert await c.recv() == {"type": "error", "message": "Unknown message type: input.cancel"}
        heard = await c.say(TEXT)
        assert heard.types == ["audio.start", "binary", "audio.done", "session.done"]
        assert (heard.messages[0]["format"], heard.messages[0]["sample_rate"]) == ("pcm", 24000)


async def test_stock_does_not_read_while_it_speaks() -> None:
    async with Emulator(SyntheticTalker(), Scenario(kind="stock", pace=10)) as e, client(e.url) as c:
        await c.configure()
        await c.say(TEXT, until="audio.start")
        await c.send("input.cancel")
        heard = await c.hear()
        assert "error" not in heard.types
        assert (await c.recv())["message"].startswith("Unknown message type")


async def test_stock_stops_when_its_client_leaves() -> None:
    async with Emulator(SyntheticTalker(), Scenario(kind="stock", pace=20, endless=True)) as e:
        async with client(e.url) as c:
            await c.configure()
            await c.say(TEXT, until="audio.start")
        assert (await talk(e.url, "", output_mode="pcm")).types == ["session.done"]
        assert e.open_sessions <= 1


async def test_talker_only_under_stock_sends_zero_bytes() -> None:
    heard = await heard_from(fast(kind="stock-talker-only"))
    assert heard.types == ["audio.start", "audio.done", "session.done"]
    assert heard.json("audio.done")["total_bytes"] == 0
    assert not heard.json("audio.done")["error"]


async def test_an_adapter_without_the_mode_refuses_it_and_speaks_pcm() -> None:
    async with Emulator(SyntheticTalker(), fast(kind="no-codec-adapter")) as e, client(e.url) as c:
        await c.configure()
        heard = await c.say(TEXT)
        assert heard.types == ["error", "session.done"]
        expected = "output_mode='codec_tokens' is not supported by the loaded TTS model."
        assert heard.json("error")["message"] == expected
        await c.configure(output_mode="pcm")
        assert (await c.say(TEXT)).types == ["audio.start", "binary", "audio.done", "session.done"]


async def test_old_generation_ends_with_input_done() -> None:
    heard, closed = await heard_until_closed(fast(old_generation=True))
    assert heard.types == ["codec.start", "binary", "codec.done", "session.done"]
    assert all("utterance_index" not in m for m in heard.messages if isinstance(m, dict))
    assert closed.rcvd.code == 1000


async def test_pace_is_a_multiple_of_real_time() -> None:
    started = time.monotonic()
    heard = await heard_from(Scenario(pace=4))
    elapsed_s = time.monotonic() - started
    expected_s = (N - 1) * 0.08 / 4
    assert expected_s <= elapsed_s < expected_s + 0.3
    np.testing.assert_array_equal(heard.codes, TRUE)


async def test_packet_frames_sets_the_size() -> None:
    heard = await heard_from(fast(packet_frames=8))
    assert [p.n_frames for p in heard.packets] == [8, 8, N - 16, 0]
    np.testing.assert_array_equal(heard.codes, TRUE)


async def test_the_time_for_a_config_can_be_cut() -> None:
    async with Emulator(SyntheticTalker(), fast(config_timeout_s=0.05)) as e, client(e.url) as c:
        assert (await c.hear("error")).json("error")["message"] == "Timeout waiting for session.config"


@pytest.mark.parametrize(
    ("own", "asked", "sizes"),
    [
        ({}, None, [1, 1, 1]),
        ({}, 4, [1, 4, 4]),
        ({"packet_frames": 1}, 4, [1, 1, 1]),
        ({"packet_frames": 8}, 4, [8, 8, N - 16]),
    ],
)
async def test_the_scenarios_own_size_goes_before_the_clients(
    own: dict[str, int], asked: int | None, sizes: list[int]
) -> None:
    async with Emulator(SyntheticTalker(), fast(**own)) as e:
        heard = await talk(e.url, TEXT, **({} if asked is None else {"packet_frames": asked}))
    assert [p.n_frames for p in heard.packets][:3] == sizes
    np.testing.assert_array_equal(heard.codes, TRUE)


async def test_the_largest_packet_passes() -> None:
    """65,535 frames are 2 MiB, twice what the library takes by default."""
    heard = await heard_from(fast(packet_frames=65_535, endless=True, max_frames=65_535))
    assert [p.n_frames for p in heard.packets] == [65_535, 0]


async def test_random_sizes_come_from_the_seed() -> None:
    scenario = fast(packet_frames=1, packet_frames_max=6, seed=3)
    first, again = await heard_from(scenario), await heard_from(scenario)
    sizes = [p.n_frames for p in first.packets]
    assert sizes == [p.n_frames for p in again.packets]
    assert len(set(sizes)) > 2
    np.testing.assert_array_equal(first.codes, TRUE)


async def test_eos_last_rides_on_the_last_frames() -> None:
    heard = await heard_from(fast(eos="last", packet_frames=5))
    assert [bool(p.flags & Flags.EOS) for p in heard.packets] == [False] * 4 + [True]
    assert heard.packets[-1].n_frames
    np.testing.assert_array_equal(heard.codes, TRUE)


async def test_eos_none_leaves_the_end_to_codec_done() -> None:
    heard = await heard_from(fast(eos="none", packet_frames=5))
    assert not heard.has_eos
    assert heard.json("codec.done")["seq_last"] == heard.packets[-1].seq
    np.testing.assert_array_equal(heard.codes, TRUE)


async def test_idle_timeout_also_waits_for_the_first_word_after_an_utterance() -> None:
    heard, closed = await heard_until_closed(fast(idle_timeout_s=0.05))
    assert heard.types[-2:] == ["session.done", "error"]
    assert closed.rcvd is None


async def test_only_the_first_utterances_are_faulty() -> None:
    async with Emulator(SyntheticTalker(), fast(max_frames=0, faulty_utterances=2)) as e:
        lengths = [len((await talk(e.url, TEXT)).codes) for _ in range(3)]
    assert lengths == [0, 0, N]


# -- when -----------------------------------------------------------------------------------------------


async def timed(scenario: Scenario) -> list[float]:
    """Return the seconds between the packets that carry frames."""
    async with Emulator(SyntheticTalker(), scenario) as e, client(e.url) as c:
        await c.configure()
        await c.say(TEXT, until="codec.start")
        instants = []
        while isinstance(data := await c.recv(), bytes):
            if len(data) > 7:
                instants.append(time.monotonic())
    return list(np.diff(instants))


async def test_handshake_delay() -> None:
    async with Emulator(SyntheticTalker(), fast(handshake_delay_s=0.2)) as e:
        started = time.monotonic()
        async with client(e.url):
            assert time.monotonic() - started >= 0.2


async def test_first_frame_delay() -> None:
    async with Emulator(SyntheticTalker(), fast(first_frame_delay_s=0.2)) as e, client(e.url) as c:
        await c.configure()
        started = time.monotonic()
        await c.say(TEXT, until="codec.start")
        assert time.monotonic() - started >= 0.2


async def test_jitter_spreads_the_packets() -> None:
    gaps = await timed(Scenario(pace=20, jitter_s=0.03))
    assert np.std(gaps) > 0.004
    np.testing.assert_array_equal((await heard_from(fast(jitter_s=0.005))).codes, TRUE)


async def test_a_stall_is_one_gap_and_loses_nothing() -> None:
    gaps = await timed(fast(stall_at_frame=5, stall_s=0.5))
    assert gaps[4] > 0.45
    assert max(gaps[:4] + gaps[5:]) < 0.3
    assert len(gaps) == N - 1


async def test_catch_up_sends_what_the_stall_held_back_at_once() -> None:
    """0.6 s hold back seven frames; at their pace they would take another 0.56 s."""
    gaps = await timed(Scenario(pace=1, stall_at_frame=2, stall_s=0.6, catch_up=True, max_frames=9))
    assert gaps[1] > 0.5
    assert sum(gaps[2:]) < 0.3


async def test_a_burst_comes_before_the_pace() -> None:
    gaps = await timed(Scenario(burst_frames=10))
    assert sum(gaps[:9]) < 0.25
    assert sum(gaps[10:15]) > 0.15


# -- what -----------------------------------------------------------------------------------------------


async def test_silence_in_front() -> None:
    heard = await heard_from(fast(silent_frames=9))
    np.testing.assert_array_equal(heard.codes[:9], SyntheticTalker().silence(9))
    np.testing.assert_array_equal(heard.codes[9:], TRUE)


async def test_placeholders_in_front() -> None:
    heard = await heard_from(fast(placeholder_frames=1))
    assert not heard.codes[0].any()
    np.testing.assert_array_equal(heard.codes[1:], TRUE)


async def test_context_comes_first_and_only_to_those_who_accept_it() -> None:
    assert "codec.context" not in (await heard_from(fast(context_frames=4))).types
    heard = await heard_from(fast(context_frames=4), accept_codec_context=True)
    assert heard.types[:3] == ["codec.start", "codec.context", "binary"]
    assert heard.json("codec.context")["frames"] == 4
    np.testing.assert_array_equal(heard.codes, TRUE)
    bad = await heard_from(fast(context_frames=4, bad_context=True), accept_codec_context=True)
    assert bad.json("codec.context")["frames"] == 5


async def test_max_frames_0_is_no_audio_with_eos_or_without() -> None:
    assert [p.n_frames for p in (await heard_from(fast(max_frames=0))).packets] == [0]
    assert (await heard_from(fast(max_frames=0, eos="none"))).binary == []


async def test_an_endless_talker_is_ended_by_max_frames_only() -> None:
    heard = await heard_from(fast(endless=True, max_frames=2048, packet_frames=100), "Two words")
    assert len(heard.codes) == 2048
    assert heard.has_eos


async def test_an_error_in_mid_utterance() -> None:
    heard = await heard_from(fast(error_at_frame=7, packet_frames=5))
    assert heard.types == ["codec.start", "binary", "error", "codec.done", "session.done"]
    np.testing.assert_array_equal(heard.codes, TRUE[:7])
    assert not heard.has_eos
    assert heard.json("codec.done")["error"] is True
    assert heard.json("error")["message"].startswith("Generation failed for utterance 0, sentence 0: ")
    told = await heard_from(fast(error_at_frame=0, error_text="No voice today"))
    assert told.json("error")["message"] == "No voice today"
    assert told.binary == []


# -- on the way out -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut_code", [1000, 1001, 1005, 1006, 1008, 1011, 1012, 1013])
@pytest.mark.parametrize("packet_frames", [1, 5])
async def test_a_cut_comes_after_exactly_so_many_frames(cut_code: int, packet_frames: int) -> None:
    heard, closed = await heard_until_closed(
        fast(cut_at_frame=7, cut_code=cut_code, packet_frames=packet_frames)
    )
    np.testing.assert_array_equal(heard.codes, TRUE[:7])
    assert heard.types == ["codec.start", "binary"]
    if cut_code == 1006:
        assert closed.rcvd is None
    else:
        assert closed.rcvd.code == cut_code


async def test_a_cut_at_0_and_in_pcm() -> None:
    assert (await heard_until_closed(fast(cut_at_frame=0)))[0].types == ["codec.start"]
    heard, _ = await heard_until_closed(fast(kind="stock", cut_at_frame=3, packet_frames=2))
    assert sum(map(len, heard.binary)) == 3 * 3840


async def test_omitted_codec_done() -> None:
    assert (await heard_from(fast(omit_codec_done=True))).types == ["codec.start", "binary", "session.done"]


async def test_omitted_session_done() -> None:
    async with Emulator(SyntheticTalker(), fast(omit_session_done=True)) as e, client(e.url) as c:
        await c.configure()
        await c.say(TEXT, until="codec.done")
        await c.send("input.cancel")
        assert await c.recv() == {"type": "input.cancelled"}


async def test_wrong_totals() -> None:
    assert (await heard_from(fast(totals_offset=-2))).json("codec.done")["total_frames"] == N - 2


@pytest.mark.parametrize("bad_code", [2150, 2048, -1])
@pytest.mark.parametrize("bad_code_codebook", [0, 15])
async def test_a_bad_code_is_in_its_place(bad_code: int, bad_code_codebook: int) -> None:
    heard = await heard_from(
        fast(bad_code=bad_code, bad_code_codebook=bad_code_codebook, bad_code_frame=6, packet_frames=4)
    )
    expected = TRUE.copy()
    expected[6, bad_code_codebook] = bad_code
    np.testing.assert_array_equal(heard.codes, expected)


async def test_all_zero_codes() -> None:
    heard = await heard_from(fast(zero_codes=True))
    assert len(heard.codes) == N
    assert not heard.codes.any()


async def test_a_truncated_packet_is_none() -> None:
    heard = await heard_from(fast(truncate_packets=(3,)))
    with pytest.raises(PacketError):
        _ = heard.packets
    assert len(heard.binary[3]) == 39 // 2


async def test_lost_repeated_and_swapped_packets() -> None:
    heard = await heard_from(fast(drop_packets=(2,), duplicate_packets=(4,), swap_packets=(6,)))
    assert [p.seq for p in heard.packets][:9] == [0, 1, 3, 4, 4, 5, 7, 6, 8]
    assert heard.json("codec.done")["total_frames"] == N


async def test_an_empty_message() -> None:
    assert (await heard_from(fast(empty_message_at=2))).binary[2] == b""
    only = await heard_from(fast(max_frames=0, eos="none", empty_message_at=0))
    assert only.types == ["codec.start", "binary", "codec.done", "session.done"]
    assert only.binary == [b""]


async def test_cumulative_packets_repeat_everything() -> None:
    heard = await heard_from(fast(cumulative=True, packet_frames=8))
    assert [p.n_frames for p in heard.packets] == [8, 16, N, 0]
    np.testing.assert_array_equal(heard.packets[2].codes, TRUE)
    assert heard.json("codec.done")["total_frames"] == N


@pytest.mark.parametrize(
    ("name", "value"),
    [("codebook_size", 4096), ("codebooks", 8), ("frame_rate_hz", 25.0), ("sample_rate", 48000),
     ("version", 2), ("decoder_id", "other"), ("header_format", "<IIB")],
)  # fmt: skip
async def test_codec_start_announces_what_it_is_told(name: str, value: object) -> None:
    start = (await heard_from(fast(announce={name: value}))).json("codec.start")
    truth = (await heard_from(fast())).json("codec.start")
    assert start == truth | {name: value}


async def test_an_ignored_cancel_is_neither_obeyed_nor_answered() -> None:
    async with Emulator(SyntheticTalker(), Scenario(pace=10, ignore_cancel=True)) as e, client(e.url) as c:
        await c.configure()
        await c.send("input.cancel")
        assert (await c.say(TEXT, until="codec.start")).types == ["codec.start"]
        await c.send("input.cancel")
        heard = await c.hear()
        assert len(heard.codes) == N
        assert heard.types == ["binary", "codec.done", "session.done"]


# -- whether --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("handshake_status", [401, 403, 404, 429, 500, 503])
async def test_a_refused_handshake(handshake_status: int) -> None:
    async with Emulator(SyntheticTalker(), fast(handshake_status=handshake_status)) as e:
        with pytest.raises(InvalidStatus) as caught:
            await talk(e.url, TEXT)
        assert caught.value.response.status_code == handshake_status
        assert e.refused_handshakes == 1


async def test_only_the_first_handshakes_are_refused() -> None:
    async with Emulator(SyntheticTalker(), fast(handshake_status=503, handshake_refusals=2)) as e:
        for _ in range(2):
            with pytest.raises(InvalidStatus):
                await talk(e.url, TEXT)
        assert (await talk(e.url, TEXT)).has_eos


async def test_a_scenario_can_be_replaced_while_the_server_runs() -> None:
    async with Emulator(SyntheticTalker(), fast(max_frames=0)) as e, client(e.url) as c:
        await c.configure()
        assert len((await c.say(TEXT)).codes) == 0
        e.scenario = fast()
        assert len((await c.say(TEXT)).codes) == N
