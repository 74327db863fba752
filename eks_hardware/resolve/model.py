"""The objects that a strategy resolves to: frozen plain data, with a reason for every value.

Constructs and commands read only these objects. ``resolved.why("ami_type")`` returns the reason for a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eks_hardware.catalogue import EfaInterface, Hardware, efa_count
from eks_hardware.models import AssumeRole, FlowLogs
from eks_hardware.resolve.values import BlockDevice, GpuShares, Resolved, ResolvedTaint, SubnetRole, after
from eks_hardware.spellings import keeps_pods_off
from eks_hardware.versions import ami_release


@dataclass(frozen=True)
class ResolvedSubnet:
    """A subnet. Its key (``private-usw2-az1``) is part of its Terraform address.

    Examples:
        >>> resolved.network.subnets[0].key
        'private-usw2-az1'
    """

    role: SubnetRole
    zone_id: str
    cidr: str
    tags: Mapping[str, str]

    @property
    def key(self) -> str:
        """Role and zone, as in the Terraform address."""
        return f"{self.role.value}-{self.zone_id}"


@dataclass(frozen=True)
class ExistingSubnets:
    """Subnets of an existing VPC, by zone id.

    Examples:
        >>> subnets = {"usw2-az1": "subnet-00000001", "usw2-az2": "subnet-00000002"}
        >>> theirs = ExistingSubnets("vpc-01234567", private=subnets, control_plane=subnets, pod={}, tag=False)
        >>> resolved.network.changed(existing=theirs).existing.vpc_id
        'vpc-01234567'
    """

    vpc_id: str
    private: Mapping[str, str]
    control_plane: Mapping[str, str]
    pod: Mapping[str, str]
    tag: bool


@dataclass(frozen=True, kw_only=True)
class ResolvedNetwork(Resolved):
    """The VPC and its subnets, or existing ones.

    Attributes:
        cidr: IPv4 CIDR of the VPC; None for an existing VPC.
        pod_cidr: secondary CIDR, for pods.
        zone_ids: zones with subnets, ordered by id.
        control_plane_zone_ids: zones of the control plane's interfaces; they never change while the cluster exists.
        endpoint_zone_ids: zones with interface endpoints.
        subnets: subnets to create, by role and zone.
        nat_zone_ids: zones with a NAT gateway.
        nat_zone_by_zone: for each zone, the zone of the NAT gateway that its private subnet uses.
        gateway_endpoints: services with a gateway endpoint.
        interface_endpoints: services with an interface endpoint.
        flow_log_interval_seconds: longest time that one flow log record covers.

    Examples:
        >>> resolved.network.zone_ids
        ('usw2-az1', 'usw2-az2', 'usw2-az3')
    """

    name: str
    region: str
    cidr: str | None
    pod_cidr: str | None
    zone_ids: tuple[str, ...]
    control_plane_zone_ids: tuple[str, ...]
    subnets: tuple[ResolvedSubnet, ...]
    nat_zone_ids: tuple[str, ...]
    nat_zone_by_zone: Mapping[str, str]
    gateway_endpoints: tuple[str, ...]
    interface_endpoints: tuple[str, ...]
    endpoint_zone_ids: tuple[str, ...]
    endpoint_security_group_name: str
    flow_logs: FlowLogs | None
    flow_log_group_name: str
    flow_log_interval_seconds: int
    flow_log_role_name: str
    discovery_tag: str
    existing: ExistingSubnets | None

    def of_role(self, role: SubnetRole) -> tuple[ResolvedSubnet, ...]:
        """Return the subnets with a role."""
        return tuple(subnet for subnet in self.subnets if subnet.role is role)


@dataclass(frozen=True)
class ResolvedAccessEntry:
    """An access entry; ``key`` is part of its Terraform address.

    Attributes:
        policies: pairs of an EKS access policy ARN and the namespaces it is limited to (empty: whole cluster).

    Examples:
        >>> resolved.cluster.access_entries[0].principal_arn
        'arn:aws:iam::111122223333:role/admin'
    """

    key: str
    principal_arn: str
    kubernetes_groups: tuple[str, ...]
    policies: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, kw_only=True)
class ResolvedAddon(Resolved):
    """An EKS add-on.

    Attributes:
        before_nodes: nodes need it to become Ready, so it is created before them.
        before_charts: pods of charts may need it (DNS, volumes), so it is installed before them.
        configuration: configuration values, JSON-serializable; empty for none.
        service_account: service account with a Pod Identity role; None if it needs no AWS permissions.
        policy_arns: managed policies of the role.
        statements: statements of the role's own policy document; empty for none.

    Examples:
        >>> {addon.name: addon.before_nodes for addon in resolved.cluster.addons}["coredns"]
        False
    """

    name: str
    before_nodes: bool
    before_charts: bool
    version: str | None
    configuration: Mapping[str, Any]
    service_account: str | None
    namespace: str | None
    role_name: str | None
    policy_arns: tuple[str, ...]
    statements: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class ResolvedCluster(Resolved):
    """The EKS control plane.

    Examples:
        >>> resolved.cluster.kms_alias
        'alias/eks-research'
    """

    name: str
    region: str
    partition: str
    kubernetes_version: str
    role_name: str
    public_cidrs: tuple[str, ...]
    access_entries: tuple[ResolvedAccessEntry, ...]
    creator_is_admin: bool
    log_types: tuple[str, ...]
    log_group_name: str
    log_retention_days: int
    log_group_kept: bool
    secrets_encrypted: bool
    kms_key_arn: str | None
    kms_alias: str
    service_cidr: str | None
    deletion_protection: bool | None
    support_type: str
    zonal_shift: bool
    control_plane_tier: str
    custom_networking: bool
    addons: tuple[ResolvedAddon, ...]
    discovery_tag: str


@dataclass(frozen=True)
class CapacityTarget:
    """The reservation in which nodes are launched; exactly one of the two fields is set.

    Examples:
        >>> gpu = resolved.node_groups[1]
        >>> gpu.capacity_target.reservation_id
        'cr-0123456789abcdef0'
    """

    reservation_id: str | None
    resource_group_arn: str | None


@dataclass(frozen=True, kw_only=True)
class ResolvedNodes(Resolved):
    """A node group or pool: the fields and properties that both have.

    Attributes:
        instance_types: every type of the group, or every type that the pool can launch, by name.
        image_id: id of your own image; None for an EKS image.
        efa_interfaces: network interfaces of a node with EFA; empty without EFA.
        user_data: NodeConfig spec or Bottlerocket settings. For a group, ``resolve.user_data`` writes them as text;
            if they are empty, EKS chooses all settings. For a pool, Karpenter adds its own.
        shell: shell script lines that run before the node joins (AL2023 only).

    Examples:
        >>> [nodes.efa_count for nodes in (*resolved.node_groups, *resolved.node_pools)]
        [0, 32, 0]
    """

    name: str
    cluster_name: str
    workload: str
    hardware: Hardware
    instance_types: tuple[str, ...]
    architecture: str
    ami_family: str
    image_id: str | None
    zone_ids: tuple[str, ...]
    labels: Mapping[str, str]
    taints: tuple[ResolvedTaint, ...]
    efa_interfaces: tuple[EfaInterface, ...]
    placement_group_name: str | None
    block_devices: tuple[BlockDevice, ...]
    instance_store: str
    user_data: Mapping[str, Any]
    shell: tuple[str, ...]
    metadata_hop_limit: int
    detailed_monitoring: bool
    gpu_shares: GpuShares | None

    @property
    def efa_count(self) -> int:
        """Number of interfaces that support EFA traffic."""
        return efa_count(self.efa_interfaces)

    @property
    def tainted(self) -> bool:
        """Whether a taint keeps pods without a toleration off the nodes."""
        return any(keeps_pods_off(taint.effect) for taint in self.taints)


@dataclass(frozen=True, kw_only=True)
class ResolvedNodeGroup(ResolvedNodes):
    """A managed node group with its launch template.

    Attributes:
        capacity_type: as in the EKS API: ON_DEMAND, SPOT, CAPACITY_BLOCK.
        market_type: ``capacity-block`` if the launch template must set it.
        instance_type_in_launch_template: EKS requires a Capacity Block's type in the template, not in the group.
        max_pods: maximum pods per node; None keeps the kubelet's own number.
        tags: tags of the group and its launch template.
        instance_tags: tags of the resources that the template creates: instances, volumes, network interfaces.

    Examples:
        >>> gpu = resolved.node_groups[1]
        >>> gpu.ami_type, gpu.efa_count, gpu.tainted
        ('AL2023_x86_64_NVIDIA', 32, True)
    """

    ami_type: str = field(metadata=after("architecture"))
    release_version: str | None = field(metadata=after("image_id"))
    kubernetes_version: str
    capacity: str
    capacity_type: str
    market_type: str | None
    capacity_target: CapacityTarget | None
    instance_type_in_launch_template: bool
    min_size: int = field(metadata=after("zone_ids"))
    desired_size: int
    max_size: int
    autoscaled: bool
    max_pods: int | None = field(metadata=after("instance_store"))
    node_repair: bool = field(metadata=after("detailed_monitoring"))
    max_unavailable: int | None
    max_unavailable_percentage: int | None
    update_strategy: str | None
    launch_template_name: str
    tags: Mapping[str, str]
    instance_tags: Mapping[str, str]

    @property
    def ami_release(self) -> str | None:
        """Name of the pinned release of EKS's AMIs (``v20260714``, ``v1.61.0``); None for the latest."""
        release = ami_release(self.ami_family, self.release_version) if self.release_version else None
        return release.name if release else None


