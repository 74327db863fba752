"""EC2's requests and responses as dictionaries, read and written with botocore's service model."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"
SENT = "__sent"
"""The key under which a record stores its fields as the client sent them, besides ministack's own fields."""


def request(name: str, params: Mapping[str, object], value_of: Callable[..., Any]) -> dict[str, Any]:
    """Return a request's parameters as the dictionary that boto3 accepts. All values are text."""
    flat = {key: value_of(params, key) for key in params}
    return read(shape("ec2", name), "", flat) or {}


def is_dry_run(params: Mapping[str, object], value_of: Callable[..., Any]) -> bool:
    """Return whether a request is a dry run, which only checks permissions.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html (DryRun)
    """
    return str(value_of(params, "DryRun")).lower() == "true"


def read(of: Any, prefix: str, flat: Mapping[str, str]) -> Any:
    """Read the value of a botocore shape from the flat parameters of an EC2 request; ``None`` for no value.

    Parameters have names such as ``LaunchTemplateData.NetworkInterface.1.InterfaceType``; ``prefix`` is the name of
    the parent.
    """
    if of.type_name == "structure":
        start = f"{prefix}." if prefix else ""
        members = {name: read(member, start + _parameter(member, name), flat) for name, member in of.members.items()}
        return {name: value for name, value in members.items() if value is not None} or None
    if of.type_name == "list":
        items: list[object] = []
        while (item := read(of.member, f"{prefix}.{len(items) + 1}", flat)) is not None:
            items.append(item)
        return items or None
    return flat.get(prefix)


def render(of: Any, value: Any) -> str:
    """Render a value as the XML of an EC2 response, without the enclosing element."""
    if of.type_name == "structure":
        return "".join(
            f"<{tag}>{render(member, value[name])}</{tag}>"
            for name, member in of.members.items()
            if value.get(name) is not None
            for tag in [member.serialization.get("name", name)]
        )
    if of.type_name == "list":
        # Not always "item": security groups are <groupSet><groupId>.
        tag = of.member.serialization.get("name", "item")
        return "".join(f"<{tag}>{render(of.member, item)}</{tag}>" for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return escape(str(value))


def response(name: str, value: Mapping[str, object], of: str = "") -> tuple[int, dict[str, str], bytes]:
    """Return an operation's successful response: status, headers and body. ``of`` overrides the output shape's name."""
    body = render(shape("ec2", of or f"{name}Result"), value)
    return 200, {"Content-Type": "application/xml"}, _document(name, body)


def page(items: Sequence[object], asked: Mapping[str, Any], most: int) -> tuple[Sequence[Any], dict[str, str]]:
    """Return the items of the requested page, and the ``NextToken`` of the next page, if any."""
    start = int(asked.get("NextToken") or 0)
    end = min(start + min(int(asked.get("MaxResults") or most), most), len(items))
    return items[start:end], {"NextToken": str(end)} if end < len(items) else {}


def _document(name: str, body: str) -> bytes:
    start = f'<?xml version="1.0" encoding="UTF-8"?><{name}Response xmlns="{NAMESPACE}"><requestId>local</requestId>'
    return f"{start}{body}</{name}Response>".encode()


def _parameter(member: Any, name: str) -> str:
    """Return a member's name in a request of the EC2 protocol."""
    named = str(member.serialization.get("name", name))
    return str(member.serialization.get("queryName", named[:1].upper() + named[1:]))


@functools.cache
def shape(service: str, name: str) -> Any:
    """Return a shape from a service's model."""
    session = importlib.import_module("botocore.session").get_session()
    return session.get_service_model(service).shape_for(name)
