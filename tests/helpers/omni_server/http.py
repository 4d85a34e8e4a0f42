"""The HTTP application around a handler: its paths, and the key, as vLLM serves them."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import FastAPI, Form, UploadFile, WebSocket
from fastapi.responses import JSONResponse, Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]


class BearerKey:
    """Answers 401 to what lies under ``/v1`` and brings no key, HTTP and WebSocket alike."""

    def __init__(self, app: Any, key: str) -> None:
        self._app = app
        self._digest = hashlib.sha256(key.encode()).digest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope.get("method") == "OPTIONS":
            await self._app(scope, receive, send)
        elif scope["path"].startswith("/v1") and not self._has_key(scope):
            await JSONResponse({"error": "Unauthorized"}, status_code=401)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _has_key(self, scope: Scope) -> bool:
        headers = dict(scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        digest = hashlib.sha256(token.encode("utf-8")).digest()
        return scheme.lower() == "bearer" and secrets.compare_digest(digest, self._digest)


def application(handler: Any, service: Any, api_key: str | None) -> Any:
    """Return the ASGI application."""
    app = FastAPI()

    @app.get("/health")
    async def health() -> Response:
        return Response(status_code=503 if service.engine_client.errored else 200)

    @app.get("/v1/models")
    async def models() -> Any:
        model = {"id": service.engine_client.scene.model, "object": "model", "owned_by": "vllm"}
        return {"object": "list", "data": [model]}

    @app.get("/v1/audio/voices")
    async def voices() -> Any:
        uploaded = list(service.uploaded_speakers.values())
        return {"voices": sorted(service._get_available_voices()), "uploaded_voices": uploaded}

    @app.post("/v1/audio/voices")
    async def upload(
        audio_sample: UploadFile,
        consent: str = Form(...),
        name: str = Form(...),
        ref_text: str | None = Form(None),
    ) -> Any:
        data = await audio_sample.read()
        voice = {
            "name": name,
            "consent": consent,
            "created_at": int(time.time()),
            "file_size": len(data),
            "mime_type": audio_sample.content_type or "",
            "embedding_source": "audio",
            "embedding_dim": None,
            **({"ref_text": ref_text} if ref_text else {}),
        }
        service.uploaded_speakers[name.lower()] = voice
        return {"success": True, "voice": voice}

    @app.delete("/v1/audio/voices/{name}")
    async def delete(name: str) -> Any:
        if service.uploaded_speakers.pop(name.lower(), None) is None:
            return JSONResponse({"success": False, "error": f"Voice '{name}' not found"}, status_code=404)
        return {"success": True, "message": f"Voice '{name}' deleted successfully"}

    @app.websocket("/v1/audio/speech/stream")
    async def stream(websocket: WebSocket) -> None:
        await handler.handle_session(websocket)

    return app if api_key is None else BearerKey(app, api_key)
