"""What every strategy model shares: frozen, strict about unknown fields, and field types with AWS's limits."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints
from pydantic_core import PydanticCustomError


class StrategyModel(BaseModel):
    """Base of every model in a strategy file: immutable, and an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False)


def _no_control_characters_or_template(value: str) -> str:
    # A strategy's text ends up in Terraform JSON, where ${ and %{ start an expression.
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise PydanticCustomError("text_control_character", "contains a control character; remove it")
    if "${" in value or "%{" in value:
        raise PydanticCustomError(
            "text_template", "contains '${' or '%{', which Terraform would evaluate; write it without"
        )
    return value


def _network(value: str) -> str:
    try:
        ipaddress.IPv4Network(value)
    except ValueError as error:
        raise PydanticCustomError("cidr_invalid", "is not an IPv4 network: {reason}", {"reason": str(error)}) from None
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

Arn = Annotated[str, StringConstraints(pattern=r"^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:[A-Za-z0-9+=,.@_:/*-]+$")]

IamPrincipalArn = Annotated[
    str, StringConstraints(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]+$")
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
