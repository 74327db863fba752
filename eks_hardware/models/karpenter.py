"""``karpenter``: the controller; its node pools are in ``nodes``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from eks_hardware.models.base import IamPolicyArn, Name, StrategyModel, refuse_second_name
from eks_hardware.models.nodes import AmiVersion, NodePoolSpec


class AmiVersions(StrategyModel):
    """Image releases for all node pools, by operating system.

    Examples:
        >>> AmiVersions(bottlerocket="v1.50.0").bottlerocket
        'v1.50.0'
    """

    al2023: AmiVersion | None = Field(default=None, description="Release of the AL2023 images, such as v20260820.")
    bottlerocket: AmiVersion | None = Field(default=None, description="Release of Bottlerocket, such as v1.50.0.")


class FeatureGates(StrategyModel):
    """Karpenter's feature gates.

    Examples:
        >>> FeatureGates(spot_to_spot_consolidation=True).spot_to_spot_consolidation
        True
    """

    node_repair: bool | None = Field(default=None, description="Replace unhealthy nodes (alpha).")
    spot_to_spot_consolidation: bool | None = Field(
        default=None, description="Replace a spot node by a cheaper spot node (alpha)."
    )
    static_capacity: bool | None = Field(default=None, description="Pools with a fixed number of nodes (alpha).")
    node_overlay: bool | None = Field(
        default=None, description="NodeOverlay objects (alpha). On by default where a pool shares its GPUs."
    )
    capacity_buffer: bool | None = Field(default=None, description="CapacityBuffer objects (alpha).")


class KarpenterSpec(StrategyModel):
    """Karpenter: the controller, its AWS side, and the node pools it makes nodes for.

    Examples:
        >>> pool = {"name": "l4", "instance_families": ["g6"], "limits": {"nvidia.com/gpu": 4}}
        >>> KarpenterSpec(node_pools=[pool]).node_pools[0].name
        'l4'
    """

    namespace: Name = Field(default="kube-system", description="Namespace that the controller runs in.")
    service_account: Name = Field(default="karpenter", description="Service account of the controller.")
    interruption_queue: bool = Field(
        default=True, description="Tell Karpenter of spot interruptions, health events and state changes."
    )
    node_policies: tuple[IamPolicyArn, ...] = Field(
        default=(), description="Further managed policies for the role of Karpenter's nodes."
    )
    replicas: Annotated[int, Field(ge=1, le=5)] = Field(
        default=2, description="Controllers: one works, the others stand by."
    )
    feature_gates: FeatureGates = Field(default=FeatureGates(), description="Features that are still alpha.")
    ami_versions: AmiVersions = Field(default=AmiVersions(), description="Image releases for all node pools.")
    node_pools: tuple[NodePoolSpec, ...] = Field(default=(), max_length=100, description="Node pools.")

    @model_validator(mode="after")
    def _unique_pool_names(self) -> KarpenterSpec:
        message = "two node pools are called '{value}'; names are unique within a strategy"
        refuse_second_name(self.node_pools, "node_pools", message)
        return self
