"""Check one section of a strategy, for constructs that get only this section.

Only the rules that do not depend on the missing sections apply. An error is raised with the code, message and fix of
``eks-hardware validate``; warnings are returned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eks_hardware.catalogue import load
from eks_hardware.findings import Finding, StrategyError, errors_in
from eks_hardware.loader import parse_strategy
from eks_hardware.models import ClusterSpec, KarpenterSpec, NetworkSpec, NodeGroupSpec, Strategy
from eks_hardware.models.node_lists import NODE_LISTS
from eks_hardware.resolve import ResolvedNodeGroup
from eks_hardware.resolve.zones import is_edge, region_code
from eks_hardware.rules import check_part
from eks_hardware.suggestions import did_you_mean

_GROUPS, _ = NODE_LISTS
_ZONE_NAME = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9][a-z]")

# Replaces a group that has already been validated.
_PLACEHOLDER = {"name": "section", "instance_types": ["m7i.large"], "scaling": {"max": 1}}

# The sections that describe the rest of the cluster. Other missing sections have defaults that no rule reports.
_OF_THE_CLUSTER = frozenset({"cluster", "karpenter", "kubernetes", "network"})


def check_group(
    config: NodeGroupSpec | Mapping[str, Any],
    *,
    path: str,
    kubernetes_version: str,
    vpc_id: str | None,
    private_subnet_ids: Mapping[str, str],
    pod_subnet_ids: Mapping[str, str] | None = None,
) -> tuple[Strategy, tuple[Finding, ...]]:
    """Check a node group; return a strategy with only this group, and the warnings.

    Args:
        config: the group, as an item of a strategy's ``node_groups``.
        path: the construct's path, for messages.
        kubernetes_version: Kubernetes version of the cluster.
        vpc_id: VPC of the cluster. The VPC and the subnets can be references to resources, such as
            ``${aws_vpc.main.id}``. If None, neither the VPC's ID nor the subnets' IDs are checked.
        private_subnet_ids: subnets for nodes, by zone ID.
        pod_subnet_ids: subnets for pods, by zone ID, with custom networking.

    Raises:
        ValueError: each error that a strategy with this group, network and version would have.
    """
    region = region_of(path, private_subnet_ids)
    subnets = {"private_subnets": private_subnet_ids, "pod_subnets": pod_subnet_ids or {}}
    existing = {
        "vpc_id": _known(vpc_id, "vpc-00000000000000000"),
        **{
            field: {
                zone: _known(vpc_id and each, f"subnet-{index}{number:016x}")
                for number, (zone, each) in enumerate(ids.items())
            }
            for index, (field, ids) in enumerate(subnets.items())
        },
    }
    document = {
        "version": 1,
        "name": "section",
        "region": region,
        "cluster": {"kubernetes_version": kubernetes_version},
        "network": {"existing": existing},
        "node_groups": [_PLACEHOLDER if isinstance(config, NodeGroupSpec) else config],
    }
    try:
        strategy = parse_strategy(json.dumps(document), file=path).strategy
    except StrategyError as error:
        raise _refused(path, error.errors) from None
    if isinstance(config, NodeGroupSpec):
        strategy = strategy.model_copy(update={"node_groups": (config,)})
    found = check_part(strategy, lists=frozenset({_GROUPS}), sections=frozenset({"kubernetes"}))
    return strategy, _warnings(path, found, (_GROUPS, "cluster.kubernetes_version"))


def check_pools(config: KarpenterSpec, *, path: str, cluster_name: str, region: str) -> tuple[Finding, ...]:
    """Check the section ``karpenter``, including its node pools; return the warnings.

    Args:
        config: the section ``karpenter``.
        path: the construct's path, for messages.
        cluster_name: name of the cluster.
        region: AWS region.

    Raises:
        ValueError: each error in the section that does not depend on other sections of the strategy.
    """
    return _check("karpenter", config, path, cluster_name, region, frozenset({_GROUPS}))


def check_network(config: NetworkSpec, *, path: str, cluster_name: str, region: str) -> tuple[Finding, ...]:
    """Check a network without its nodes; return the warnings.

    The arguments and errors are those of :func:`check_pools`.
    """
    return _check("network", config, path, cluster_name, region, frozenset())


def check_cluster(config: ClusterSpec, *, path: str, cluster_name: str, region: str) -> tuple[Finding, ...]:
    """Check a control plane with its add-ons, but without nodes and network; return the warnings.

    The arguments and errors are those of :func:`check_pools`.
    """
    return _check("cluster", config, path, cluster_name, region, frozenset())


def _check(
    section: str,
    config: ClusterSpec | KarpenterSpec | NetworkSpec,
    path: str,
    cluster_name: str,
    region: str,
    lists: frozenset[str],
) -> tuple[Finding, ...]:
    # Without node groups, the strategy must bypass the check that requires one.
    given: dict[str, Any] = {section: config}
    strategy = Strategy.model_construct(version=1, name=cluster_name, region=region, node_groups=(), **given)
    found = check_part(strategy, lists=lists, sections=_OF_THE_CLUSTER - {section})
    return _warnings(path, found, (section, "region"))


def misfits(group: ResolvedNodeGroup) -> Iterator[str]:
    """Yield an error for each inconsistency in a resolved group that EKS or EC2 would refuse.

    A group from a checked strategy has none, unless it was changed after it was resolved.
    """
    if not group.min_size <= group.desired_size <= group.max_size or group.max_size < 1:
        sizes = f"{group.min_size}, {group.desired_size} and {group.max_size}"
        yield f"min_size, desired_size and max_size must not decrease, and not all be 0, got {sizes}; change one"
    if not group.zone_ids:
        yield "zone_ids must have at least one zone, got none; name the zones that offer its types"
    if not group.instance_types:
        yield "instance_types must have at least one type, got none; add one"
    block = group.capacity_type == "CAPACITY_BLOCK"
    if block and (group.capacity_target is None or not group.instance_type_in_launch_template):
        yield (
            "capacity_type CAPACITY_BLOCK must have a capacity_target, and its type in the launch template "
            "(instance_type_in_launch_template); resolve a group with capacity: capacity-block"
        )
    for name in group.instance_types:
        kind = load().find(name)  # Types that are not in the catalogue are not checked.
        if kind is None:
            continue
        if kind.architecture != group.architecture:
            yield f"architecture must be that of {name}, {kind.architecture}, got {group.architecture}; change one"
        if not group.image_id and not kind.withdrawn and group.ami_type not in kind.ami_types:
            fitting = " or ".join(kind.ami_types) or "your own image in image_id"
            yield f"ami_type {group.ami_type} does not support {name}; use {fitting}"
        if group.efa_interfaces and not kind.supports_efa:
            yield f"efa_interfaces must be empty, because {name} has no EFA; remove them, or choose another type"


def _warnings(path: str, found: Iterable[Finding], about: tuple[str, ...]) -> tuple[Finding, ...]:
    """Return the warnings about some fields; raise if there are errors."""
    ours = [each for each in found if each.path.startswith(about)]
    if faults := errors_in(ours):
        raise _refused(path, faults)
    return tuple(ours)


def _known(id_: str | None, otherwise: str) -> str:
    """Return an ID; ``otherwise`` if it is None, or a reference to a resource, whose ID is unknown until the apply."""
    return otherwise if id_ is None or "${" in id_ else id_


def _refused(path: str, faults: Iterable[Finding]) -> ValueError:
    return ValueError("\n".join(f"{each.code} {path}: {each.path}: {each.message}" for each in faults))


def region_of(path: str, zones: object) -> str:
    """Return the region of the zones, which are the keys of a map from zone ID to subnet.

    Raises:
        ValueError: NODE_GROUP_ZONE, if a zone ID is unknown or the zones are in several regions.
    """
    if not isinstance(zones, Mapping) or not zones:
        raise ValueError(
            f"NODE_GROUP_ZONE {path}: private_subnet_ids must be a map from zone id to subnet, got {zones}"
        )
    catalogue = load()
    regions = {zone: region for region in catalogue.regions for zone in catalogue.zone_ids(region)}
    by_code = {region_code(zone): region for zone, region in regions.items()}
    for zone in map(str, zones):
        if is_edge(zone) and region_code(zone) in by_code:
            regions[zone] = by_code[region_code(zone)]
        elif zone not in regions:
            ids = "use its zone id, such as usw2-az1: `aws ec2 describe-availability-zones` lists them"
            hint = ids if _ZONE_NAME.fullmatch(zone) else did_you_mean(zone, regions, ids)
            raise ValueError(f"NODE_GROUP_ZONE {path}: {zone} is not a known zone id; {hint}")
    found = {regions[zone] for zone in zones}
    if len(found) != 1:
        named = ", ".join(sorted(found))
        raise ValueError(
            f"NODE_GROUP_ZONE {path}: all zones in private_subnet_ids must be in one region, got {named}; remove the "
            "others"
        )
    return found.pop()
