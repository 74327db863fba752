"""What ``constructs/node_groups`` and ``constructs/efa`` make."""

from __future__ import annotations

from typing import Any

from eks_hardware.diff.inventory.cluster import ClusterIds
from eks_hardware.diff.inventory.iam import ACCOUNT, Role
from eks_hardware.diff.inventory.network import NetworkIds
from eks_hardware.diff.inventory.resource import Inventory, Reference
from eks_hardware.resolve import ResolvedNodeGroup


def add_efa_group(inventory: Inventory, name: str, network: NetworkIds) -> Reference:
    """Add the security group of EFA interfaces; returns its id."""
    here = ("platform", "efa")
    group = Reference(
        inventory.add(
            "aws_security_group",
            (*here, "Resource"),
            "efa",
            {"name": name, "vpc_id": network.vpc},
            name=name,
            tags={"Name": name},
        )
    )
    both = {"security_group_id": group, "referenced_security_group_id": group}
    inventory.add("aws_vpc_security_group_ingress_rule", (*here, "from-itself"), "efa", both, name="from itself")
    inventory.add("aws_vpc_security_group_egress_rule", (*here, "to-itself"), "efa", both, name="to itself")
    return group


def add_node_group(
    inventory: Inventory,
    group: ResolvedNodeGroup,
    *,
    cluster: ClusterIds,
    network: NetworkIds,
    role: Role,
    efa_group: Reference | None,
) -> None:
    """Add a managed node group with its launch template."""
    here = ("platform", f"nodes-{group.name}")
    owner = f"node_groups[{group.name}]"
    template = inventory.add(
        "aws_launch_template",
        (*here, "launch-template"),
        owner,
        {
            "instance_type": group.instance_types[0] if group.instance_type_in_launch_template else None,
            "user_data": _user_data(group, cluster),
            "network_interfaces": (group.efa_interfaces, cluster.security_group, efa_group)
            if group.efa_interfaces
            else None,
        },
        of=group,
        tags=group.tags,
    )
    if group.placement_group_name:
        placement = {"strategy": "cluster"}
        inventory.add("aws_placement_group", (*here, "placement-group"), owner, placement, of=group)
    for key in dict.fromkeys(device.kms_key_arn for device in group.block_devices if device.kms_key_arn):
        grant = {"key_id": key, "grantee_principal": f"{key.split(':')[1]}:{ACCOUNT}"}
        path = (*here, f"volume-key-grant-{key.rpartition('/')[2]}")
        inventory.add("aws_kms_grant", path, owner, grant, name=key.rpartition("/")[2])
    own_image = group.image_id is not None
    inventory.add(
        "aws_eks_node_group",
        (*here, "Resource"),
        owner,
        {
            "cluster_name": cluster.name,
            "node_role_arn": role.arn,
            "subnet_ids": tuple(network.private[zone] for zone in sorted(group.zone_ids)),
            # EKS calls the type of an own image so.
            "ami_type": None if own_image else group.ami_type,
            "instance_types": None if group.instance_type_in_launch_template else group.instance_types,
            "launch_template.id": Reference(template),
            "launch_template.version": Reference(template, "latest_version"),
            "version": None if own_image else group.kubernetes_version,
            # An autoscaler's number is what is running.
            "scaling_config.desired_size": None if group.autoscaled else group.desired_size,
        },
        of=group,
        tags=group.tags,
    )


def _user_data(group: ResolvedNodeGroup, cluster: ClusterIds) -> Any:
    if group.image_id is None and not group.user_data and not group.shell:
        return None
    plain = (group.ami_family, group.user_data, group.shell)
    return (*plain, cluster.name, cluster.details) if group.image_id else plain
