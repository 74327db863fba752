"""A record of AWS clients' requests, so that tests can check them against AWS's service models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eks_hardware.local.emulator_patches.asgi import body_of, signed

# These headers differ when a client repeats a request, and are not part of the service models.
_VOLATILE = re.compile("authorization|amz-sdk-.*|x-amz-(date|content-sha256|security-token|user-agent)")


def recorded(app: Callable[..., Any], file: Path) -> Callable[..., Any]:
    """Wrap an ASGI application: write each distinct signed request to a line of a file.

    A line is JSON with ``service`` (the signing name), ``method``, ``path`` (as sent), ``query``, ``headers`` and
    ``body`` (a character for each byte).
    """
    seen: set[int] = set()

    async def call(scope: Any, receive: Any, send: Any) -> None:
        by = signed(scope)
        if by is None:
            await app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = await body_of(receive)
        if len(body) < int(headers.get("content-length", 0)):
            # The client closed the connection in the middle of its request, as Terraform does when interrupted.
            return
        line = json.dumps(_request(by.service, scope, headers, body))
        if hash(line) not in seen:
            seen.add(hash(line))
            with file.open("a", encoding="utf-8") as record:
                record.write(line + "\n")
        await app(scope, again(body, receive), send)

    return call


def again(body: bytes, receive: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that first returns the body that was already read, and then receives later messages."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Any:
        return left.pop() if left else await receive()

    return received


def _request(service: str, scope: Mapping[str, Any], headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    path = scope.get("raw_path") or scope["path"].encode()
    return {
        "service": service,
        "method": scope["method"],
        "path": path.decode("latin-1").partition("?")[0],
        "query": scope["query_string"].decode("latin-1"),
        "headers": {name: value for name, value in headers.items() if not _VOLATILE.fullmatch(name)},
        "body": body.decode("latin-1"),
    }
