"""The Kubernetes objects that a strategy resolves to: node pools, charts, storage; frozen data, as in ``model``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eks_hardware.catalogue import EfaInterface
from eks_hardware.resolve.model import ResolvedNodes
from eks_hardware.resolve.values import Resolved, after
from eks_hardware.spellings import FSX_DEPLOYMENTS


@dataclass(frozen=True)
class DisruptionBudget:
    """A budget as in ``spec.disruption.budgets`` of a NodePool.

    Examples:
        >>> DisruptionBudget(nodes="10%").reasons
        ()
    """

    nodes: str
    reasons: tuple[str, ...] = ()
    schedule: str | None = None
    duration: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResolvedDisruption(Resolved):
    """When Karpenter may remove a node, spelled as in its API (``WhenEmpty``, ``Never``, ``720h``).

    Examples:
        >>> resolved.node_pools[0].disruption.expire_after
        '720h'
    """

    consolidation_policy: str
    consolidate_after: str
    expire_after: str
    termination_grace_period: str | None
    budgets: tuple[DisruptionBudget, ...]


@dataclass(frozen=True)
class ReservationSelector:
    """An item of ``capacityReservationSelectorTerms``: an id, or tags with an optional owner.

    Examples:
        >>> ReservationSelector(id="cr-0123456789abcdef0", tags={}, owner_account_id=None).id
        'cr-0123456789abcdef0'
    """

    id: str | None
    tags: Mapping[str, str]
    owner_account_id: str | None


@dataclass(frozen=True)
class CapacityOverlay:
    """Resources that nodes of some types advertise but Karpenter would compute differently (a NodeOverlay).

    Examples:
        >>> overlay = resolved.node_pools[0].overlays[0]
        >>> overlay.instance_types
        ('g5.xlarge',)
    """

    name: str
    instance_types: tuple[str, ...]
    capacity: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ResolvedNodePool(ResolvedNodes):
    """A Karpenter NodePool with its EC2NodeClass; both have the pool's name.

    Attributes:
        architectures: architectures of all types; ``architecture``, which manifests select, is the first type's.
        ami_version: release of EKS's AMIs, such as ``v20260820``, or ``latest``; None with your own image.
        capacity_types: values of ``karpenter.sh/capacity-type``.
        subnet_ids: subnets by zone id, for an existing VPC whose subnets are not tagged; empty selects by tag.
        limits: maximum resources of all nodes together, as Kubernetes quantities.
        network_interfaces: interfaces that the EC2NodeClass sets: ``efa_interfaces``, or one plain interface for a pool
            without EFA whose types support it; empty leaves them to Karpenter.
        kubelet: fields of ``spec.kubelet`` of the EC2NodeClass.
        tags: tags of the resources that Karpenter creates: instances, volumes, network interfaces.

    Examples:
        >>> resolved.node_pools[0].capacity_types
        ('spot',)
    """

    architectures: tuple[str, ...] = field(metadata=after("architecture"))
    ami_version: str | None = field(metadata=after("ami_family"))
    capacity_types: tuple[str, ...] = field(metadata=after("image_id"))
    reservations: tuple[ReservationSelector, ...]
    subnet_ids: Mapping[str, str] = field(metadata=after("zone_ids"))
    limits: Mapping[str, str]
    weight: int | None
    network_interfaces: tuple[EfaInterface, ...] = field(metadata=after("efa_interfaces"))
    efa_security_group_name: str | None
    kubelet: Mapping[str, Any] = field(metadata=after("instance_store"))
    disruption: ResolvedDisruption = field(metadata=after("detailed_monitoring"))
    overlays: tuple[CapacityOverlay, ...] = field(metadata=after("gpu_shares"))
    tags: Mapping[str, str]

    @property
    def max_pods(self) -> int | None:
        """Maximum pods per node; None keeps the kubelet's own number."""
        max_pods: int | None = self.kubelet.get("maxPods")
        return max_pods

    @property
    def ami_alias(self) -> str | None:
        """Alias of the EC2NodeClass, such as ``al2023@v20260820``; None with your own image."""
        return f"{self.ami_family}@{self.ami_version}" if self.ami_version else None

    @property
    def ami_release(self) -> str | None:
        """Name of the pinned release of EKS's AMIs (``v20260714``, ``v1.61.0``); None for the latest."""
        return None if self.ami_version == "latest" else self.ami_version


