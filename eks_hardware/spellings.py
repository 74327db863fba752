"""Words that strategies use, and their spellings in EKS, Karpenter and EC2: tasks, capacity types, taint effects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

Task = Literal["training", "fine-tuning", "inference", "development"]
Method = Literal["full", "lora", "qlora"]
Priority = Literal["cost", "balanced", "performance"]
Software = Literal["any", "supported", "mature"]

Precision = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4", "int8"]
"""Number formats for computations, in display order."""

WeightFormat = Literal["fp32", "fp16", "bf16", "fp8", "nvfp4", "mxfp4", "int8", "int4"]
"""Number formats for weights, in display order."""

TRAINED_FORMATS: tuple[WeightFormat, ...] = ("fp32", "fp16", "bf16", "fp8")
"""Weight formats for training; with fp8, the weights have 16 bits and are multiplied in FP8."""

DEFAULT_FORMAT: WeightFormat = "bf16"
DEFAULT_TASK: Task = "inference"
DEFAULT_PRIORITY: Priority = "balanced"

Capacity = Literal["on-demand", "spot", "reserved", "capacity-block"]
"""A purchase option, as strategies spell it."""

RESERVED = frozenset({"reserved", "capacity-block"})
"""Purchase options that need a reservation."""


class CapacityNames(NamedTuple):
    """The names of one purchase option.

    Attributes:
        eks: ``capacityType`` of the EKS API. A reservation is On-Demand capacity with a target.
        karpenter: ``karpenter.sh/capacity-type``. A Capacity Block is a kind of reservation:
            https://karpenter.sh/docs/concepts/nodeclasses/#speccapacityreservationselectorterms
        usage_class: EC2's usage class, used by quotas and ``SupportedUsageClasses``.
        words: the name in a sentence.
    """

    eks: str
    karpenter: str
    usage_class: str
    words: str


CAPACITY: Mapping[str, CapacityNames] = MappingProxyType(
    {
        "on-demand": CapacityNames("ON_DEMAND", "on-demand", "on-demand", "On-Demand"),
        "spot": CapacityNames("SPOT", "spot", "spot", "Spot"),
        "reserved": CapacityNames("ON_DEMAND", "reserved", "on-demand", "reserved"),
        "capacity-block": CapacityNames("CAPACITY_BLOCK", "reserved", "capacity-block", "Capacity Block"),
    }
)
"""Names of each purchase option, by its spelling in strategies."""


def capacity_words(capacities: Iterable[str]) -> str:
    """Return the names of capacity types, joined for use in a sentence.

    >>> capacity_words(["spot", "on-demand"])
    'Spot or On-Demand'
    """
    return " or ".join(CAPACITY[capacity].words for capacity in capacities)


def capacity_of_eks(name: str) -> str:
    """Return the strategy's spelling of an EKS ``capacityType``; an unknown type is unchanged."""
    return next((ours for ours, names in CAPACITY.items() if names.eks == name), name)


FSX_DEPLOYMENTS = {"persistent-2": "PERSISTENT_2", "scratch-2": "SCRATCH_2"}
"""Deployment types of the FSx API, by their spelling in strategies."""


def of_api(word: str) -> str:
    """Return the strategy's spelling of an AWS API value; any other value in lower case.

    >>> of_api("PERSISTENT_2"), of_api("ON_DEMAND"), of_api("STANDARD")
    ('persistent-2', 'on-demand', 'standard')
    """
    deployment = next((ours for ours, api in FSX_DEPLOYMENTS.items() if api == word), None)
    return deployment or capacity_of_eks(word).lower()


# The EKS API's spelling -> Kubernetes' (https://github.com/awsdocs/amazon-eks-user-guide/pull/618).
_KUBERNETES_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
TAINT_EFFECTS = tuple(_KUBERNETES_EFFECTS.values())
"""Taint effects in the Kubernetes spelling."""
_EKS_EFFECTS = {kubernetes: eks for eks, kubernetes in _KUBERNETES_EFFECTS.items()}


EBS_CLASS = "gp3"
"""Name of the default storage class: an encrypted EBS volume."""
EFS_CLASS = "efs"
"""Name of the EFS storage class; each claim gets its own directory in the file system."""
LUSTRE_CLASS = "fsx-lustre"
"""Name of the Lustre volume, and of the storage class that its claim requests."""

DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
"""The format of most Kubernetes names, which also have at most 63 characters."""

KUBERNETES_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
"""Values of the label ``kubernetes.io/arch``, by EC2's architecture name."""


def eks_effect(effect: str) -> str:
    """Return a taint effect in the EKS API's spelling."""
    return _EKS_EFFECTS.get(effect, effect)


def kubernetes_effect(effect: str) -> str:
    """Return a taint effect in the Kubernetes spelling."""
    return _KUBERNETES_EFFECTS.get(effect, effect)


def keeps_pods_off(effect: str) -> bool:
    """Return whether a taint with this effect, in either spelling, keeps off pods that do not tolerate it."""
    return kubernetes_effect(effect) != "PreferNoSchedule"
