"""The whole measurement: first contact, solo runs, then level after level of sessions at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from decoder.wire.events import Mode
from decoder.wire.messages import SessionConfig
from server.caller import CallError, Contact, Dial, Heard, make_contact
from server.load.crosstalk import Frames, References, judge, words_of_another
from server.load.lag import LagMeter
from server.load.references import Tell, solo_run, solo_runs
from server.load.results import LevelResult, SessionResult, Solo
from server.load.session import Gate, LoadSession, Target
from server.load.texts import DEFAULT_WORDS, own_text
from server.load.together import together

LEVELS = (4, 16, 64)
_ASKED_AGAIN = 8
"""So many sessions whose frames differ are asked again, alone, before they are held against the server."""


@dataclass(frozen=True)
class LoadRequest:
    """What to measure.

    Attributes:
        levels: sessions at once, level after level.
        texts: that each session has spoken, one after another; it is always its own text.
        duration_s: instead of ``texts``: no new text is begun after so many seconds of a level.
        ramp_s: the sessions of a level start over so many seconds; 0 connects all, then speaks at once.
        words: of each text.
        seed: of session 0; each other session has the next one.
        limit_s: a text that is not spoken in this time has failed.
        references: compare every frame with a solo run of the same text and seed.
        at_once: solo runs at the same time; above 1 they are not quite solo.
        mode: ``Mode.PCM`` asks a server that could send codec tokens to decode itself.

    """

    levels: tuple[int, ...] = LEVELS
    texts: int = 1
    duration_s: float | None = None
    ramp_s: float = 0.0
    words: int = DEFAULT_WORDS
    seed: int = 1
    limit_s: float = 60.0
    references: bool = True
    at_once: int = 1
    mode: Mode = Mode.UNKNOWN


class LoadRun:
    """One measurement; ``levels`` holds what is known so far, also after it was cancelled."""

    def __init__(
        self, dial: Dial, config: SessionConfig, request: LoadRequest, tell: Tell = lambda _: None
    ) -> None:
        self.request = request
        self.contact: Contact | None = None
        self.solo = Solo({}, None)
        self.references = References({})
        self.levels: list[LevelResult] = []
        self._dial = dial
        self._config = config
        self._tell = tell

    async def run(self) -> None:
        """Measure everything.

        Raises:
            CallError: nothing can be measured: the server is not reached, or speaks no text even alone.

        """
        target = await self.prepare()
        for sessions in self.request.levels:
            await self.run_level(target, sessions)

    async def prepare(self) -> Target:
        """Make contact, and have the solo runs spoken; raises CallError as :meth:`run`."""
        request = self.request
        self._tell("first contact")
        self.contact = await make_contact(
            self._dial, replace(self._config, seed=request.seed), mode=request.mode, limit_s=request.limit_s
        )
        target = Target(self._dial, self._config, self.contact, request.limit_s)
        if request.references:
            sessions = [self._session(index) for index in range(max(request.levels))]
            self.solo = await solo_runs(target, sessions, self._tell, request.at_once)
            self.references = References(self.solo.runs)
        return target

    async def run_level(self, target: Target, sessions: int) -> LevelResult:
        """Run so many sessions at once, to their ends."""
        request, level = self.request, LevelResult(sessions)
        self.levels.append(level)
        level.sessions = [self._session(index) for index in range(sessions)]
        heard: dict[int, list[Frames]] = {}
        texts = {session.text: session.index for session in level.sessions}

        def take(result: SessionResult, what: Heard, frames: Frames) -> None:
            heard.setdefault(result.index, []).append(frames)
            other = words_of_another(what.units, result.text, texts)
            self._judge(result, len(result.utterances) - 1, frames, other)
            self._tell(f"{sessions} sessions: {sum(len(s.utterances) for s in level.sessions)} texts spoken")

        runs = [LoadSession(target, session, take) for session in level.sessions]
        gate = Gate(0 if request.ramp_s else sessions)
        self._tell(f"{sessions} sessions: connecting")
        lag = LagMeter()
        try:
            async with lag:
                goes_on = self._goes_on()
                await together(
                    run.run(gate, request.ramp_s * at / sessions, goes_on) for at, run in enumerate(runs)
                )
        except asyncio.CancelledError:
            level.interrupted = True
            raise
        finally:
            level.lag_s, level.cpu_share = lag.samples_s, lag.cpu_share
        await self._ask_again(target, level, heard)
        return level

    # -- inside -----------------------------------------------------------------------------------------

    def _session(self, index: int) -> SessionResult:
        return SessionResult(index, own_text(index, self.request.words), self.request.seed + index)

    def _goes_on(self) -> Callable[[int], bool]:
        duration_s, texts = self.request.duration_s, self.request.texts
        if duration_s is None:
            return lambda spoken: spoken < texts
        began_s: float | None = None

        def goes_on(spoken: int) -> bool:
            nonlocal began_s
            if began_s is None:  # the first one begins, all have connected
                began_s = time.perf_counter()
            return not spoken or time.perf_counter() < began_s + duration_s

        return goes_on

    def _judge(self, result: SessionResult, number: int, frames: Frames, other_text: int | None) -> None:
        utterance = result.utterances[number]
        judgement = None
        if result.index in self.references:
            judgement = judge(result.index, frames, self.references, is_complete=not utterance.failure)
        result.utterances[number] = replace(utterance, judgement=judgement, other_text=other_text)

    async def _ask_again(self, target: Target, level: LevelResult, heard: Mapping[int, list[Frames]]) -> None:
        """Speak what differs once more, alone, to find out whether the solo run was wrong."""
        for session in [one for one in level.sessions if one.is_mixed_up or one.has_diverged][:_ASKED_AGAIN]:
            if session.index not in self.references:
                continue
            self._tell(f"{level.asked} sessions: the text of session {session.index} again, alone")
            again = await self._alone(target, session)
            if again is None or again == self.references.run(session.index):
                continue
            if again != await self._alone(target, session):
                # Another answer each time, with nobody else there: what it says under load proves nothing.
                self._distrust()
                return
            self.solo = self.solo.mended(session.index, again)
            self.references = References(self.solo.runs)
            for number, frames in enumerate(heard[session.index]):
                self._judge(session, number, frames, session.utterances[number].other_text)

    async def _alone(self, target: Target, session: SessionResult) -> Frames | None:
        try:
            return await solo_run(target, session.text, session.seed)
        except CallError as error:
            session.failure = session.failure or str(error)
            return None

    def _distrust(self) -> None:
        self.solo, self.references = Solo({}, is_deterministic=False), References({})
        for session in (session for level in self.levels for session in level.sessions):
            session.utterances[:] = [replace(utterance, judgement=None) for utterance in session.utterances]
