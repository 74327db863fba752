"""A small strategy as text: some node groups beside what every cluster needs."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from eks_hardware import software
from eks_hardware.catalogue import load
from eks_hardware.loader import parse_strategy
from eks_hardware.loader.yaml_scalars import resolve_plain
from eks_hardware.models import ClusterSpec
from eks_hardware.models.nodes import Capacity
from eks_hardware.printable import shown
from eks_hardware.rules import check

RESERVED = ("reserved", "capacity-block")
"""Ways to buy that need a reservation."""

_WIDTH = 110
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
# Four vCPUs and 16 GiB: CoreDNS, Karpenter and the add-ons of two nodes have room. The first that a region has.
_SYSTEM_TYPES = ("m7i.xlarge", "m6i.xlarge", "m5.xlarge", "m7g.xlarge")


class WriteError(Exception):
    """A file that is not written; the text is for the user."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """A node group as it is written."""

    name: str
    workload: str  # what its nodes are for, in a word
    instance_types: Sequence[str]  # best first
    most: int  # nodes
    fewest: int = 0  # nodes that always run
    efa: bool = False
    capacity: Capacity = "on-demand"
    zone_id: str | None = None  # of the reservation, for capacity that needs one
    needs: Mapping[str, str] = field(default_factory=dict)
    release: str | None = None  # image release to pin
    disk_gib: int | None = None  # size of the volume for images; None for the default
    comments: Sequence[str] = ()  # why, a sentence each: above the group
    scaling_comment: str = ""  # after the number of nodes


def refuse_name(name: str) -> None:
    """Raise a WriteError for what cannot be the name of a cluster."""
    if not _NAME.fullmatch(name):
        raise WriteError(
            f'"{shown(name)}" cannot be the name of a cluster: letters, digits, hyphens and underscores, at most 100'
        )


def strategy_text(name: str, region: str, groups: Sequence[Group], *, heading: Sequence[str] = ()) -> str:
    """A strategy with some node groups beside a system group, and with comments at its top.

    Where the software of a group needs an older image than the newest, that is pinned.

    Raises:
        WriteError: the name is none, or the region offers no type for the system group.
    """
    refuse_name(name)
    system = next((each for each in _SYSTEM_TYPES if load().offered(each, region)), None)
    if system is None:
        raise WriteError(f"the catalogue knows no type for the system group in {shown(region)}")
    base = Group(
        name="system",
        workload="system",
        instance_types=(system,),
        fewest=2,
        most=4,
        comments=("Without a taint: CoreDNS and every add-on run here.",),
    )

    def text(*others: Group) -> str:
        return "\n".join(_lines(name, region, (base, *others), heading)) + "\n"

    return text(*(_with_image(group, text) for group in groups))


# --- images


def _with_image(group: Group, text: Callable[[Group], str]) -> Group:
    """The group, pinned to the newest image with a driver for its software where the newest of all has another."""
    if "neuron_sdk" not in group.needs or not _driver_findings(text(group)):
        return group
    for _, release in software.known_releases("al2023", ClusterSpec().kubernetes_version):
        pinned = replace(group, release=release)
        if not _driver_findings(text(pinned)):
            return pinned
    return group


def _driver_findings(text: str) -> list[str]:
    found = check(parse_strategy(text).strategy)
    return [each.code for each in found if each.code.startswith(("NEEDS_DRIVER", "AMI_RELEASE"))]


# --- as YAML


def _lines(name: str, region: str, groups: Sequence[Group], heading: Sequence[str]) -> Iterator[str]:
    for line in heading:
        yield from _comment(line)
    yield from ("version: 1", f"name: {_scalar(name)}", f"region: {region}", "", "cluster:")
    yield f"  kubernetes_version: {_scalar(ClusterSpec().kubernetes_version)}"
    yield "  endpoint: {public_cidrs: [0.0.0.0/0]}   # IAM decides who gets in; narrow it to where you deploy from"
    yield "  creator_is_admin: true        # whoever creates the cluster; add your team's roles under `admins`"
    yield from ("", "network:", "  cidr: 10.0.0.0/16", "  nat_gateways: single", "", "node_groups:")
    for index, group in enumerate(groups):
        if index:
            yield ""
        yield from _group_lines(group)


def _group_lines(group: Group) -> Iterator[str]:
    for comment in group.comments:
        yield from _comment(comment, "  ")
    yield f"  - name: {_scalar(group.name)}"
    yield f"    workload: {group.workload}"
    yield f"    instance_types: [{', '.join(group.instance_types)}]"
    if group.efa:
        yield "    efa: true"
    if group.capacity != "on-demand":
        yield f"    capacity: {group.capacity}"
    if group.capacity in RESERVED:
        yield f"    reservation: {{id: cr-0123456789abcdef0, zone: {group.zone_id}}}"
        yield "    update: {strategy: minimal}"
    if group.needs:
        yield f"    needs: {{{', '.join(f'{key}: {_scalar(value)}' for key, value in group.needs.items())}}}"
    if group.release:
        yield f"    ami: {{release_version: {_scalar(group.release)}}}   # the newest whose driver has that SDK"
    if group.disk_gib:
        yield f"    disk: {{size_gib: {group.disk_gib}}}   # images, and the weights as they are downloaded"
    behind = f"   # {group.scaling_comment}" if group.scaling_comment else ""
    yield f"    scaling: {{min: {group.fewest}, max: {group.most}}}{behind}"


def _comment(text: str, indent: str = "") -> list[str]:
    start = f"{indent}# "
    return textwrap.wrap(
        shown(text, 600), _WIDTH, initial_indent=start, subsequent_indent=start, break_long_words=False
    )


def _scalar(text: str) -> str:
    """Text as YAML reads it back: in quotes where it would be a number or a word with a meaning."""
    old_boolean = text.lower() in ("yes", "no", "on", "off", "y", "n")
    return text if resolve_plain(text) == text and not old_boolean else json.dumps(text)
