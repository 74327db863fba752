"""Settings of a running emulator, changed by requests to paths that AWS does not have.

``POST /_eks_hardware/api-server`` with ``{"endpoint": …, "certificate_authority": …}``: the local Kubernetes API server
that all EKS clusters report as theirs; the certificate is in base64.
``POST /_eks_hardware/no-capacity`` with a list of ``{"type": …, "zone": …, "lifecycle": …}``: EC2 refuses these
instances; an omitted field matches any value.
``POST /_eks_hardware/event`` with an event of :mod:`.events`: EventBridge delivers it.
``POST /_eks_hardware/reservations`` with ``{"region": …, "reservations": […]}``: EC2 has these capacity reservations.
``POST /_eks_hardware/failures`` with a number n: every n-th Terraform request fails (:mod:`.failures`); 0: none.
``POST /_eks_hardware/raised-quotas`` with true: all quotas are raised (:mod:`.limits`); false: the defaults.
``POST /_eks_hardware/clock`` with a number of seconds: how far the emulator's clock is ahead of this machine's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eks_hardware.local.emulator_patches import clock, ec2_reservations, events, failures, limits
from eks_hardware.local.emulator_patches.asgi import body_of

PATH = "/_eks_hardware/"


@dataclass
class _State:
    api_server: Mapping[str, str] = field(default_factory=dict)
    no_capacity: list[Mapping[str, str]] = field(default_factory=list)


_STATE = _State()
_ACTIONS: Mapping[str, Callable[[Any], None]] = {
    "api-server": lambda value: setattr(_STATE, "api_server", value),
    "clock": clock.set_ahead,
    "event": events.deliver,
    "failures": failures.set_every,
    "reservations": ec2_reservations.add,
    "raised-quotas": limits.set_raised,
    "no-capacity": lambda value: setattr(_STATE, "no_capacity", value),
}


def api_server() -> Mapping[str, str]:
    """Return the endpoint and certificate authority of the local Kubernetes, or an empty mapping."""
    return _STATE.api_server


def has_capacity(instance_type: str, zone: str, lifecycle: str) -> bool:
    """Return whether EC2 can start an instance."""
    wanted = {"type": instance_type, "zone": zone, "lifecycle": lifecycle}
    return not any(shortage.items() <= wanted.items() for shortage in _STATE.no_capacity)


def controlled(app: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an ASGI application: requests to these paths change the settings; all others reach the application."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PATH):
            await app(scope, receive, send)
            return
        body = await body_of(receive)
        act = _ACTIONS.get(scope["path"].removeprefix(PATH))
        if act is not None:
            act(json.loads(body))
        await send({"type": "http.response.start", "status": 404 if act is None else 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return call
