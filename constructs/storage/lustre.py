"""FSx for Lustre."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eks_hardware._cdk import (
    Construct,
    FsxLustreFileSystem,
    SecurityGroup,
    VpcSecurityGroupEgressRule,
    VpcSecurityGroupIngressRule,
)
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.network import NetworkRef
from eks_hardware.resolve import ResolvedFsxLustre


class LustreFileSystem(Construct):
    """An FSx for Lustre file system that the cluster's nodes can reach.

    Its servers communicate with each other and with the nodes on Lustre's ports, in both directions. The nodes are in
    the cluster's security group. A persistent file system leaves a backup when it is destroyed.
    Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html

    Creates: ``aws_fsx_lustre_file_system``, ``aws_security_group``, ``aws_vpc_security_group_ingress_rule``,
    ``aws_vpc_security_group_egress_rule``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the file system (``eks_hardware.resolve.resolve_storage``).
        network: network with a private subnet in the zone of the file system.
        cluster: cluster whose nodes mount the file system.

    Examples:
        >>> from eks_hardware.models import FsxLustre, StorageSpec
        >>> from eks_hardware.resolve import resolve_storage
        >>> wanted = StorageSpec(fsx_lustre=FsxLustre(size_gib=2400))
        >>> storage = resolve_storage(wanted, name="shared", zone_ids=("usw2-az1",), fsx_zone_id="usw2-az1")
        >>> data = LustreFileSystem(stack, "data", resolved=storage.fsx_lustre, network=network, cluster=cluster)
        >>> data.resource.add_override("weekly_maintenance_start_time", "7:05:00")
    """

    resource: FsxLustreFileSystem
    """The Terraform resource, to depend on or to override."""
    file_system_id: str
    """Id of the file system (token)."""
    dns_name: str
    """DNS name that clients mount (token)."""
    mount_name: str
    """Lustre's mount name of the file system, part of the path that clients mount (token)."""

    def __init__(
        self, scope: Construct, id_: str, *, resolved: ResolvedFsxLustre, network: NetworkRef, cluster: ClusterRef
    ) -> None:
        super().__init__(scope, id_)
        group = SecurityGroup(
            self,
            "security-group",
            name=resolved.security_group_name,
            description="FSx for Lustre: servers and clients",
            vpc_id=network.vpc_id,
            tags={"Name": resolved.security_group_name},
        )
        self.resource = FsxLustreFileSystem(
            self,
            "Resource",
            subnet_ids=[network.private_subnet_ids[resolved.zone_id]],
            security_group_ids=[group.id],
            storage_capacity=resolved.size_gib,
            deployment_type=resolved.deployment_type,
            per_unit_storage_throughput=resolved.throughput_mibps_per_tib,
            file_system_type_version=resolved.lustre_version,
            kms_key_id=resolved.kms_key_arn,
            # Scratch file systems have no backups.
            skip_final_backup=resolved.deployment_type == "SCRATCH_2",
            tags={"Name": resolved.name},
            # FSx refuses a file system if its security group blocks the group's own traffic.
            depends_on=list(self._rules(resolved.ports, servers=group.id, nodes=cluster.security_group_id)),
        )
        self.file_system_id = self.resource.id
        self.dns_name = self.resource.dns_name
        self.mount_name = self.resource.mount_name

    def _rules(
        self, ports: Sequence[tuple[int, int]], *, servers: str, nodes: str
    ) -> Iterator[VpcSecurityGroupIngressRule | VpcSecurityGroupEgressRule]:
        ingress, egress = VpcSecurityGroupIngressRule, VpcSecurityGroupEgressRule
        rules = (
            (ingress, "from-itself", "Lustre from itself", servers, servers),
            (egress, "to-itself", "Lustre to itself", servers, servers),
            (ingress, "from-nodes", "Lustre from nodes", servers, nodes),
            (egress, "to-nodes", "Lustre to nodes", servers, nodes),
            # Servers open connections to clients; a node's outbound traffic is already allowed.
            (ingress, "nodes-from-servers", "Lustre from its servers", nodes, servers),
        )
        for low, high in ports:
            for kind, key, description, group_id, peer_id in rules:
                yield kind(
                    self,
                    f"{key}-{low}",
                    security_group_id=group_id,
                    referenced_security_group_id=peer_id,
                    description=description,
                    ip_protocol="tcp",
                    from_port=low,
                    to_port=high,
                )
