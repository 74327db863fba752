"""Make the emulator store all fields that it receives.

``ministack`` 1.5 drops fields of launch templates, node groups, clusters and flow logs. EFA could not be read back, and
every plan after a deployment would replace the node groups. These patches read and write the fields with botocore's
service models. This file runs inside the emulator's process, by path, and imports nothing of this project.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import escape

_PREFIX = "LaunchTemplateData"
_IDLE_SECONDS = 600
_MOST_REQUESTS = 1_000_000
_KEPT_ANSWERS = 2000
# In addition to ministack's own fields, from which it starts instances.
_SENT = "__sent"


def install() -> None:
    """Patch the functions of ministack that store and return these resources.

    If ministack renamed one of them, nothing is changed: that version may not need the patches.
    """
    _keep_connections()
    server: Any = importlib.import_module("ministack.app")
    if hasattr(server, "app"):
        server.app = answered_once(server.app)
    ec2 = vars(importlib.import_module("ministack.services.ec2"))
    if {"_parse_lt_data", "_lt_data_xml", "_p"} <= ec2.keys():
        _complete_launch_templates(ec2)
    if {"_ACTION_MAP", "_flow_logs", "_p", "_parse_tag_specs"} <= ec2.keys():
        _complete_flow_logs(ec2)
    if {"_ACTION_MAP", "_p"} <= ec2.keys():
        _repeat_answers(ec2["_ACTION_MAP"], ec2["_p"])
    eks = vars(importlib.import_module("ministack.services.eks"))
    if {"_create_cluster", "_clusters"} <= eks.keys():
        _complete_eks(eks, "_create_cluster", "Cluster", lambda body: eks["_clusters"].get(body.get("name")))
    if {"_create_nodegroup", "_nodegroups"} <= eks.keys():
        _complete_eks(
            eks,
            "_create_nodegroup",
            "Nodegroup",
            lambda cluster, body: eks["_nodegroups"].get(f"{cluster}/{body.get('nodegroupName')}"),
        )


def _keep_connections() -> None:
    """Let the client close idle connections.

    ministack closes one after 75 s, the provider's client after 90 s. The client repeats a call in between, which
    creates a resource without a client token twice. Source:
    https://github.com/aws/aws-sdk-go-v2/blob/main/aws/transport/http/client.go (idle connection timeout)
    """
    config = importlib.import_module("hypercorn.config").Config
    # ministack sets its own value on the instance.
    config.keep_alive_timeout = property(lambda _: _IDLE_SECONDS, lambda _, __: None)
    config.keep_alive_max_requests = _MOST_REQUESTS


def answered_once(app: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an ASGI application: a repeated call of an AWS SDK gets the first response.

    An SDK repeats a call after a broken connection, with the same invocation id.
    Source: https://github.com/aws/aws-sdk-go-v2/blob/main/aws/retry/middleware.go (amz-sdk-invocation-id)
    """
    answers: dict[bytes, asyncio.Future[list[Any]]] = {}

    async def once(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or ()) if scope["type"] == "http" else {}
        key = headers.get(b"amz-sdk-invocation-id")
        if key is None:
            await app(scope, receive, send)
            return
        if key in answers and (known := await asyncio.shield(answers[key])):
            for message in known:
                await send(message)
            return
        answers[key] = asyncio.get_running_loop().create_future()
        while len(answers) > _KEPT_ANSWERS:
            answers.pop(next(iter(answers)))
        sent: list[Any] = []

        async def keep(message: Any) -> None:
            sent.append(message)
            await send(message)

        answer = answers[key]
        try:
            await app(scope, receive, keep)
        finally:
            # Incomplete responses and server errors are not stored.
            whole = bool(sent) and not sent[-1].get("more_body", False) and sent[0].get("status", 500) < 500
            answer.set_result(sent if whole else [])

    return once


