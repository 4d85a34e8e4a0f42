"""What results add up to."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from decoder.spec import CodecSpec
from decoder.wire.events import Mode
from decoder.wire.messages import SessionConfig
from server.caller import CallError, Contact, Link
from server.load.crosstalk import OWN, Judgement, References, Verdict
from server.load.report import Spread, continuity, report, spread
from server.load.results import LevelResult, SessionResult, Solo, UtteranceResult
from server.load.run import LoadRequest, LoadRun

SPOKEN = UtteranceResult(
    sent_s=10.0,
    ended_s=12.0,
    first_frame_s=0.1,
    gaps_s=[0.08, 0.12],
    needed_buffer_s=0.06,
    sound_s=2.0,
    received_bytes=1_000,
    judgement=OWN,
)


async def no_dial() -> Link:
    raise CallError("nobody is called here")


def session(index: int, *utterances: UtteranceResult) -> SessionResult:
    return SessionResult(index, f"Text {index}.", index, [0.01], utterances=list(utterances))


def run_of(*sessions: SessionResult, **changes: object) -> LoadRun:
    run = LoadRun(no_dial, SessionConfig(), LoadRequest())
    run.contact = Contact(Mode.CODEC, CodecSpec(), "talker")
    runs = {each.index: (f"frame {each.index}".encode(),) for each in sessions}
    run.solo, run.references = Solo(runs, is_deterministic=True), References(runs)
    run.levels = [LevelResult(len(sessions), list(sessions), [(9.0, 0.001), (11.0, 0.002)], 0.2)]
    for name, value in changes.items():
        setattr(run.levels[0], name, value)
    return run


def test_a_level_in_figures() -> None:
    found = report(
        run_of(session(0, SPOKEN), session(1, replace(SPOKEN, sent_s=11.0, ended_s=14.0))), "ws://x"
    )
    (level,) = found.levels
    assert found.has_passed
    assert found.caveats == []
    assert (level.sessions, level.texts, level.complete_texts) == (2, 2, 2)
    assert level.most_at_once == 2
    assert level.first_frame == Spread(0.1, 0.1, 0.1)
    assert level.gap.max_s == 0.12
    assert level.bytes_per_s == 500
    assert level.received_bytes_per_s == 500
    assert level.continuity == {"0": 0.0, "50": 0.0, "100": 1.0, "200": 1.0}
    assert level.compared_sessions == 2


def test_every_session_is_in_the_json() -> None:
    values = json.loads(json.dumps(report(run_of(session(0, SPOKEN)), "ws://x").to_dict(), allow_nan=False))
    (each,) = values["levels"][0]["each"]
    assert each["text"] == "Text 0."
    assert each["utterances"][0]["judgement"]["verdict"] == "exactly its frames"
    assert "details" not in values


def test_texts_that_follow_each_other_are_not_at_once() -> None:
    run = run_of(session(0, SPOKEN, replace(SPOKEN, sent_s=12.0, ended_s=13.0)), session(1))
    found = report(run, "")
    assert found.levels[0].most_at_once == 1
    assert any("at most 1 texts" in text for text in found.caveats)


@pytest.mark.parametrize(
    ("change", "passes"),
    [
        ({"judgement": Judgement(Verdict.FOREIGN, 3, 1, (1,))}, False),
        ({"judgement": Judgement(Verdict.DISTURBED, 3)}, False),
        ({"judgement": Judgement(Verdict.DIVERGED, 3)}, False),
        ({"judgement": None}, True),
        ({"judgement": None, "other_text": 1}, False),
        ({"failure": "no GPU"}, False),
    ],
)
def test_what_goes_astray_or_fails_has_not_passed(change: dict[str, object], passes: bool) -> None:
    wrong = replace(SPOKEN, **change)  # type: ignore[arg-type]
    assert report(run_of(session(0, wrong), session(1, SPOKEN)), "").has_passed is passes


def test_divergence_may_be_allowed_and_nothing_else() -> None:
    gone = session(0, replace(SPOKEN, judgement=Judgement(Verdict.DIVERGED, 3)))
    mixed = session(1, replace(SPOKEN, judgement=Judgement(Verdict.FOREIGN, 3, 1, (0,))))
    assert report(run_of(gone), "", allow_divergence=True).has_passed
    assert not report(run_of(gone, mixed), "", allow_divergence=True).has_passed


def test_a_text_that_breaks_off_has_run_dry_and_who_never_spoke_does_not_count() -> None:
    broken = session(0, replace(SPOKEN, failure="cut"))
    silent = session(1)
    assert continuity([broken, session(2, SPOKEN), silent], 0.2) == 0.5
    assert continuity([silent], 0.2) is None
    one_of_two = session(3, SPOKEN, replace(SPOKEN, needed_buffer_s=0.5))
    assert continuity([one_of_two], 0.2) == 0.0


def test_a_program_that_was_late_itself_says_so() -> None:
    found = report(run_of(session(0, SPOKEN), lag_s=[(9.0, 0.001), (11.0, 0.06)]), "")
    assert ["listening" in text and "late by up to 60 ms" in text for text in found.caveats] == [True]
    found = report(run_of(session(0, SPOKEN), lag_s=[(9.0, 0.07), (11.0, 0.001), (13.0, 0.9)]), "")
    assert ["connecting" in text and "late by up to 70 ms" in text for text in found.caveats] == [True]
    found = report(run_of(session(0, SPOKEN), cpu_share=0.97), "")
    assert any("97%" in text for text in found.caveats)


def test_nothing_measured_has_not_passed() -> None:
    run = LoadRun(no_dial, SessionConfig(), LoadRequest(references=False))
    found = report(run, "ws://x")
    assert not found.has_passed
    assert found.levels == []
    assert any("not compared" in text for text in found.caveats)


def test_samples_lie_between_their_ends() -> None:
    assert spread([]) == Spread(None, None, None)
    found = spread([3.0, 1.0, 2.0])
    assert (found.p50_s, found.max_s) == (2.0, 3.0)
    assert found.p95_s == pytest.approx(2.9)
