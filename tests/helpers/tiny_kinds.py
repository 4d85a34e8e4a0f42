"""What the tiny checkpoints are; for those who ask a server and cannot import what makes them."""

from __future__ import annotations

CUSTOM_VOICE, VOICE_DESIGN, BASE = "custom_voice", "voice_design", "base"
"""``tts_model_type``."""
SPEAKERS = {"vivian": 3065, "uncle_fu": 3010, "eric": 2875}
DIALECTS = {"vivian": False, "uncle_fu": False, "eric": "sichuan_dialect"}
LANGUAGES = {"chinese": 2055, "english": 2050, "german": 2053, "sichuan_dialect": 2062}
CLONE_TOKENS = 25
"""``max_new_tokens`` of the Base checkpoint: it makes one frame less."""
EMBEDDING_SIZE = 32
"""Numbers in the embedding of a speaker, and channels of the talker."""
