"""Requests and responses of the emulator's ASGI applications."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-signing-elements.html
_SCOPE = re.compile(r"Credential=[^/]+/[^/]+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")


class Signed(NamedTuple):
    """The scope of a request's signature: the region and the service's signing name."""

    region: str
    service: str


def signed(scope: Mapping[str, Any]) -> Signed | None:
    """Return the scope of an AWS client's signature; None for other requests."""
    headers = dict(scope.get("headers") or ()) if scope["type"] == "http" else {}
    match = _SCOPE.search(headers.get(b"authorization", b"").decode())
    return Signed(**match.groupdict()) if match else None


async def body_of(receive: Callable[..., Any]) -> bytes:
    """Return a request's body."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


async def answer(send: Callable[..., Any], body: bytes, *, status: int = 200, **headers: str) -> None:
    """Send a response; underscores in header names become hyphens."""
    sent = {"content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    pairs = [(name.encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
