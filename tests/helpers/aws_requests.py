"""Requests to AWS, read with botocore's service models into the parameters of their operations.

Parts that no model knows are kept as ``Unknown``, so that a check can report them. Values in query strings, headers and
forms stay text.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree

Request = Mapping[str, Any]
"""A line of the file that :mod:`eks_hardware.local.emulator_patches.recorded` writes."""

# Signing names that are not the name of botocore's model. Those of load balancers depend on the version.
_MODELS = {
    "elasticfilesystem": "efs",
    "elasticloadbalancing": "elbv2",
    "monitoring": "cloudwatch",
    "servicequotas": "service-quotas",
    "tagging": "resourcegroupstaggingapi",
}


class UnknownOperationError(Exception):
    """The service or operation of a request is not known."""


@dataclass
class Operation:
    """One request.

    Attributes:
        service: botocore's name of the service.
        name: the name of the operation.
        shape: the model of its parameters; None without parameters.
        sent: the parameters, by their names in the model.
        unknown: paths of the parts that the model does not have.
    """

    service: str
    name: str
    shape: Any
    sent: dict[str, Any] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


@functools.cache
def model(service: str) -> Any:
    """Return botocore's model of a service."""
    session = importlib.import_module("botocore.session").get_session()
    try:
        return session.get_service_model(service)
    except importlib.import_module("botocore.exceptions").UnknownServiceError:
        raise UnknownOperationError(f"botocore has no service {service}") from None


def operation(request: Request) -> Operation:
    """Return the operation of a request.

    Raises:
        UnknownOperationError: botocore does not know its service or operation.
    """
    service = _MODELS.get(str(request["service"]), str(request["service"]))
    protocol = model(service).metadata["protocol"]
    if protocol in ("ec2", "query"):
        return _form(service, request, is_ec2=protocol == "ec2")
    if protocol == "json":
        return _json(service, request)
    return _rest(service, request, is_xml=protocol == "rest-xml")


def _named(service: str, name: str) -> Operation:
    if name not in model(service).operation_names:
        raise UnknownOperationError(f"{service} has no operation {name!r}")
    return Operation(service, name, model(service).operation_model(name).input_shape)


# --- forms: EC2, IAM, STS, Auto Scaling


def _form(service: str, request: Request, *, is_ec2: bool) -> Operation:
    tree: dict[str, Any] = {}
    for key, value in parse_qsl(request["body"] or request["query"], keep_blank_values=True):
        *parents, last = key.split(".")
        at = tree
        for each in parents:
            at = at.setdefault(each, {})
        at[last] = _utf8(value)
    found = _named(service, str(tree.pop("Action", "")))
    version = tree.pop("Version", None)
    if version != model(service).api_version:
        raise UnknownOperationError(f"{service} has version {model(service).api_version}, got {version!r}")
    if found.shape is None:
        found.unknown = list(tree)
    else:
        found.sent = _from_tree(found.shape, tree, "", found.unknown, is_ec2=is_ec2)
    return found


def _utf8(value: str) -> str:
    # The body was recorded with a character for each byte; escaped bytes are decoded by parse_qsl.
    try:
        return value.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        return value


def _from_tree(of: Any, tree: Any, path: str, unknown: list[str], *, is_ec2: bool) -> Any:
    """Return the value of a shape. The names of the form were divided at their dots."""
    if of.type_name == "structure" and isinstance(tree, dict):
        names = {_form_name(member, name, is_ec2): name for name, member in of.members.items()}
        unknown += [f"{path}{each}" for each in tree if each not in names]
        return {
            names[each]: _from_tree(of.members[names[each]], value, f"{path}{names[each]}.", unknown, is_ec2=is_ec2)
            for each, value in tree.items()
            if each in names
        }
    if of.type_name == "list" and isinstance(tree, dict):
        if not is_ec2 and not of.serialization.get("flattened"):
            tree = tree.get(of.member.serialization.get("name", "member"), tree)
        items = [tree[each] for each in sorted(tree, key=lambda each: int(each) if each.isdigit() else 0)]
        unknown += [f"{path}{each}" for each in tree if not each.isdigit()]
        return [_from_tree(of.member, each, path, unknown, is_ec2=is_ec2) for each in items]
    if of.type_name == "list" and tree == "":
        return []
    if of.type_name == "map" and isinstance(tree, dict):
        entries = tree.get("entry", tree).values()
        return {
            each.get("key"): _from_tree(of.value, each.get("value"), path, unknown, is_ec2=is_ec2) for each in entries
        }
    return tree


