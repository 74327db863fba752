"""``kubernetes``: charts and objects on the cluster, and how they are installed."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from eks_hardware import facts
from eks_hardware.models.base import JsonObject, Name, StrategyModel, Text, invalid, refuse_second_name
from eks_hardware.models.nodes import Quantity
from eks_hardware.models.text_patterns import pattern
from eks_hardware.suggestions import close, question

ChartName = Literal[
    "aws-efa-k8s-device-plugin",
    "aws-load-balancer-controller",
    "cluster-autoscaler",
    "dcgm-exporter",
    "gpu-operator",
    "karpenter",
    "karpenter-crd",
    "kube-prometheus-stack",
    "kueue",
    "neuron-helm-chart",
    "nvidia-device-plugin",
]


class Chart(StrategyModel):
    """Settings of one Helm chart.

    Examples:
        >>> Chart(version="1.14.1").version
        '1.14.1'
        >>> Chart(values={"replicas": 2}).values
        {'replicas': 2}
    """

    version: (
        Annotated[str, pattern(r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.-]+)?$", "a chart version such as 1.14.1")]
        | None
    ) = Field(default=None, description="Exact chart version; default: the version that eks-hardware pins.")
    repository: (
        Annotated[
            Text,
            pattern(
                r"^(https|oci)://[^ /?#@]+([/?#][^ ]*)?$",
                "an https:// or oci:// URL of a chart repository",
                max_length=512,
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="URL of the chart's repository, such as a mirror in ECR. Omit the chart's name. Omit credentials: "
        "they would be stored in the state.",
    )
    values: JsonObject = Field(
        default_factory=dict, examples=[{"replicas": 2}], description="Chart values, merged over the derived ones."
    )


class ContainerDefaults(StrategyModel):
    """Defaults for containers that set no requests or limits.

    Examples:
        >>> ContainerDefaults(requests={"cpu": "100m"}).requests["cpu"]
        '100m'
    """

    requests: dict[Literal["cpu", "memory"], Quantity] = Field(
        default_factory=dict, examples=[{"cpu": "500m", "memory": "1Gi"}], description="Default requests."
    )
    limits: dict[Literal["cpu", "memory"], Quantity] = Field(
        default_factory=dict, examples=[{"memory": "2Gi"}], description="Default limits."
    )


COUNTED_OBJECTS = ("pods", "persistentvolumeclaims")
"""Resources whose quota limits the number of objects. Any other quota limits the sum of the pods' requests."""

_QUOTA_NAMES = (
    "cpu",
    "memory",
    *COUNTED_OBJECTS,
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "vpc.amazonaws.com/efa",
)
_MIG_SLICE = r"^nvidia\.com/mig-[0-9]+g\.[0-9]+gb$"


def _quota_name(name: str) -> str:
    if name in _QUOTA_NAMES or re.fullmatch(_MIG_SLICE, name):
        return name
    prefix, _, resource = name.partition(".")
    if prefix in ("requests", "limits") and (resource in _QUOTA_NAMES or re.fullmatch(_MIG_SLICE, resource)):
        counted = "" if prefix == "requests" else ", not limits,"
        raise invalid(
            "field_value",
            f"a quota limits requests{counted} and uses the plain resource name, got {name}; write {resource}",
        )
    meant = close(name, _QUOTA_NAMES)
    hint = question(meant) if meant else "limit others with a ResourceQuota of your own"
    known = f"{', '.join(_QUOTA_NAMES)}, or a slice such as nvidia.com/mig-1g.10gb"
    raise invalid("field_value", f"must be one of {known}, got {name}; {hint}")


# Not a union of a Literal and a pattern: pydantic would report two incomplete errors.
QuotaName = Annotated[str, AfterValidator(_quota_name)]


class Team(StrategyModel):
    """A namespace with a quota.

    Examples:
        >>> Team(name="research", quota={"nvidia.com/gpu": 8}).name
        'research'
    """

    name: Name = Field(description="Namespace.")
    quota: dict[QuotaName, Quantity | int] = Field(
        default_factory=dict,
        examples=[{"nvidia.com/gpu": 8}],
        description="Maximum total of requests of all pods in the namespace, by the resource names that nodes "
        "advertise: nvidia.com/gpu.shared and nvidia.com/mig-1g.10gb for shared GPUs.",
        json_schema_extra={"propertyNames": {"anyOf": [{"enum": list(_QUOTA_NAMES)}, {"pattern": _MIG_SLICE}]}},
    )
    container_defaults: ContainerDefaults = Field(
        default=ContainerDefaults(),
        description="Requests and limits for containers that set none (LimitRange).",
    )


_DELIVERY = facts.choices()["kubernetes_delivery"]


class KubernetesSpec(StrategyModel):
    """Charts and objects on the cluster. Device plugins and Karpenter are installed as the hardware requires.

    Examples:
        >>> KubernetesSpec(delivery="manifests", prometheus=True).stack
        'same'
    """

    delivery: Literal["helm", "manifests"] = Field(
        default=_DELIVERY["delivery"],
        description="'helm': Terraform installs the charts. 'manifests': Terraform does not access the cluster; "
        "eks-hardware writes manifests and chart values for Argo CD, Flux or kubectl.",
    )
    stack: Literal["same", "separate"] = Field(
        default=_DELIVERY["stack"],
        description="'separate' puts the charts into a second stack, <name>-kubernetes, for a plan runner without "
        "access to the Kubernetes API.",
    )
    charts: dict[ChartName, Chart] = Field(
        default_factory=dict,
        examples=[{"kueue": {"version": "0.19.2"}}],
        description="Version, repository or values of individual charts.",
    )
    gpu_operator: bool = Field(
        default=False,
        description="NVIDIA GPU Operator instead of the plain device plugin; required for MIG on AL2023.",
    )
    dcgm_exporter: bool = Field(default=False, description="GPU metrics for Prometheus.")
    neuron_monitor: bool = Field(
        default=facts.choices()["neuron_monitor"]["enabled"], description="Neuron metrics for Prometheus."
    )
    prometheus: bool = Field(
        default=False, description="kube-prometheus-stack with dashboards for the hardware of this strategy."
    )
    kueue: bool = Field(
        default=False,
        description="Kueue with a flavor for each kind of hardware, and quotas from the strategy's limits.",
    )
    load_balancer_controller: bool = Field(default=False, description="AWS Load Balancer Controller.")
    cluster_autoscaler: bool = Field(
        default=False, description="Cluster Autoscaler for groups with `scaling.autoscaled`, instead of Karpenter."
    )
    teams: tuple[Team, ...] = Field(default=(), max_length=200, description="Namespaces with quotas.")

    @model_validator(mode="after")
    def _unique_team_names(self) -> KubernetesSpec:
        message = 'two teams have the name "{value}", and names must be unique in a strategy; rename one'
        refuse_second_name(self.teams, "teams", message)
        return self
