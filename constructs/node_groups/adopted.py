"""A node group on a cluster that another stack or tool owns, with its role and its EFA security group."""

from __future__ import annotations

from collections.abc import Mapping

from eks_hardware import aws_names, facts
from eks_hardware._cdk import Construct
from eks_hardware.adoption import adopted_group
from eks_hardware.catalogue import load
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.efa import EfaSecurityGroup
from eks_hardware.constructs.iam import IamSettings, Role
from eks_hardware.constructs.network import NetworkRef
from eks_hardware.constructs.node_groups.node_group import NodeGroup
from eks_hardware.constructs.resources.warnings import add_warnings
from eks_hardware.iam_policies.document import assumed_by_ec2
from eks_hardware.models import NodeGroupSpec
from eks_hardware.resolve import node_policy_arns, resolve_node_group
from eks_hardware.section_checks import region_of


class AdoptedNodeGroup(Construct):
    """A managed node group on a cluster that another stack or tool owns, with its role and its EFA security group.

    The VPC CNI needs its own role, through Pod Identity or IRSA: the node role has no permission to assign addresses.
    The rules of ``eks-hardware validate`` that concern node groups are checked, with the subnets as the only network.
    Their warnings become annotations of the construct, which the CDKTF command line prints.

    Creates: the resources of :class:`NodeGroup` and :class:`Role`; with EFA also those of :class:`EfaSecurityGroup`.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        cluster_name: name of the cluster.
        kubernetes_version: Kubernetes version of the cluster, such as ``1.35``; the node image matches it.
        vpc_id: VPC of the nodes.
        private_subnet_ids: subnets of the nodes, by zone id. The group uses the zones that offer its types, and with
            EFA one of them.
        config: the group, as an item of a strategy's ``node_groups``.
        role_name: name of the node role; by default ``<cluster>-<group>-nodes``.
        iam: path and permissions boundary of the role.

    Raises:
        ValueError: each error of ``eks-hardware validate`` in ``config``, the zones and the version;
            ``NODE_GROUP_ZONE`` if the zones are unknown or in several regions.

    Examples:
        >>> adopted = AdoptedNodeGroup(
        ...     stack,
        ...     "h100",
        ...     cluster_name="shared",
        ...     kubernetes_version="1.35",
        ...     vpc_id="vpc-0123456789abcdef0",
        ...     private_subnet_ids={"usw2-az2": "subnet-0123456789abcdef0"},
        ...     config={"name": "h100", "instance_types": ["p5.48xlarge"], "efa": True, "scaling": {"max": 4}},
        ... )
        >>> adopted.node_group.resource.add_override("timeouts.create", "60m")
    """

    node_group: NodeGroup
    """The node group with its launch template."""
    role: Role
    """The role of the nodes."""
    efa: EfaSecurityGroup | None
    """The security group of EFA interfaces, if the group has EFA."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster_name: str,
        kubernetes_version: str,
        vpc_id: str,
        private_subnet_ids: Mapping[str, str],
        config: NodeGroupSpec | Mapping[str, object],
        role_name: str | None = None,
        iam: IamSettings | None = None,
    ) -> None:
        super().__init__(scope, id_)
        group, warnings = adopted_group(
            config,
            path=f"{scope.node.path}/{id_}",
            kubernetes_version=kubernetes_version,
            vpc_id=vpc_id,
            private_subnet_ids=private_subnet_ids,
        )
        add_warnings(self, warnings)
        partition = facts.partition(region_of(f"{scope.node.path}/{id_}", private_subnet_ids))
        self.role = Role(
            self,
            "role",
            name=role_name or aws_names.limited(cluster_name, group.name, "nodes", limit="iam_role"),
            assume_role_policy=assumed_by_ec2(partition),
            policy_arns=node_policy_arns(partition),
            settings=iam,
        )
        self.efa = None
        if group.efa:
            name = aws_names.security_group(cluster_name, f"{group.name}-efa")
            self.efa = EfaSecurityGroup(self, "efa", name=name, vpc_id=vpc_id)
        self.node_group = NodeGroup(
            self,
            "nodes",
            resolved=resolve_node_group(
                group,
                cluster_name=cluster_name,
                kubernetes_version=kubernetes_version,
                zone_ids=group.zones,
                catalogue=load(),
            ),
            cluster=ClusterRef.from_existing(self, "cluster", name=cluster_name),
            network=NetworkRef.from_existing(vpc_id=vpc_id, private_subnet_ids=private_subnet_ids),
            role=self.role,
            efa_security_group_id=self.efa.security_group_id if self.efa else None,
        )