def _form_name(member: Any, name: str, is_ec2: bool) -> str:
    named = str(member.serialization.get("name", name))
    if is_ec2:
        return str(member.serialization.get("queryName", named[:1].upper() + named[1:]))
    if member.type_name == "list" and member.serialization.get("flattened"):
        return str(member.member.serialization.get("name", named))
    return named


# --- JSON: CloudWatch Logs, DynamoDB, EventBridge, FSx, KMS, SQS, SSM


def _json(service: str, request: Request) -> Operation:
    prefix, _, name = request["headers"].get("x-amz-target", "").rpartition(".")
    if prefix != model(service).metadata["targetPrefix"]:
        raise UnknownOperationError(
            f"{service} has the prefix {model(service).metadata['targetPrefix']}, got {prefix!r}"
        )
    found = _named(service, name)
    body = json.loads(request["body"].encode("latin-1") or b"{}")
    if found.shape is None:
        found.unknown = list(body)
    else:
        found.sent = _from_json(found.shape, body, "", found.unknown)
    return found


def _from_json(of: Any, value: Any, path: str, unknown: list[str]) -> Any:
    if of.type_name == "structure" and isinstance(value, dict) and not getattr(of, "is_document_type", False):
        names = {str(member.serialization.get("name", name)): name for name, member in of.members.items()}
        unknown += [f"{path}{each}" for each in value if each not in names]
        return {
            names[each]: _from_json(of.members[names[each]], item, f"{path}{names[each]}.", unknown)
            for each, item in value.items()
            # The Go SDK sends no null; other clients may, which is the same as nothing.
            if each in names and item is not None
        }
    if of.type_name == "list" and isinstance(value, list):
        return [_from_json(of.member, each, path, unknown) for each in value]
    if of.type_name == "map" and isinstance(value, dict):
        return {key: _from_json(of.value, each, path, unknown) for key, each in value.items()}
    return value


# --- REST: EKS, EFS, S3


@dataclass(frozen=True)
class _Route:
    name: str
    method: str
    path: re.Pattern[str]
    labels: tuple[str, ...]
    query: Mapping[str, str]
    required: frozenset[str]  # names of headers and of parameters in the query

    def match(self, request: Request, query: Mapping[str, str]) -> re.Match[str] | None:
        """Return the labels of a request's path; None for another operation."""
        if request["method"] != self.method or not self.query.items() <= query.items():
            return None
        return self.path.fullmatch(request["path"])


@functools.cache
def _routes(service: str) -> list[_Route]:
    found = []
    for name in model(service).operation_names:
        http = model(service).operation_model(name).http
        path, _, query = http["requestUri"].partition("?")
        pattern = re.sub(
            r"\\\{([^}]+?)\\\}", lambda label: "(.+)" if label[1].endswith(r"\+") else "([^/]*)", re.escape(path)
        )
        labels = tuple(each.rstrip("+") for each in re.findall(r"\{([^}]+)\}", path))
        wanted = dict(parse_qsl(query, keep_blank_values=True))
        shape = model(service).operation_model(name).input_shape
        required = [shape.members[each].serialization for each in shape.required_members] if shape else []
        names = frozenset(
            each["name"].lower() for each in required if each.get("location") in ("header", "querystring")
        )
        found.append(_Route(name, http["method"], re.compile(pattern + "/?"), labels, wanted, names))
    # The one with the most fixed parts of the query first: GET /bucket?policy is not GET /bucket. Deprecated ones last.
    deprecated = {each.name for each in found if model(service).operation_model(each.name).deprecated}
    return sorted(found, key=lambda route: (-len(route.query), len(route.labels), route.name in deprecated))


