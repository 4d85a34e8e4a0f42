"""Ends with 0 if the kiosk in this container would be heard now; only what is in Python's own library."""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request

PORT = os.environ.get("NEARFIELD_KIOSK_HTTP_PORT", "8181")
TOKEN = os.environ.get("NEARFIELD_KIOSK_HTTP_TOKEN", "")
LIMIT_S = 4.0

request = urllib.request.Request(f"http://127.0.0.1:{PORT}/healthz")
if TOKEN:
    request.add_header("Authorization", f"Bearer {TOKEN}")
try:
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:  # noqa: S310
        print(answer.read(500).decode(errors="replace"))
except urllib.error.HTTPError as error:
    print(error.read(500).decode(errors="replace"))
    sys.exit(1)
except OSError as error:
    print(f"no answer: {error}")
    sys.exit(1)
