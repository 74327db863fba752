"""The whole of what a strategy resolves to."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.models import LocalBackendSpec, RemoteBackendSpec, S3BackendSpec
from eks_hardware.resolve.model import (
    Resolved,
    ResolvedCluster,
    ResolvedKarpenter,
    ResolvedNetwork,
    ResolvedNodeGroup,
    ResolvedProvider,
)
from eks_hardware.resolve.model_kubernetes import ResolvedKubernetes, ResolvedNodePool, ResolvedStorage


@dataclass(frozen=True, kw_only=True)
class ResolvedStrategy(Resolved):
    """Everything that follows from one strategy file.

    Attributes:
        kubernetes_backend: where the second stack of ``kubernetes.stack: separate`` keeps its state; None without.

    Examples:
        >>> resolved.name, len(resolved.node_groups), len(resolved.node_pools)
        ('research', 2, 1)
    """

    name: str
    description: str
    region: str
    partition: str
    network: ResolvedNetwork
    cluster: ResolvedCluster
    node_role_name: str
    node_policy_arns: tuple[str, ...]
    node_groups: tuple[ResolvedNodeGroup, ...]
    efa_security_group_name: str | None
    karpenter: ResolvedKarpenter | None
    node_pools: tuple[ResolvedNodePool, ...]
    kubernetes: ResolvedKubernetes
    storage: ResolvedStorage
    backend: LocalBackendSpec | S3BackendSpec | RemoteBackendSpec
    kubernetes_backend: LocalBackendSpec | S3BackendSpec | RemoteBackendSpec | None
    provider: ResolvedProvider
