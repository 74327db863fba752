"""The objects of a pool: NodePool (allowed nodes), EC2NodeClass (launch settings), NodeOverlay (capacity).

API: https://karpenter.sh/v1.14/concepts/nodepools/, https://karpenter.sh/v1.14/concepts/nodeclasses/,
https://karpenter.sh/v1.14/concepts/nodeoverlays/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eks_hardware.catalogue import EfaInterface
from eks_hardware.kubernetes.nodes import ARCHITECTURE_LABEL, POOL_LABEL, TYPE_LABEL, taint_object
from eks_hardware.kubernetes.references import Reference
from eks_hardware.resolve import BlockDevice, DisruptionBudget, ReservationSelector, ResolvedNodePool
from eks_hardware.resolve.network import DISCOVERY_TAG
from eks_hardware.resolve.user_data import bottlerocket_toml, node_config
from eks_hardware.spellings import KUBERNETES_ARCHITECTURES
from eks_hardware.units import whole_minutes

_FAMILIES = {"al2023": "AL2023", "bottlerocket": "Bottlerocket"}


def node_pool(pool: ResolvedNodePool) -> dict[str, object]:
    """Return the NodePool of a pool."""
    disruption = pool.disruption
    template: dict[str, object] = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool.name},
        "requirements": [
            _is_one_of(TYPE_LABEL, pool.instance_types),
            _is_one_of(
                ARCHITECTURE_LABEL, [KUBERNETES_ARCHITECTURES[architecture] for architecture in pool.architectures]
            ),
            _is_one_of("kubernetes.io/os", ["linux"]),
            _is_one_of("karpenter.sh/capacity-type", pool.capacity_types),
            # Zone IDs, because the same zone name means different zones in different accounts.
            _is_one_of("topology.k8s.aws/zone-id", pool.zone_ids),
        ],
        "expireAfter": disruption.expire_after,
    }
    if disruption.termination_grace_period:
        template["terminationGracePeriod"] = disruption.termination_grace_period
    if pool.taints:
        template["taints"] = [taint_object(taint) for taint in pool.taints]
    spec: dict[str, object] = {
        "template": {"metadata": {"labels": dict(pool.labels)}, "spec": template},
        "disruption": {
            "consolidationPolicy": disruption.consolidation_policy,
            "consolidateAfter": disruption.consolidate_after,
            "budgets": [_budget(budget) for budget in disruption.budgets],
        },
        "limits": dict(pool.limits),
    }
    if pool.weight is not None:
        spec["weight"] = pool.weight
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": pool.name}, "spec": spec}


def node_overlays(pool: ResolvedNodePool) -> Iterator[dict[str, Any]]:
    """Yield a pool's NodeOverlays, limited to its nodes, because overlays apply to all pools by default."""
    for overlay in pool.overlays:
        yield {
            "apiVersion": "karpenter.sh/v1alpha1",
            "kind": "NodeOverlay",
            "metadata": {"name": overlay.name},
            "spec": {
                "requirements": [
                    _is_one_of(POOL_LABEL, [pool.name]),
                    _is_one_of(TYPE_LABEL, overlay.instance_types),
                ],
                "capacity": dict(overlay.capacity),
            },
        }


def price_overlay(instance_type: str, usd_per_hour: float) -> dict[str, object]:
    """Return the NodeOverlay with an instance type's price. Karpenter ignores the price if other requirements are set.

    Source: https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/instancetype/offering/offering.go
    """
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": f"price-{instance_type.replace('.', '-')}"},
        "spec": {"requirements": [_is_one_of(TYPE_LABEL, [instance_type])], "price": str(usd_per_hour)},
    }


def _is_one_of(key: str, values: Sequence[str]) -> dict[str, object]:
    return {"key": key, "operator": "In", "values": list(values)}


def _budget(budget: DisruptionBudget) -> dict[str, object]:
    written: dict[str, object] = {"nodes": budget.nodes}
    if budget.reasons:
        written["reasons"] = list(budget.reasons)
    if budget.schedule and budget.duration:
        # Karpenter does not accept seconds here.
        written |= {"schedule": budget.schedule, "duration": whole_minutes(budget.duration)}
    return written


# --- EC2NodeClass


def node_class(
    pool: ResolvedNodePool, *, instance_profile: bool, security_group_ids: Sequence[str] = ()
) -> dict[str, object]:
    """Return the EC2NodeClass of a pool.

    Args:
        instance_profile: set the instance profile instead of the role, because Karpenter cannot create a profile
            itself.
        security_group_ids: security groups of the nodes; if empty, the group with the discovery tag.

    Fields without a value are left out. So is ``associatePublicIPAddress``, which EC2 refuses with more than one
    interface.
    """
    fields: dict[str, object] = {
        **_image(pool),
        **(
            {"instanceProfile": Reference.KARPENTER_INSTANCE_PROFILE.text}
            if instance_profile
            else {"role": Reference.KARPENTER_NODE_ROLE.text}
        ),
        "subnetSelectorTerms": _subnets(pool),
        "securityGroupSelectorTerms": _security_groups(pool, security_group_ids),
        "capacityReservationSelectorTerms": [_reservation(reservation) for reservation in pool.reservations],
        "placementGroupSelector": {"name": pool.placement_group_name} if pool.placement_group_name else None,
        "networkInterfaces": [_interface(interface) for interface in pool.network_interfaces],
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


def _image(pool: ResolvedNodePool) -> dict[str, object]:
    if pool.image_id is None:
        return {"amiSelectorTerms": [{"alias": pool.ami_alias}]}
    # An alias includes the AMI family; an ID does not. The family determines the format of the user data.
    return {"amiFamily": _FAMILIES[pool.ami_family], "amiSelectorTerms": [{"id": pool.image_id}]}


def _subnets(pool: ResolvedNodePool) -> list[dict[str, object]]:
    if pool.subnet_ids:
        return [{"id": pool.subnet_ids[zone]} for zone in sorted(pool.subnet_ids)]
    return [{"tags": {DISCOVERY_TAG: pool.cluster_name}}]


def _security_groups(pool: ResolvedNodePool, ids: Sequence[str]) -> list[dict[str, object]]:
    """Return the cluster's security group, found by its tag, and the EFA group. Every interface has all groups."""
    groups: list[dict[str, object]] = [{"id": each} for each in ids]
    if not groups:
        groups.append({"tags": {DISCOVERY_TAG: pool.cluster_name}})
    if pool.efa_security_group_name:
        groups.append({"name": pool.efa_security_group_name})
    return groups


def _reservation(reservation: ReservationSelector) -> dict[str, object]:
    if reservation.id:
        return {"id": reservation.id}
    owner = {"ownerID": reservation.owner_account_id} if reservation.owner_account_id else {}
    return {"tags": dict(reservation.tags), **owner}


def _interface(interface: EfaInterface) -> dict[str, object]:
    return {
        "networkCardIndex": interface.network_card_index,
        "deviceIndex": interface.device_index,
        "interfaceType": interface.interface_type,
    }


def _block_device(device: BlockDevice) -> dict[str, object]:
    """Return one volume. Configured volumes replace Karpenter's defaults, so encryption is set explicitly."""
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
    """Return user data without the part that Karpenter adds: cluster, labels, taints, and the kubelet fields above."""
    if pool.ami_family == "bottlerocket":
        return bottlerocket_toml(pool.user_data) if pool.user_data else None
    return node_config(pool.user_data, pool.shell) if pool.user_data or pool.shell else None


def _plain(value: object) -> object:
    """Convert frozen maps to plain ones, at any depth."""
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