def _rest(service: str, request: Request, *, is_xml: bool) -> Operation:
    query = parse_qsl(request["query"], keep_blank_values=True)
    matching = [(route, match) for route in _routes(service) if (match := route.match(request, dict(query)))]
    if not matching:
        raise UnknownOperationError(
            f"{service} has no operation {request['method']} {request['path']}?{request['query']}"
        )
    # A copy of an object differs from a new object only in a header.
    given = {name.lower() for name in (*request["headers"], *dict(query))}
    route, match = min(matching, key=lambda each: len(each[0].required - given))
    found = _named(service, route.name)
    labels = dict(zip(route.labels, map(unquote, match.groups()), strict=True))
    members = dict(found.shape.members) if found.shape else {}
    places = {
        name: (each.serialization.get("location"), each.serialization.get("name", name))
        for name, each in members.items()
    }
    for name, (place, wire) in places.items():
        if place == "uri":
            found.sent[name] = labels[wire]
        elif place == "querystring" and (values := [value for key, value in query if key == wire]):
            found.sent[name] = values if members[name].type_name == "list" else values[-1]
        elif place == "header" and wire.lower() in request["headers"]:
            found.sent[name] = request["headers"][wire.lower()]
        elif place == "headers":
            start = wire.lower()
            found.sent[name] = {key: value for key, value in request["headers"].items() if key.startswith(start)}
    known = {wire for place, wire in places.values() if place == "querystring"} | {*route.query, "x-id"}
    takes_any = any(place == "querystring" and members[name].type_name == "map" for name, (place, _) in places.items())
    found.unknown += [] if takes_any else [f"?{key}" for key, _ in query if key not in known]
    _body(found, request["body"].encode("latin-1"), is_xml=is_xml)
    return found


def _body(found: Operation, body: bytes, *, is_xml: bool) -> None:
    if not body or found.shape is None:
        found.unknown += ["body"] if body.strip(b"{} \n") else []
        return
    payload = found.shape.serialization.get("payload")
    of = found.shape.members[payload] if payload else found.shape
    if of.type_name != "structure":
        found.sent[str(payload)] = body.decode("utf-8", errors="replace")
        return
    if is_xml:
        value = _from_xml(of, ElementTree.fromstring(body), "", found.unknown)
    else:
        value = _from_json(of, json.loads(body), "", found.unknown)
    found.sent.update({payload: value} if payload else value)


def _from_xml(of: Any, element: ElementTree.Element, path: str, unknown: list[str]) -> Any:
    if of.type_name == "structure":
        names = {_xml_name(member, name): name for name, member in of.members.items()}
        sent: dict[str, Any] = {}
        for wire, child in _children(element):
            name = names.get(wire)
            if name is None:
                unknown.append(f"{path}{wire}")
            elif of.members[name].type_name == "list" and of.members[name].serialization.get("flattened"):
                sent.setdefault(name, []).append(_from_xml(of.members[name].member, child, f"{path}{name}.", unknown))
            else:
                sent[name] = _from_xml(of.members[name], child, f"{path}{name}.", unknown)
        return sent
    if of.type_name == "list":
        item = of.member.serialization.get("name", "member")
        unknown += [f"{path}{wire}" for wire, _ in _children(element) if wire != item]
        return [_from_xml(of.member, child, path, unknown) for wire, child in _children(element) if wire == item]
    return element.text or ""


def _xml_name(member: Any, name: str) -> str:
    if member.type_name == "list" and member.serialization.get("flattened"):
        return str(member.serialization.get("name") or member.member.serialization.get("name", name))
    return str(member.serialization.get("name", name))


def _children(element: ElementTree.Element) -> Iterator[tuple[str, ElementTree.Element]]:
    for child in element:
        yield child.tag.rpartition("}")[2], child
