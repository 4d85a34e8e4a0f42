"""The configuration: frozen, typed, made once. File < environment < flags.

The file is YAML with a mapping for each section; the environment has ``NEARFIELD_SECTION_KEY``
(``NEARFIELD_AUDIO_DEVICE``), and ``NEARFIELD_API_KEY`` for the key that belongs on no command line.
"""

from __future__ import annotations

from app.config.loading import (
    ENVIRONMENT_PREFIX,
    default_path,
    differences,
    environment_values,
    file_values,
    known_keys,
    load,
    merge,
    require_private,
    secret_keys,
)
from app.config.sections import (
    DEMO,
    AppearanceConfig,
    AudioConfig,
    Config,
    DecoderConfig,
    KioskConfig,
    Profile,
    ProfilesConfig,
    ServerConfig,
    VoiceConfig,
    WindowConfig,
)

__all__ = [
    "DEMO",
    "ENVIRONMENT_PREFIX",
    "AppearanceConfig",
    "AudioConfig",
    "Config",
    "DecoderConfig",
    "KioskConfig",
    "Profile",
    "ProfilesConfig",
    "ServerConfig",
    "VoiceConfig",
    "WindowConfig",
    "default_path",
    "differences",
    "environment_values",
    "file_values",
    "known_keys",
    "load",
    "merge",
    "require_private",
    "secret_keys",
]