@dataclass(frozen=True, kw_only=True)
class ResolvedChart(Resolved):
    """A Helm chart to install.

    Attributes:
        repository: ``https://...``, or ``oci://...`` without the chart's name.
        values: values of the strategy; ``eks_hardware.kubernetes`` merges them over the derived values.

    Examples:
        >>> resolved.kubernetes.charts["karpenter"].namespace
        'kube-system'
    """

    key: str
    chart: str
    repository: str
    version: str
    namespace: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class ServicePolicy:
    """A managed policy of a service role; ``key`` is part of its Terraform address.

    Attributes:
        statements: policy statements; ``{partition}``, ``{region}`` and ``{account}`` in them are replaced later.

    Examples:
        >>> ServicePolicy("read", "research-read", ()).statements
        ()
    """

    key: str
    name: str
    statements: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class ServiceRole(Resolved):
    """An IAM role of a service account, through Pod Identity; ``key`` is part of its Terraform address.

    Examples:
        >>> [role.key for role in resolved.kubernetes.service_roles]
        ['aws-load-balancer-controller']
    """

    key: str
    role_name: str
    namespace: str
    service_account: str
    policies: tuple[ServicePolicy, ...]


@dataclass(frozen=True)
class ResolvedTeam:
    """A namespace and its quota, with the resource names of a ResourceQuota (``requests.nvidia.com/gpu``).

    Examples:
        >>> resolved.kubernetes.teams[0].name
        'research'
    """

    name: str
    quota: Mapping[str, str]
    default_requests: Mapping[str, str]
    default_limits: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ResolvedKubernetes(Resolved):
    """Charts and objects on the cluster, and how they are installed.

    Attributes:
        charts: charts to install, by key, in the order of installation.
        feature_gates: Karpenter's feature gates, by their names in its chart (``nodeOverlay``).
        overlay_prices: On-Demand prices in USD per hour, by instance type, that Karpenter lacks in a private network.
        service_roles: IAM roles of charts that call AWS, except Karpenter's.
        neuron_monitor: whether Neuron metrics are exported; the exporter has no chart.

    Examples:
        >>> resolved.kubernetes.delivery
        'helm'
    """

    delivery: str
    stack: str
    kubernetes_version: str
    charts: Mapping[str, ResolvedChart]
    feature_gates: Mapping[str, bool]
    overlay_prices: Mapping[str, float]
    karpenter_replicas: int
    service_roles: tuple[ServiceRole, ...]
    teams: tuple[ResolvedTeam, ...]
    neuron_monitor: bool


@dataclass(frozen=True, kw_only=True)
class ResolvedFsxLustre(Resolved):
    """An FSx for Lustre file system.

    Attributes:
        deployment: as in the strategy: ``persistent-2``, ``scratch-2``.
        ports: TCP port ranges that clients and servers use.

    Examples:
        >>> resolved.storage.fsx_lustre.deployment_type
        'PERSISTENT_2'
    """

    name: str
    zone_id: str
    size_gib: int
    deployment: str
    throughput_mibps_per_tib: int | None
    lustre_version: str
    kms_key_arn: str | None
    security_group_name: str
    ports: tuple[tuple[int, int], ...]

    @property
    def deployment_type(self) -> str:
        """The deployment in the spelling of the FSx API: ``PERSISTENT_2``, ``SCRATCH_2``."""
        return FSX_DEPLOYMENTS[self.deployment]


@dataclass(frozen=True, kw_only=True)
class ResolvedEfs(Resolved):
    """An EFS file system with a mount target in every zone.

    Examples:
        >>> resolved.storage.efs.port
        2049
    """

    name: str
    throughput_mode: str
    kms_key_arn: str | None
    security_group_name: str
    zone_ids: tuple[str, ...]
    port: int


@dataclass(frozen=True)
class ResolvedBucket:
    """An S3 bucket that pods mount.

    Examples:
        >>> [bucket.name for bucket in resolved.storage.buckets]
        ['models']
    """

    name: str
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class ResolvedStorage(Resolved):
    """Shared file systems and buckets.

    Examples:
        >>> resolved.storage.fsx_lustre.zone_id
        'usw2-az1'
    """

    fsx_lustre: ResolvedFsxLustre | None
    efs: ResolvedEfs | None
    buckets: tuple[ResolvedBucket, ...]
