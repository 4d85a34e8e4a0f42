"""The page at ``/``: a few files that are sent as they are."""

from __future__ import annotations

from aiohttp import web

import assets

FILES = {
    "/": ("kiosk/index.html", "text/html"),
    "/kiosk.css": ("kiosk/kiosk.css", "text/css"),
    "/kiosk.js": ("kiosk/kiosk.js", "text/javascript"),
    "/icon.svg": ("icons/nearfield.svg", "image/svg+xml"),
}
"""Paths and what is sent for them."""


class Page:
    """Reads the files once."""

    def __init__(self) -> None:
        self._bodies = {path: assets.folder(name).read_bytes() for path, (name, _) in FILES.items()}

    async def file(self, request: web.Request) -> web.Response:
        """Send a file; it is asked for again with each visit, so that an update is seen at once."""
        _, kind = FILES[request.path]
        return web.Response(
            body=self._bodies[request.path],
            content_type=kind,
            charset="utf-8",
            headers={"Cache-Control": "no-cache"},
        )
