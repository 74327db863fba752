"""``karpenter``: the controller. Its node pools are in ``nodes``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from eks_hardware import facts
from eks_hardware.models.base import IamPolicyArn, Name, StrategyModel, refuse_second, refuse_second_name
from eks_hardware.models.nodes import AmiVersion, NodePoolSpec

_NAMES = facts.choices()["karpenter_names"]


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
        default=None, description="Replace a Spot node with a cheaper Spot node (alpha)."
    )
    static_capacity: bool | None = Field(default=None, description="Allow pools with a fixed number of nodes (alpha).")
    node_overlay: bool | None = Field(
        default=None, description="Allow NodeOverlay objects (alpha). Enabled by default if a pool shares its GPUs."
    )
    capacity_buffer: bool | None = Field(default=None, description="Allow CapacityBuffer objects (alpha).")


class KarpenterSpec(StrategyModel):
    """Karpenter: the controller, its AWS resources, and the node pools.

    Examples:
        >>> pool = {"name": "l4", "instance_families": ["g6"], "limits": {"nvidia.com/gpu": 4}}
        >>> KarpenterSpec(node_pools=[pool]).node_pools[0].name
        'l4'
    """

    namespace: Name = Field(default=_NAMES["namespace"], description="Namespace of the controller.")
    service_account: Name = Field(default=_NAMES["service_account"], description="Service account of the controller.")
    interruption_queue: bool = Field(
        default=facts.choices()["karpenter_interruptions"]["enabled"],
        description="Notify Karpenter of Spot interruptions, health events and instance state changes.",
    )
    node_policies: tuple[IamPolicyArn, ...] = Field(
        default=(), description="Additional managed policies for Karpenter's node role."
    )
    replicas: Annotated[int, Field(ge=1, le=5)] = Field(
        default=facts.choices()["karpenter_replicas"]["replicas"],
        description="Number of controller replicas: one is active, the others are on standby.",
    )
    feature_gates: FeatureGates = Field(default=FeatureGates(), description="Alpha features.")
    ami_versions: AmiVersions = Field(default=AmiVersions(), description="Image releases for all node pools.")
    node_pools: tuple[NodePoolSpec, ...] = Field(default=(), max_length=100, description="Node pools.")

    @model_validator(mode="after")
    def _nothing_twice(self) -> KarpenterSpec:
        message = 'two node pools have the name "{value}", and names must be unique in a strategy; rename one'
        refuse_second_name(self.node_pools, "node_pools", message)
        refuse_second(self.node_policies, "node_policies", "item_duplicate")
        return self
