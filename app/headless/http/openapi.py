"""``/openapi.json``: the routes, described; made of the very values that serve them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from app.headless.http.fields import Field
from app.headless.http.routes import Route

_ERRORS = {
    400: "A field, or the body, is not what was expected.",
    401: "The token is missing or wrong.",
    403: "The Host or the Origin is not one that may ask.",
    408: "The body did not come in time.",
    413: "The body or the text is too large.",
    415: "The body is of another type.",
    429: "Too often, or too many wait; see Retry-After.",
    500: "Something unexpected.",
}
_WITH_BODY = frozenset({408, 413, 415})


def description(routes: Iterable[Route], needs_token: bool) -> dict[str, Any]:
    """Return the description in the form of OpenAPI 3.1."""
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, needs_token)
    whole: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Nearfield",
            "version": version("nearfield"),
            "description": "Speech that is decoded where the listener is.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _error(), "OpenAIError": _openai_error()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return whole


def _operation(route: Route, needs_token: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": route.about, "responses": _responses(route)}
    if route.query:
        operation["parameters"] = [
            {"in": "query", "name": field.name, "required": field.is_required, "schema": field.schema()}
            for field in route.query
        ]
    if route.body is not None:
        content: dict[str, Any] = {"application/json": {"schema": _object(route.body)}}
        if route.takes_text:
            content["text/plain"] = {"schema": {"type": "string"}}
        is_required = any(field.is_required for field in route.body)
        operation["requestBody"] = {"required": is_required, "content": content}
    if needs_token and not route.is_open:
        operation["security"] = [{"token": []}]
    return operation


def _responses(route: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, about in _ERRORS.items():
        if route.body is not None or status not in _WITH_BODY:
            responses[str(status)] = _failure(route, about)
    for status, about in route.answers:
        if status < 400:
            content: dict[str, Any] = {route.content_type: {}}
            responses[str(status)] = {"description": about, "content": content}
        else:
            responses[str(status)] = _failure(route, about)
    return dict(sorted(responses.items()))


def _failure(route: Route, about: str) -> dict[str, Any]:
    name = "OpenAIError" if route.path.startswith("/v1/") else "Error"
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _object(fields: Iterable[Field]) -> dict[str, Any]:
    known = tuple(fields)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {field.name: field.schema() for field in known},
        "additionalProperties": False,
    }
    if required := [field.name for field in known if field.is_required]:
        schema["required"] = required
    return schema


def _error() -> dict[str, Any]:
    parts = {name: {"type": "string"} for name in ("code", "message", "next")}
    return _wrapped({"type": "object", "properties": parts, "required": list(parts)})


def _openai_error() -> dict[str, Any]:
    text_or_null: dict[str, Any] = {"type": ["string", "null"]}
    parts: dict[str, Any] = {"message": {"type": "string"}, "type": {"type": "string"}}
    parts |= {"param": text_or_null, "code": text_or_null}
    return _wrapped({"type": "object", "properties": parts, "required": list(parts)})


def _wrapped(error: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"error": error}, "required": ["error"]}
