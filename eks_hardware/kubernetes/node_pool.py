"""The objects of a pool: NodePool (which nodes Karpenter may launch), EC2NodeClass (how), NodeOverlay (their capacity).

API: https://karpenter.sh/v1.14/concepts/nodepools/, https://karpenter.sh/v1.14/concepts/nodeclasses/,
https://karpenter.sh/v1.14/concepts/nodeoverlays/
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from eks_hardware.catalogue import EfaInterface
from eks_hardware.kubernetes.nodes import taint_object
from eks_hardware.kubernetes.references import Reference
from eks_hardware.resolve import BlockDevice, DisruptionBudget, ReservationSelector, ResolvedNodePool
from eks_hardware.resolve.network import DISCOVERY_TAG
from eks_hardware.resolve.user_data import bottlerocket_toml, node_config
from eks_hardware.spellings import KUBERNETES_ARCHITECTURES

_FAMILIES = {"al2023": "AL2023", "bottlerocket": "Bottlerocket"}


def node_pool(pool: ResolvedNodePool) -> dict[str, Any]:
    """The NodePool of a pool."""
    disruption = pool.disruption
    template: dict[str, Any] = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool.name},
        "requirements": [
            _is_one_of("node.kubernetes.io/instance-type", pool.instance_types),
            _is_one_of("kubernetes.io/arch", [KUBERNETES_ARCHITECTURES[pool.architecture]]),
            _is_one_of("kubernetes.io/os", ["linux"]),
            _is_one_of("karpenter.sh/capacity-type", pool.capacity_types),
            # Ids and not names: a zone's name means another zone in another account.
            _is_one_of("topology.k8s.aws/zone-id", pool.zone_ids),
        ],
        "expireAfter": disruption.expire_after,
    }
    if disruption.termination_grace_period:
        template["terminationGracePeriod"] = disruption.termination_grace_period
    if pool.taints:
        template["taints"] = [taint_object(taint) for taint in pool.taints]
    spec: dict[str, Any] = {
        "template": {"metadata": {"labels": dict(pool.labels)}, "spec": template},
        "disruption": {
            "consolidationPolicy": disruption.consolidation_policy,
            "consolidateAfter": disruption.consolidate_after,
            "budgets": [_budget(each) for each in disruption.budgets],
        },
        "limits": dict(pool.limits),
    }
    if pool.weight is not None:
        spec["weight"] = pool.weight
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": pool.name}, "spec": spec}


def node_overlays(pool: ResolvedNodePool) -> Iterator[dict[str, Any]]:
    """The NodeOverlays of a pool, each for its nodes alone: overlays are not bound to a pool otherwise."""
    for overlay in pool.overlays:
        yield {
            "apiVersion": "karpenter.sh/v1alpha1",
            "kind": "NodeOverlay",
            "metadata": {"name": overlay.name},
            "spec": {
                "requirements": [
                    _is_one_of("karpenter.sh/nodepool", [pool.name]),
                    _is_one_of("node.kubernetes.io/instance-type", overlay.instance_types),
                ],
                "capacity": dict(overlay.capacity),
            },
        }


def _is_one_of(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _budget(budget: DisruptionBudget) -> dict[str, Any]:
    written: dict[str, Any] = {"nodes": budget.nodes}
    if budget.reasons:
        written["reasons"] = list(budget.reasons)
    if budget.schedule and budget.duration:
        written |= {"schedule": budget.schedule, "duration": _whole_minutes(budget.duration)}
    return written


def _whole_minutes(duration: str) -> str:
    """A budget's duration has no seconds; a begun minute counts."""
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", duration)
    hours, minutes, rest = (int(each or 0) for each in (found.groups() if found else ("", "", "")))
    return f"{hours}h{minutes + math.ceil(rest / 60)}m" if rest else duration


# --- EC2NodeClass


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
