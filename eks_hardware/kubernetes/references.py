"""References to values that only AWS knows, in manifests and chart values.

The ID of a VPC or a file system exists only after the AWS resources are applied. Until then, text such as
``@{vpc_id}`` is the placeholder. With delivery ``helm`` it becomes a Terraform reference. In written files it becomes
``${vpc_id}``, which Flux's ``postBuild.substitute`` and ``envsubst`` replace with the stack's output of that name.

Names that the strategy determines (``known``) are references, too. In Terraform they order the graph, so that a role is
created before the resources that use it, and destroyed after them. In written files they are plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from eks_hardware.resolve import ResolvedStrategy


class Reference(str, Enum):
    """The value that is referred to; ``value`` is also the name of the stack's output.

    Examples:
        >>> values = {"clusterName": Reference.CLUSTER_NAME.text, "fileSystem": Reference.EFS_ID.text}
        >>> values["fileSystem"]
        '@{efs_id}'
    """

    VPC_ID = "vpc_id"
    FSX_ID = "fsx_lustre_id"
    FSX_DNS_NAME = "fsx_lustre_dns_name"
    FSX_MOUNT_NAME = "fsx_lustre_mount_name"
    EFS_ID = "efs_id"
    CLUSTER_NAME = "cluster_name"
    KARPENTER_QUEUE = "karpenter_interruption_queue"
    KARPENTER_NODE_ROLE = "karpenter_node_role_name"
    KARPENTER_INSTANCE_PROFILE = "karpenter_instance_profile_name"

    @property
    def text(self) -> str:
        """The placeholder in manifests and values."""
        return f"@{{{self.value}}}"


_REFERENCE = re.compile(r"@\{(" + "|".join(reference.value for reference in Reference) + r")\}")


def known(resolved: ResolvedStrategy) -> dict[Reference, str]:
    """Return the references whose value follows from the strategy alone."""
    names: dict[Reference, str | None] = {Reference.CLUSTER_NAME: resolved.name}
    if karpenter := resolved.karpenter:
        names[Reference.KARPENTER_QUEUE] = karpenter.queue_name
        names[Reference.KARPENTER_NODE_ROLE] = karpenter.node_role_name
        names[Reference.KARPENTER_INSTANCE_PROFILE] = karpenter.instance_profile_name
    return {reference: name for reference, name in names.items() if name is not None}


def texts(value: object) -> Iterator[str]:
    """Yield every text in nested maps and lists, including keys."""
    if isinstance(value, Mapping):
        for pair in value.items():
            yield from texts(pair)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def references_in(text: str) -> tuple[Reference, ...]:
    """Return the references in a text, without duplicates, sorted by name."""
    return tuple(sorted({Reference(match) for match in _REFERENCE.findall(text)}))


def replaced_in_text(text: str, replacement: Callable[[Reference], str]) -> str:
    """Return ``text`` with every reference replaced."""
    return _REFERENCE.sub(lambda match: replacement(Reference(match[1])), text)


def replaced(value: object, replacement: Callable[[Reference], str]) -> Any:
    """Return a copy of nested maps and lists with every reference in their texts replaced."""
    if isinstance(value, Mapping):
        return {key: replaced(each, replacement) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(item, replacement) for item in value]
    if isinstance(value, str):
        return replaced_in_text(value, replacement)
    return value
