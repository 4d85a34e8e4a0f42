"""A real server of the protocol, for the demo, for developers and for tests; it needs neither GPU nor torch.

::

    talker ─frames─▶ packets ─pace─▶ ServerSession ─messages─▶ mutate ─▶ outgoing ─▶ socket
    (talkers.py)   (packing.py, pacer.py)  (decoder.wire)    (mutate.py)  (outgoing.py)

What is said is always right up to ``mutate``, which alone applies the misbehaviour of a :class:`Scenario`.
"""

from __future__ import annotations

from server.emulator.emulator import Emulator
from server.emulator.records import SessionRecord, UtteranceRecord
from server.emulator.scenario import Scenario
from server.emulator.talkers import DemoVoiceTalker, SyntheticTalker, Talker, TapeTalker, demo_talker

__all__ = [
    "DemoVoiceTalker",
    "Emulator",
    "Scenario",
    "SessionRecord",
    "SyntheticTalker",
    "Talker",
    "TapeTalker",
    "UtteranceRecord",
    "demo_talker",
]
