"""EC2NodeClass: what a node of a pool is made of.

API: https://karpenter.sh/v1.14/concepts/nodeclasses/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eks_hardware.catalogue import EfaInterface
from eks_hardware.kubernetes.references import Reference
from eks_hardware.resolve import BlockDevice, ReservationSelector, ResolvedNodePool
from eks_hardware.resolve.network import DISCOVERY_TAG
from eks_hardware.resolve.user_data import bottlerocket_toml, node_config

_FAMILIES = {"al2023": "AL2023", "bottlerocket": "Bottlerocket"}


def node_class(
    pool: ResolvedNodePool, *, instance_profile: bool, security_group_ids: Sequence[str] = ()
) -> dict[str, Any]:
    """The EC2NodeClass of a pool.

    Args:
        instance_profile: name the instance profile and not the role, where Karpenter cannot make a profile itself.
        security_group_ids: of the nodes; without any the one that carries the discovery tag.

    A field that says nothing is left out; so is ``associatePublicIPAddress``, which EC2 refuses with more than one
    interface.
    """
    fields: dict[str, Any] = {
        **_image(pool),
        **(
            {"instanceProfile": Reference.KARPENTER_INSTANCE_PROFILE.text}
            if instance_profile
            else {"role": Reference.KARPENTER_NODE_ROLE.text}
        ),
        "subnetSelectorTerms": _subnets(pool),
        "securityGroupSelectorTerms": _security_groups(pool, security_group_ids),
        "capacityReservationSelectorTerms": [_reservation(each) for each in pool.reservations],
        "placementGroupSelector": {"name": pool.placement_group_name} if pool.placement_group_name else None,
        "networkInterfaces": [_interface(each) for each in pool.network_interfaces],
        "blockDeviceMappings": [_block_device(device) for device in pool.block_devices],
        "instanceStorePolicy": "RAID0" if pool.instance_store == "raid0" else None,
        "kubelet": _plain(pool.kubelet),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": pool.metadata_hop_limit,
        },
        "detailedMonitoring": pool.detailed_monitoring,
        "tags": dict(pool.tags),
        "userData": _user_data(pool),
    }
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": pool.name},
        "spec": {key: value for key, value in fields.items() if value not in (None, [], {})},
    }


def _image(pool: ResolvedNodePool) -> dict[str, Any]:
    if pool.image_id is None:
        return {"amiSelectorTerms": [{"alias": pool.ami_alias}]}
    # An alias says its family; an id does not, and the family decides how user data is written.
    return {"amiFamily": _FAMILIES[pool.ami_family], "amiSelectorTerms": [{"id": pool.image_id}]}


def _subnets(pool: ResolvedNodePool) -> list[dict[str, Any]]:
    if pool.subnet_ids:
        return [{"id": pool.subnet_ids[zone]} for zone in sorted(pool.subnet_ids)]
    return [{"tags": {DISCOVERY_TAG: pool.cluster_name}}]


def _security_groups(pool: ResolvedNodePool, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The cluster's group, which carries the tag, and that of EFA; all of them go on every interface."""
    groups: list[dict[str, Any]] = [{"id": each} for each in ids]
    if not groups:
        groups.append({"tags": {DISCOVERY_TAG: pool.cluster_name}})
    if pool.efa_security_group_name:
        groups.append({"name": pool.efa_security_group_name})
    return groups


def _reservation(reservation: ReservationSelector) -> dict[str, Any]:
    if reservation.id:
        return {"id": reservation.id}
    owner = {"ownerID": reservation.owner_account_id} if reservation.owner_account_id else {}
    return {"tags": dict(reservation.tags), **owner}


def _interface(interface: EfaInterface) -> dict[str, Any]:
    return {
        "networkCardIndex": interface.network_card_index,
        "deviceIndex": interface.device_index,
        "interfaceType": interface.interface_type,
    }


def _block_device(device: BlockDevice) -> dict[str, Any]:
    """One volume. Given volumes replace Karpenter's own, so encryption is written out."""
    ebs = {
        "volumeSize": f"{device.size_gib}Gi",
        "volumeType": device.volume_type,
        "iops": device.iops,
        "throughput": device.throughput_mibps,
        "encrypted": True,
        "kmsKeyID": device.kms_key_arn,
        "deleteOnTermination": True,
    }
    return {"deviceName": device.device_name, "ebs": {key: value for key, value in ebs.items() if value is not None}}


def _user_data(pool: ResolvedNodePool) -> str | None:
    """User data in addition to what Karpenter adds itself: cluster, labels, taints, and the kubelet fields above."""
    if pool.ami_family == "bottlerocket":
        return bottlerocket_toml(pool.user_data) if pool.user_data else None
    return node_config(pool.user_data, pool.shell) if pool.user_data or pool.shell else None


def _plain(value: Any) -> Any:
    """Frozen maps as plain ones, all the way down."""
    return {key: _plain(each) for key, each in value.items()} if hasattr(value, "items") else value
