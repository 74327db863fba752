"""Occasional failures of Terraform's requests, as on AWS: throttling or an internal error.

Sources: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (EC2's errors) and
https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html (other services' errors)
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from eks_hardware.local.emulator_patches.asgi import answer, signed

_TERRAFORM = b"APN/1.0 HashiCorp/1.0 Terraform/"
_EC2 = ((503, "RequestLimitExceeded"), (500, "InternalError"))
_OTHERS = ((429, "ThrottlingException"), (500, "InternalFailure"))
_every = 0
_answered: Iterator[int] = itertools.count(1)


def set_every(number: int) -> None:
    """Make every n-th request of Terraform's AWS provider fail, alternating between both errors; 0: none."""
    global _every, _answered
    _every, _answered = number, itertools.count(1)


def sometimes_failing(app: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an ASGI application: requests selected to fail never reach it."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        by = signed(scope) if _every else None
        headers = dict(scope["headers"]) if by else {}
        is_terraform = headers.get(b"user-agent", b"").startswith(_TERRAFORM)
        if by is None or not is_terraform or (number := next(_answered)) % _every:
            await app(scope, receive, send)
            return
        errors = _EC2 if by.service == "ec2" else _OTHERS
        status, code = errors[number // _every % 2]
        is_form = headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")
        kind, body = _xml(by.service, code) if is_form else ("application/json", json.dumps({"__type": code}))
        await answer(send, body.encode(), status=status, content_type=kind, x_amzn_errortype=code)

    return call


def _xml(service: str, code: str) -> tuple[str, str]:
    error = f"<Error><Code>{code}</Code><Message>try again</Message></Error>"
    inner = f"<Response><Errors>{error}</Errors></Response>" if service == "ec2" else ""
    return "text/xml", inner or f"<ErrorResponse>{error}</ErrorResponse>"
