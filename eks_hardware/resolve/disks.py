"""The volumes and local disks of a node, for node groups and node pools alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.data import Cited
from eks_hardware.models import NodeTemplate
from eks_hardware.resolve.derived import Derived, rule, stated_field, stated_or
from eks_hardware.resolve.values import BlockDevice

_LARGE_IMAGES = "container images for accelerators are large"


def has_usable_disks(kind: InstanceType) -> bool:
    """Return whether a type has local disks that images set up: NVMe disks only.

    Sources: https://github.com/awslabs/amazon-eks-ami/blob/main/templates/shared/runtime/bin/setup-local-disks,
    https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/develop/packages/os/ephemeral-storage.rules
    """
    return kind.instance_store is not None and kind.instance_store.nvme


def instance_store(template: NodeTemplate, types: tuple[InstanceType, ...]) -> str:
    """Return how local disks are used; none by default if images can set up none on a type."""
    if template.instance_store is not None:
        return template.instance_store
    return facts.choices()["instance_store"]["use"] if all(map(has_usable_disks, types)) else "none"


def disk_size(template: NodeTemplate, hardware: Hardware) -> Derived[int]:
    """Derive the size of the volume for container images, in GiB."""
    given = template.disk.size_gib
    if hardware is Hardware.CPU:
        return stated_or(
            given, facts.choices.cite(lambda file: file["cpu_disk"]["size_gib"]), "room for images and logs"
        )
    return stated_or(given, facts.choices.cite(lambda file: file["accelerated_disk"]["size_gib"]), _LARGE_IMAGES)


def disk_type(template: NodeTemplate) -> Derived[str]:
    """Derive the type of the volume for container images."""
    row = facts.choices.cite(lambda file: file["volume_type"]["type"])
    return stated_field(template.disk, "type", row, "the cheaper type")


def disk_throughput(template: NodeTemplate, hardware: Hardware) -> Derived[int | None]:
    """Derive the throughput of the volume for container images in MiB/s; None if its type has no such setting."""
    disk = template.disk
    if disk.type != "gp3":
        return rule(None, "only gp3 volumes have a throughput setting")
    if hardware is Hardware.CPU:
        row = facts.nodes.cite(lambda file: file["volumes"]["gp3_throughput_mibps"])
        return stated_or(disk.throughput_mibps, row, "gp3's default throughput")
    return stated_or(
        disk.throughput_mibps,
        facts.choices.cite(lambda file: file["accelerated_disk_throughput"]["mibps"]),
        _LARGE_IMAGES,
    )


def disk_layout(*, bottlerocket: bool) -> Cited[Mapping[str, Any]]:
    """Return the volumes of an operating system's images: ``root``, ``data``, and which one stores container images."""
    family = "Bottlerocket" if bottlerocket else "AL2023"
    return facts.karpenter.cite(lambda file: file["block_devices"]["families"][family])


def block_devices(template: NodeTemplate, hardware: Hardware, *, bottlerocket: bool) -> tuple[BlockDevice, ...]:
    """Return the EBS volumes of a node; the last one stores container images."""
    disk, layout = template.disk, disk_layout(bottlerocket=bottlerocket).value
    images = BlockDevice(
        device_name=layout["ephemeral_device"],
        size_gib=disk_size(template, hardware).value,
        volume_type=disk_type(template).value,
        iops=disk.iops,
        throughput_mibps=disk_throughput(template, hardware).value,
        kms_key_arn=disk.kms_key_arn,
    )
    if layout["data"] is None:
        return (images,)
    # Bottlerocket stores images and logs on its second volume; the first one is the read-only system.
    root = layout["root"]
    return (BlockDevice(root["device"], root["size_gib"], "gp3", None, None, disk.kms_key_arn), images)
