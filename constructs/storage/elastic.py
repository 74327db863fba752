"""Elastic File System."""

from __future__ import annotations

from eks_hardware._cdk import Construct, EfsFileSystem, EfsMountTarget, SecurityGroup, VpcSecurityGroupIngressRule
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.network import NetworkRef
from eks_hardware.resolve import ResolvedEfs


class ElasticFileSystem(Construct):
    """An encrypted EFS file system with a mount target in every zone of the nodes.

    Only the cluster's security group, which every node has, can reach the mount targets.

    Creates: ``aws_efs_file_system``, ``aws_efs_mount_target`` for each zone, ``aws_security_group``,
    ``aws_vpc_security_group_ingress_rule``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the file system (``eks_hardware.resolve.resolve_storage``).
        network: network with a private subnet in each zone of the file system.
        cluster: cluster whose nodes mount the file system.

    Examples:
        >>> from eks_hardware.models import Efs, StorageSpec
        >>> from eks_hardware.resolve import resolve_storage
        >>> zones = ("usw2-az1", "usw2-az2")
        >>> storage = resolve_storage(StorageSpec(efs=Efs()), name="shared", zone_ids=zones, fsx_zone_id=None)
        >>> home = ElasticFileSystem(stack, "home", resolved=storage.efs, network=network, cluster=cluster)
        >>> home.resource.add_override("lifecycle_policy", [{"transition_to_ia": "AFTER_30_DAYS"}])
    """

    resource: EfsFileSystem
    """The Terraform resource, to depend on or to override."""
    file_system_id: str
    """Id of the file system (token)."""

    def __init__(
        self, scope: Construct, id_: str, *, resolved: ResolvedEfs, network: NetworkRef, cluster: ClusterRef
    ) -> None:
        super().__init__(scope, id_)
        self.resource = EfsFileSystem(
            self,
            "Resource",
            creation_token=resolved.name,
            encrypted=True,
            kms_key_id=resolved.kms_key_arn,
            throughput_mode=resolved.throughput_mode,
            tags={"Name": resolved.name},
        )
        self.file_system_id = self.resource.id
        group = SecurityGroup(
            self,
            "security-group",
            name=resolved.security_group_name,
            description="EFS: NFS from the nodes",
            vpc_id=network.vpc_id,
            tags={"Name": resolved.security_group_name},
        )
        VpcSecurityGroupIngressRule(
            self,
            "from-nodes",
            security_group_id=group.id,
            referenced_security_group_id=cluster.security_group_id,
            description="NFS from the nodes",
            ip_protocol="tcp",
            from_port=resolved.port,
            to_port=resolved.port,
        )
        for zone in resolved.zone_ids:
            EfsMountTarget(
                self,
                f"mount-{zone}",
                file_system_id=self.file_system_id,
                subnet_id=network.private_subnet_ids[zone],
                security_groups=[group.id],
            )
