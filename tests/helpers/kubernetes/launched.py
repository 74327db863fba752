"""Check that an instance that Karpenter launched for a node pool is what the strategy says."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from eks_hardware.catalogue import Hardware, load
from eks_hardware.kubernetes.nodes import taint_object
from eks_hardware.local.node_user_data import boot
from eks_hardware.local.readback import Account
from eks_hardware.resolve import ResolvedNodePool

Instance = Mapping[str, Any]

_VARIANTS = {Hardware.NVIDIA_GPU: "nvidia", Hardware.TRAINIUM: "neuron", Hardware.INFERENTIA: "neuron"}


def check_launched(account: Account, pool: ResolvedNodePool, instance: Instance, *, kubernetes: str) -> None:
    """Check an instance's type, zone, purchase, image, network, disks, settings, user data and tags.

    Args:
        account: the account of the instance.
        pool: its node pool.
        instance: the instance as EC2 describes it.
        kubernetes: the version of the cluster, such as ``1.35``.
    """
    ec2 = account.client("ec2")
    zones = {each["ZoneName"]: each["ZoneId"] for each in ec2.describe_availability_zones()["AvailabilityZones"]}
    assert instance["InstanceType"] in pool.instance_types
    assert zones[instance["Placement"]["AvailabilityZone"]] in pool.zone_ids
    lifecycle = instance.get("InstanceLifecycle", "on-demand")
    assert lifecycle == ("spot" if "spot" in pool.capacity_types else "on-demand"), pool.name
    (image,) = ec2.describe_images(ImageIds=[instance["ImageId"]])["Images"]
    assert image["Name"] == _image(pool, instance, kubernetes)
    interfaces = [
        (each["Attachment"]["NetworkCardIndex"], each["Attachment"]["DeviceIndex"], each["InterfaceType"])
        for each in instance["NetworkInterfaces"]
    ]
    wanted = [(each.network_card_index, each.device_index, each.interface_type) for each in pool.network_interfaces]
    assert sorted(interfaces) == sorted(wanted or [(0, 0, "interface")]), pool.name
    assert _placement_group(ec2, instance) == pool.placement_group_name
    _check_disks(ec2, pool, instance)
    options = instance["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", pool.metadata_hop_limit)
    _check_user_data(ec2, pool, instance)
    assert pool.tags.items() <= {tag["Key"]: tag["Value"] for tag in instance["Tags"]}.items()


def _placement_group(ec2: Any, instance: Instance) -> str | None:
    """Return the name of an instance's placement group. Karpenter names the group by its id."""
    placement = instance["Placement"]
    if identity := placement.get("GroupId"):
        (group,) = ec2.describe_placement_groups(GroupIds=[identity])["PlacementGroups"]
        return str(group["GroupName"])
    return placement.get("GroupName") or None


def _image(pool: ResolvedNodePool, instance: Instance, kubernetes: str) -> str:
    """Return the name of the image of a pool's alias that fits an instance's hardware."""
    kind = load().get(instance["InstanceType"])
    assert pool.ami_version is not None
    if pool.ami_family == "al2023":
        variant = _VARIANTS.get(kind.hardware, "standard")
        return f"amazon-eks-node-al2023-{kind.architecture}-{variant}-{kubernetes}-{pool.ami_version}"
    variant = "-nvidia" if kind.hardware is Hardware.NVIDIA_GPU else ""
    return f"bottlerocket-aws-k8s-{kubernetes}{variant}-{kind.architecture}-{pool.ami_version}"


def _check_disks(ec2: Any, pool: ResolvedNodePool, instance: Instance) -> None:
    mappings = {each["Ebs"]["VolumeId"]: each["DeviceName"] for each in instance["BlockDeviceMappings"]}
    volumes = ec2.describe_volumes(VolumeIds=list(mappings))["Volumes"]
    found = {
        (mappings[each["VolumeId"]], each["Size"], each["VolumeType"], each["Encrypted"]): each for each in volumes
    }
    wanted = {(each.device_name, each.size_gib, each.volume_type, True): each for each in pool.block_devices}
    assert found.keys() == wanted.keys()
    for key, device in wanted.items():
        assert device.iops in (None, found[key]["Iops"])
        assert device.throughput_mibps in (None, found[key].get("Throughput"))


def _check_user_data(ec2: Any, pool: ResolvedNodePool, instance: Instance) -> None:
    """Check what the node reads: Karpenter adds its own part to the pool's settings."""
    answer = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")
    read = boot(base64.b64decode(answer["UserData"]["Value"]), bottlerocket=pool.ami_family == "bottlerocket")
    assert read.cluster == pool.cluster_name
    assert {**pool.labels, "karpenter.sh/nodepool": pool.name}.items() <= read.labels.items()
    taints = [dict(each) for each in read.taints]
    for taint in pool.taints:
        assert taint_object(taint) in taints
    assert read.max_pods == pool.max_pods
    for what in ("kube", "system"):
        assert read.reserved[what] == pool.kubelet.get(f"{what}Reserved", {})
    assert read.instance_store == (pool.instance_store == "raid0")
    _check_contains(read.settings, pool.user_data)


def _check_contains(found: Any, wanted: Any) -> None:
    """Check that settings have the wanted ones, at any depth."""
    if hasattr(wanted, "items"):
        for key, value in wanted.items():
            _check_contains(found[key], value)
    else:
        assert found == wanted
