"""Make the emulator store all fields that it receives, and behave like AWS for nodes.

``ministack`` 1.5 drops fields of launch templates, node groups, clusters and flow logs. Without these fields, EFA could
not be read back, and every plan after a deployment would replace the node groups. These patches read and write the
fields with botocore's service models. Karpenter and nodes need the modules :mod:`.ec2_instances`, :mod:`.ec2_offers`,
:mod:`.ec2_reservations`, :mod:`.events` and :mod:`.eks_nodes`; a cluster's users need :mod:`.eks_access`. All
run inside the emulator's process.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eks_hardware.local.emulator import REQUESTS_VARIABLE
from eks_hardware.local.emulator_patches import (
    control,
    ec2_instances,
    ec2_offers,
    ec2_refusals,
    ec2_vpc_cidrs,
    eks_access,
    eks_nodes,
    eks_refusals,
    failures,
    fsx,
    in_use,
    limits,
    price_list,
)
from eks_hardware.local.emulator_patches.ec2_protocol import SENT, read, render, shape
from eks_hardware.local.emulator_patches.recorded import recorded

_PREFIX = "LaunchTemplateData"
_IDLE_SECONDS = 600
_MOST_REQUESTS = 1_000_000
_KEPT_ANSWERS = 2000


def install() -> None:
    """Patch the functions of ministack that store and return these resources.

    A patch is skipped if ministack renamed a function that it needs: that version may not need the patch.
    """
    _keep_connections()
    server: Any = importlib.import_module("ministack.app")
    if hasattr(server, "app"):
        server.app = control.controlled(
            failures.sometimes_failing(fsx.with_fsx(price_list.priced(answered_once(server.app))))
        )
        if requests := os.environ.get(REQUESTS_VARIABLE):
            server.app = recorded(server.app, Path(requests))
    ec2 = vars(importlib.import_module("ministack.services.ec2"))
    if {"_parse_lt_data", "_lt_data_xml", "_p"} <= ec2.keys():
        _complete_launch_templates(ec2)
    if {"_ACTION_MAP", "_flow_logs", "_p", "_parse_tag_specs"} <= ec2.keys():
        _complete_flow_logs(ec2)
    if {"_ACTION_MAP", "_addresses", "_nat_gateways"} <= ec2.keys():
        _complete_nat_gateways(ec2)
    ssm = vars(importlib.import_module("ministack.services.ssm"))
    eks = vars(importlib.import_module("ministack.services.eks"))
    if whole := {*ec2_instances.NAMES, *ec2_offers.NAMES, *eks_nodes.EC2_NAMES} <= ec2.keys():
        ec2_offers.install(ec2, ssm)
        ec2_instances.install(ec2)
    if ec2.keys() >= ec2_vpc_cidrs.NAMES:
        ec2_vpc_cidrs.install(ec2)
    if ec2.keys() >= ec2_refusals.NAMES:
        ec2_refusals.install(ec2)
    if {"_ACTION_MAP", "_p"} <= ec2.keys():
        _repeat_answers(ec2["_ACTION_MAP"], ec2["_p"])
    if {"_create_cluster", "_clusters"} <= eks.keys():
        _complete_eks(eks, "_create_cluster", "Cluster", lambda body: eks["_clusters"].get(body.get("name")))
    if {"_create_nodegroup", "_nodegroups"} <= eks.keys():
        _complete_eks(
            eks,
            "_create_nodegroup",
            "Nodegroup",
            lambda cluster, body: eks["_nodegroups"].get(f"{cluster}/{body.get('nodegroupName')}"),
        )
    if whole and eks.keys() >= eks_nodes.NAMES:
        eks_nodes.install(eks, ec2)
    if eks.keys() >= eks_refusals.NAMES and ec2.keys() >= eks_refusals.EC2_NAMES:
        eks_refusals.install(eks, ec2)
    if ec2.keys() >= in_use.NAMES:
        in_use.install(ec2, eks)
    limits.install(ec2, vars(importlib.import_module("ministack.services.iam")), eks)
    if eks.keys() >= eks_access.NAMES:
        eks_access.install(eks)


def _keep_connections() -> None:
    """Keep idle connections open until the client closes them.

    ministack closes an idle connection after 75 s, the provider's client after 90 s. A call between these times fails,
    and the client repeats it. A create call without a client token then creates the resource twice. Source:
    https://github.com/aws/aws-sdk-go-v2/blob/main/aws/transport/http/client.go (idle connection timeout)
    """
    config = importlib.import_module("hypercorn.config").Config
    # A property, because ministack sets its own value on the instance.
    config.keep_alive_timeout = property(lambda _: _IDLE_SECONDS, lambda _, __: None)
    config.keep_alive_max_requests = _MOST_REQUESTS


def answered_once(app: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an ASGI application: a call that an AWS SDK repeats gets the first response.

    After a broken connection, an SDK repeats a call with the same invocation id.
    Source: https://github.com/aws/aws-sdk-go-v2/blob/main/aws/retry/middleware.go (amz-sdk-invocation-id)
    """
    answers: dict[bytes, asyncio.Future[list[object]]] = {}

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

        async def keep(message: object) -> None:
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


