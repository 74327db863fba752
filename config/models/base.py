"""What every strategy model shares: frozen, strict about unknown fields, and field types with AWS's limits."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints
from pydantic_core import PydanticCustomError


class StrategyModel(BaseModel):
    """Base of every model in a strategy file: immutable, and an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False)


def refuse_second(values: Sequence[object], field: str, code: str, message: str) -> None:
    """Raise for the first value that stands a second time.

    Args:
        values: what has to be unique.
        field: path of the field at fault, with ``{index}`` in place of its position.
        code: type of the error.
        message: its text, with ``{value}`` in place of the value.
    """
    for index, value in enumerate(values):
        if value in values[:index]:
            raise PydanticCustomError(code, message, {"value": str(value), "field": field.format(index=index)})


def _no_control_characters_or_template(value: str) -> str:
    # A strategy's text ends up in Terraform JSON, where ${ and %{ start an expression.
    if fault := _fault_of_text(value):
        raise PydanticCustomError(*fault)
    return value


def _fault_of_text(value: str, allowed: str = "") -> tuple[str, str] | None:
    if any((ord(character) < 32 or ord(character) == 127) and character not in allowed for character in value):
        return "text_control_character", "contains a control character; remove it"
    if "${" in value or "%{" in value:
        return "text_template", "contains '${' or '%{', which Terraform would evaluate; write it without"
    return None


def _json(value: dict[str, Any]) -> dict[str, Any]:
    for path, fault in _faults_of_json(value, ""):
        raise PydanticCustomError(*fault, {"field": path.lstrip(".")})
    return value


def _faults_of_json(value: Any, path: str) -> Iterator[tuple[str, tuple[str, str]]]:
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                yield path, ("json_key", "has a key that is not text; put it in quotes")
                continue
            if fault := _fault_of_text(key):
                yield path, (fault[0], f"has a key that {fault[1]}")
            yield from _faults_of_json(each, f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{key}]")
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _faults_of_json(each, f"{path}[{index}]")
    elif isinstance(value, str):
        # Configuration files inside a setting have lines and tabs.
        if fault := _fault_of_text(value, allowed="\n\t"):
            yield path, fault
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, ("json_number", "is not a finite number, which JSON lacks")
    elif value is not None and not isinstance(value, bool | int | float):
        yield path, ("json_type", "is neither text, number, true, false, list nor mapping")


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

JsonObject = Annotated[dict[str, Any], AfterValidator(_json)]
"""Settings of any shape that JSON can hold, safe in Terraform JSON."""


def _network(value: str) -> str:
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        raise PydanticCustomError("cidr_invalid", "is not an IPv4 network: {reason}", {"reason": str(error)}) from None
    if value != str(network):  # 10.0.0.0 without a prefix, 10.0.0.0/255.255.0.0, 10.0.0.0/016: AWS takes none of them
        raise PydanticCustomError("cidr_invalid", "has to be written as {cidr}", {"cidr": str(network)})
    return value


Text = Annotated[str, AfterValidator(_no_control_characters_or_template)]
"""Free text that is safe in Terraform JSON."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", min_length=1, max_length=63)]
"""A name of a node group or another item: a DNS label, so that it is also a valid Kubernetes label value."""

ClusterName = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]*$", min_length=1, max_length=100)]
"""EKS: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html (name)."""

Cidr = Annotated[str, AfterValidator(_network)]
"""An IPv4 network such as ``10.0.0.0/16``, host bits zero."""

ZoneId = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,5}[0-9]{1,2}-az[1-8]$")]
"""An availability zone *id* such as ``usw2-az1``. Names (``us-west-2a``) differ between accounts."""

Arn = Annotated[
    str, StringConstraints(pattern=r"^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:([0-9]{12}|aws)?:[A-Za-z0-9+=,.@_:/*-]+$")
]
"""Any ARN; the account of AWS's own policies is ``aws``."""

IamPrincipalArn = Annotated[
    str, StringConstraints(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]+$")
]

IamPolicyArn = Annotated[
    str, StringConstraints(pattern=r"^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[A-Za-z0-9+=,.@_/-]+$")
]

KmsKeyArn = Annotated[str, StringConstraints(pattern=r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$")]

SubnetId = Annotated[str, StringConstraints(pattern=r"^subnet-[0-9a-f]{8,17}$")]
VpcId = Annotated[str, StringConstraints(pattern=r"^vpc-[0-9a-f]{8,17}$")]
InstanceTypeName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]


def _tag_key(value: str) -> str:
    if value.lower().startswith("aws:"):
        raise PydanticCustomError("tag_reserved", "tag keys that start with 'aws:' belong to AWS; choose another")
    return value


Tags = dict[
    Annotated[
        Text,
        StringConstraints(min_length=1, max_length=128, pattern=r"^[\w .:/=+@-]+$"),
        AfterValidator(_tag_key),
    ],
    Annotated[Text, StringConstraints(max_length=256, pattern=r"^[\w .:/=+@-]*$")],
]
"""AWS tags: https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html#tag-conventions."""
