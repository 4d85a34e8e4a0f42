"""What a REST answer says, in words: pure, so that every status and shape has a test."""

from __future__ import annotations

import json
from typing import Any

from app.errors import Refused, SessionError, Unreachable
from decoder.wire.messages import well_formed

_MAX_SHOWN_CHARS = 300


def json_object(method: str, url: str, status: int, body: bytes) -> dict[str, Any]:
    """Return what the server answered, if it is a JSON object and says yes.

    Raises:
        Refused: it says no, or something else than JSON.
        Unreachable: it is not well; later may be better.

    """
    try:
        content = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        content = None
    said = _said(content)
    if not 200 <= status < 300:
        raise _status_in_words(method, url, status, said)
    if method == "DELETE" and not body.strip():
        return {}
    if not isinstance(content, dict):
        raise Refused(f"{url} answers with something that is no JSON object: is it a speech server?")
    if "error" in content or content.get("success") is False:
        # Older servers say so with status 200.
        raise Refused(f"{url}: {said or 'the server says no, and not why'}")
    return content


def _said(content: object) -> str:
    """Return the reason that an answer gives, in the shapes that servers use."""
    while isinstance(content, (dict, list)):
        if isinstance(content, list):
            content = content[0] if content else ""
        else:
            content = next((content[k] for k in ("error", "detail", "message", "msg") if k in content), "")
    text = "".join(c for c in well_formed(str(content or "")) if c.isprintable()).strip()
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


def _status_in_words(method: str, url: str, status: int, said: str) -> SessionError:
    why = f": {said}" if said else ""
    match status:
        case 401:
            return Refused(
                f"{url}: the server wants an API key, or another one (HTTP 401): "
                "set it in the server's profile"
            )
        case 403:
            return Refused(f"{url}: the server forbids it (HTTP 403){why}; check the API key's rights")
        case 404 | 405 | 501 if method == "GET":
            return Refused(
                f"{url}: the server has no such list (HTTP {status}): type the voice's name instead"
            )
        case 404 if method == "DELETE":
            return Refused(f"{url}: the server has no such voice any more (HTTP 404){why}; refresh the list")
        case 404 | 405 | 501:
            return Refused(f"{url}: this server lets no voices be added or deleted (HTTP {status}){why}")
        case 413:
            return Refused(
                f"{url}: the recording is too large for the server (HTTP 413){why}; cut or mix it down"
            )
        case 429:
            return Unreachable(
                f"{url}: the server takes no more requests for now (HTTP 429){why}; try again later"
            )
        case _ if status >= 500 or status in (408, 425):
            return Unreachable(
                f"{url}: the server failed (HTTP {status}){why}; try again, or look in its log"
            )
        case _:
            return Refused(f"{url}: the server refused it (HTTP {status}){why}")