def _repeat_answers(actions: dict[str, Callable[..., Any]], value_of: Callable[..., Any]) -> None:
    """Return the first response for a repeated EC2 create call, as EC2 does for one client token.

    The provider's client repeats a call after a broken connection, and ministack then reports that the name is taken.
    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
    """
    answers: dict[tuple[str, str], Any] = {}

    def once(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
        def create(params: Mapping[str, Any], *arguments: Any) -> Any:
            key = (name, str(value_of(params, "ClientToken") or ""))
            if key[1] and key in answers:
                return answers[key]
            answer = own(params, *arguments)
            # status, headers, body: errors are not stored.
            if key[1] and isinstance(answer, tuple) and answer[0] < 300:
                answers[key] = answer
            return answer

        return create

    actions.update({name: once(name, own) for name, own in actions.items() if name.startswith("Create")})


def _complete_launch_templates(ec2: dict[str, Any]) -> None:
    own_parse, own_write, value_of = ec2["_parse_lt_data"], ec2["_lt_data_xml"], ec2["_p"]

    def parse(params: Mapping[str, Any], prefix: str = _PREFIX) -> dict[str, Any]:
        flat = {name: value_of(params, name) for name in params if name.startswith(prefix + ".")}
        sent = read(_shape("ec2", "RequestLaunchTemplateData"), prefix, flat)
        return {**own_parse(params, prefix), _SENT: sent or {}}

    def write(data: dict[str, Any]) -> str:
        if _SENT not in data:
            return str(own_write(data))
        return render(_shape("ec2", "ResponseLaunchTemplateData"), data[_SENT])

    ec2.update(_parse_lt_data=parse, _lt_data_xml=write)


def _complete_flow_logs(ec2: dict[str, Any]) -> None:
    actions, stored, value_of = ec2["_ACTION_MAP"], ec2["_flow_logs"], ec2["_p"]
    own_create, own_describe = actions["CreateFlowLogs"], actions["DescribeFlowLogs"]
    fields = ("DeliverLogsPermissionArn", "MaxAggregationInterval")

    def create(params: Mapping[str, Any]) -> Any:
        known = set(stored)
        answer = own_create(params)
        sent = {name: value_of(params, name) for name in fields if value_of(params, name)}
        for identity in set(stored) - known:
            stored[identity][_SENT] = sent
            # ministack looks for tags of a "flow-log".
            ec2["_parse_tag_specs"](params, "vpc-flow-log", identity)
        return answer

    def describe(params: Mapping[str, Any]) -> Any:
        status, headers, body = own_describe(params)
        for identity, record in stored.items():
            tag = f"<flowLogId>{identity}</flowLogId>".encode()
            body = body.replace(tag, tag + render(_shape("ec2", "FlowLog"), record.get(_SENT, {})).encode())
        return status, headers, body

    actions.update(CreateFlowLogs=create, DescribeFlowLogs=describe)


def _complete_eks(eks: dict[str, Any], name: str, shape: str, stored: Callable[..., dict[str, Any] | None]) -> None:
    """Add the fields of a create call that ministack did not store."""
    own = eks[name]

    def create(*arguments: Any, **options: Any) -> Any:
        body = next(argument for argument in arguments if isinstance(argument, dict))
        existed = stored(*arguments[: arguments.index(body) + 1]) is not None
        answer = own(*arguments, **options)
        record = stored(*arguments[: arguments.index(body) + 1])
        if record is not None and not existed:
            members = _shape("eks", shape).members
            for field, value in body.items():
                if field in members:
                    record.setdefault(field, value)
        return answer

    eks[name] = create


def read(shape: Any, prefix: str, flat: Mapping[str, str]) -> Any:
    """Return the value of a botocore shape in the flat parameters of an EC2 request, ``None`` for no value.

    Parameters are called ``LaunchTemplateData.NetworkInterface.1.InterfaceType`` and so on; ``prefix`` is the name so
    far.
    """
    if shape.type_name == "structure":
        found = {
            name: read(member, f"{prefix}.{_parameter(member, name)}", flat) for name, member in shape.members.items()
        }
        return {name: value for name, value in found.items() if value is not None} or None
    if shape.type_name == "list":
        items: list[Any] = []
        while (item := read(shape.member, f"{prefix}.{len(items) + 1}", flat)) is not None:
            items.append(item)
        return items or None
    return flat.get(prefix)


def render(shape: Any, value: Any) -> str:
    """Return a value as the XML of an EC2 response, without the element around it."""
    if shape.type_name == "structure":
        return "".join(
            f"<{tag}>{render(member, value[name])}</{tag}>"
            for name, member in shape.members.items()
            if name in value
            for tag in [member.serialization.get("name", name)]
        )
    if shape.type_name == "list":
        # Not always "item": security groups are <groupSet><groupId>.
        tag = shape.member.serialization.get("name", "item")
        return "".join(f"<{tag}>{render(shape.member, item)}</{tag}>" for item in value)
    return escape(str(value))


def _parameter(member: Any, name: str) -> str:
    """Return a member's name in a request of the EC2 protocol."""
    named = str(member.serialization.get("name", name))
    return str(member.serialization.get("queryName", named[:1].upper() + named[1:]))


@functools.cache
def _shape(service: str, name: str) -> Any:
    session = importlib.import_module("botocore.session").get_session()
    return session.get_service_model(service).shape_for(name)
