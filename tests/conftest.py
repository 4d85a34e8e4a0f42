from __future__ import annotations

import os

# Before anything makes an application: tests need no screen, and must not cover one.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
