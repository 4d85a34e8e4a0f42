"""The voice of the demo: text becomes frames of a small codec of the true architecture, without torch."""

from __future__ import annotations

from server.emulator.demo_voice.encoder import DemoEncoder
from server.emulator.demo_voice.talker import DemoTalker
from server.emulator.demo_voice.voice import DemoVoice, VoiceMissing

__all__ = ["DemoEncoder", "DemoTalker", "DemoVoice", "VoiceMissing"]