def _repeat_answers(actions: dict[str, Callable[..., object]], value_of: Callable[..., object]) -> None:
    """Return the first response for a repeated EC2 create call, as EC2 does for the same client token.

    The provider's client repeats a call after a broken connection, and ministack then reports that the name is taken.
    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
    """
    answers: dict[tuple[str, str], object] = {}

    def once(name: str, own: Callable[..., object]) -> Callable[..., object]:
        def create(params: Mapping[str, object], *arguments: object) -> object:
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

    def parse(params: Mapping[str, Any], prefix: str = _PREFIX) -> dict[str, object]:
        flat = {name: value_of(params, name) for name in params if name.startswith(prefix + ".")}
        sent = read(shape("ec2", "RequestLaunchTemplateData"), prefix, flat)
        return {**own_parse(params, prefix), SENT: sent or {}}

    def write(data: dict[str, object]) -> str:
        if SENT not in data:
            return str(own_write(data))
        return render(shape("ec2", "ResponseLaunchTemplateData"), data[SENT])

    ec2.update(_parse_lt_data=parse, _lt_data_xml=write)


def _complete_flow_logs(ec2: dict[str, Any]) -> None:
    actions, stored, value_of = ec2["_ACTION_MAP"], ec2["_flow_logs"], ec2["_p"]
    own_create, own_describe = actions["CreateFlowLogs"], actions["DescribeFlowLogs"]
    fields = ("DeliverLogsPermissionArn", "MaxAggregationInterval")

    def create(params: Mapping[str, object]) -> object:
        known = set(stored)
        answer = own_create(params)
        sent = {name: value_of(params, name) for name in fields if value_of(params, name)}
        for identity in set(stored) - known:
            stored[identity][SENT] = sent
            # ministack looks for tags of a "flow-log".
            ec2["_parse_tag_specs"](params, "vpc-flow-log", identity)
        return answer

    def describe(params: Mapping[str, object]) -> object:
        status, headers, body = own_describe(params)
        for identity, record in stored.items():
            tag = f"<flowLogId>{identity}</flowLogId>".encode()
            body = body.replace(tag, tag + render(shape("ec2", "FlowLog"), record.get(SENT, {})).encode())
        return status, headers, body

    actions.update(CreateFlowLogs=create, DescribeFlowLogs=describe)


def _complete_nat_gateways(ec2: dict[str, Any]) -> None:
    """Describe the address of each NAT gateway, which ministack leaves out.

    Without it, Terraform replaces every NAT gateway that was imported.
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NatGatewayAddress.html
    """
    own_describe = ec2["_ACTION_MAP"]["DescribeNatGateways"]

    def described(record: Mapping[str, str]) -> bytes:
        address = ec2["_addresses"].get(record["AllocationId"])
        if address is None:
            return b""
        fields = {name: address[name] for name in ("AllocationId", "PublicIp")}
        items = [{**fields, "IsPrimary": True, "Status": "succeeded"}]
        return render(shape("ec2", "NatGateway"), {"NatGatewayAddresses": items}).encode()

    def describe(params: Mapping[str, object]) -> object:
        status, headers, body = own_describe(params)
        body = body.replace(b"<natGatewayAddressSet/>", b"")
        for identity, record in ec2["_nat_gateways"].items():
            tag = f"<natGatewayId>{identity}</natGatewayId>".encode()
            body = body.replace(tag, tag + described(record))
        return status, headers, body

    ec2["_ACTION_MAP"]["DescribeNatGateways"] = describe


def _complete_eks(eks: dict[str, Any], name: str, of: str, stored: Callable[..., dict[str, object] | None]) -> None:
    """Add the fields of a create call that ministack did not store."""
    own = eks[name]

    def create(*arguments: object, **options: object) -> object:
        body = next(argument for argument in arguments if isinstance(argument, dict))
        existed = stored(*arguments[: arguments.index(body) + 1]) is not None
        answer = own(*arguments, **options)
        record = stored(*arguments[: arguments.index(body) + 1])
        if record is not None and not existed:
            members = shape("eks", of).members
            for field, value in body.items():
                if field in members:
                    record.setdefault(field, value)
        return answer

    eks[name] = create
