"""Requests of Terraform that AWS fails to answer now and then: it throttles, or has an internal error.

Sources: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (the errors of EC2) and
https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html (those of other services)
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_TERRAFORM = b"APN/1.0 HashiCorp/1.0 Terraform/"
_SERVICE = re.compile(r"Credential=[^/]+/[^/]+/[^/]+/([^/]+)/aws4_request")
_EC2 = ((503, "RequestLimitExceeded"), (500, "InternalError"))
_OTHERS = ((429, "ThrottlingException"), (500, "InternalFailure"))
_every = 0
_answered: Iterator[int] = itertools.count(1)


def set_every(number: int) -> None:
    """Fail every so many requests of Terraform's AWS provider, in turn with both errors; 0: none."""
    global _every, _answered
    _every, _answered = number, itertools.count(1)


def sometimes_failing(app: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an ASGI application: a request that fails does not reach it."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or ()) if _every and scope["type"] == "http" else {}
        signed = _SERVICE.search(headers.get(b"authorization", b"").decode())
        if signed is None or not headers.get(b"user-agent", b"").startswith(_TERRAFORM):
            await app(scope, receive, send)
            return
        number = next(_answered)
        if number % _every:
            await app(scope, receive, send)
            return
        errors = _EC2 if signed[1] == "ec2" else _OTHERS
        status, code = errors[number // _every % 2]
        is_form = headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")
        kind, body = _xml(signed[1], code) if is_form else ("application/json", json.dumps({"__type": code}))
        sent = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"x-amzn-errortype", code.encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        await send({"type": "http.response.body", "body": body.encode()})

    return call


def _xml(service: str, code: str) -> tuple[str, str]:
    error = f"<Error><Code>{code}</Code><Message>try again</Message></Error>"
    inner = f"<Response><Errors>{error}</Errors></Response>" if service == "ec2" else ""
    return "text/xml", inner or f"<ErrorResponse>{error}</ErrorResponse>"