@dataclass(frozen=True)
class InterruptionRule:
    """An EventBridge rule that sends events to Karpenter's interruption queue; ``key`` is part of its address.

    Examples:
        >>> [rule.key for rule in resolved.karpenter.rules][1]
        'spot-interruption'
    """

    key: str
    name: str
    source: str
    detail_type: str


@dataclass(frozen=True, kw_only=True)
class ResolvedKarpenter(Resolved):
    """Karpenter's AWS resources.

    Attributes:
        volume_key_arns: your own keys for volumes of node pools, without duplicates.

    Examples:
        >>> resolved.karpenter.queue_name
        'research-karpenter'
    """

    namespace: str
    service_account: str
    controller_role_name: str
    policy_names: Mapping[str, str]
    node_role_name: str
    node_policy_arns: tuple[str, ...]
    instance_profile_name: str | None
    queue_name: str | None
    rules: tuple[InterruptionRule, ...]
    volume_key_arns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ResolvedProvider(Resolved):
    """The AWS provider block and its version range, and the Helm provider's version range.

    Examples:
        >>> resolved.provider.version
        '>= 5.100.0, < 7.0.0'
    """

    version: str
    helm_version: str
    profile: str | None
    assume_role: AssumeRole | None
    account_id: str | None
    default_tags: Mapping[str, str]
    permissions_boundary_arn: str | None
    iam_path: str
