"""What ``constructs/storage`` makes."""

from __future__ import annotations

from eks_hardware.diff.inventory.cluster import ClusterIds
from eks_hardware.diff.inventory.network import NetworkIds
from eks_hardware.diff.inventory.resource import Inventory, Path, Reference
from eks_hardware.resolve import ResolvedEfs, ResolvedFsxLustre

LUSTRE: Path = ("platform", "lustre", "Resource")
EFS: Path = ("platform", "efs", "Resource")


def add_lustre(inventory: Inventory, lustre: ResolvedFsxLustre, network: NetworkIds, cluster: ClusterIds) -> None:
    """Add a Lustre file system with its security group."""
    here, owner = LUSTRE[:-1], "storage.fsx_lustre"
    group = _group(inventory, here, owner, lustre.security_group_name, network)
    for low, high in lustre.ports:
        rules = {
            f"from-itself-{low}": (group, group),
            f"to-itself-{low}": (group, group),
            f"from-nodes-{low}": (group, cluster.security_group),
            f"to-nodes-{low}": (group, cluster.security_group),
            f"nodes-from-servers-{low}": (cluster.security_group, group),
        }
        for id_, (of, peer) in rules.items():
            direction = "egress" if id_.startswith("to-") else "ingress"
            arguments = {
                "security_group_id": of,
                "referenced_security_group_id": peer,
                "from_port": low,
                "to_port": high,
            }
            inventory.add(f"aws_vpc_security_group_{direction}_rule", (*here, id_), owner, arguments, name=id_)
    arguments = {
        "subnet_ids": (network.private[lustre.zone_id],),
        "security_group_ids": (group,),
        "skip_final_backup": lustre.deployment_type == "SCRATCH_2",
    }
    inventory.add("aws_fsx_lustre_file_system", LUSTRE, owner, arguments, of=lustre, tags={"Name": lustre.name})


def add_efs(inventory: Inventory, efs: ResolvedEfs, network: NetworkIds, cluster: ClusterIds) -> None:
    """Add an EFS file system with its mount targets."""
    here, owner = EFS[:-1], "storage.efs"
    inventory.add("aws_efs_file_system", EFS, owner, of=efs, tags={"Name": efs.name})
    group = _group(inventory, here, owner, efs.security_group_name, network)
    rule = {
        "security_group_id": group,
        "referenced_security_group_id": cluster.security_group,
        "from_port": efs.port,
        "to_port": efs.port,
    }
    inventory.add("aws_vpc_security_group_ingress_rule", (*here, "from-nodes"), owner, rule, name="from the nodes")
    for zone in efs.zone_ids:
        arguments = {
            "file_system_id": Reference(EFS),
            "subnet_id": network.private[zone],
            "security_groups": (group,),
        }
        inventory.add("aws_efs_mount_target", (*here, f"mount-{zone}"), owner, arguments, name=zone)


def _group(inventory: Inventory, here: Path, owner: str, name: str, network: NetworkIds) -> Reference:
    arguments = {"name": name, "vpc_id": network.vpc}
    path = (*here, "security-group")
    return Reference(inventory.add("aws_security_group", path, owner, arguments, name=name, tags={"Name": name}))
