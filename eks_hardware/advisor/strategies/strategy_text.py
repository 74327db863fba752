"""A small strategy as text: node groups and the settings that every cluster needs."""

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
from eks_hardware.printable import quoted, shown
from eks_hardware.rules import check
from eks_hardware.spellings import RESERVED, Capacity

_WIDTH = 110
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
# Text without a special meaning in YAML, such as a network or an ARN.
_PLAIN = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z_./@+=-]|:(?=[0-9A-Za-z:]))*")
# Four vCPUs and 16 GiB: two nodes have room for CoreDNS, Karpenter and the add-ons. The first type in a region is used.
_SYSTEM_TYPES = ("m7i.xlarge", "m6i.xlarge", "m5.xlarge", "m7g.xlarge")


class WriteError(Exception):
    """Raised when a file cannot be written. The text is for the user."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """A node group to write."""

    name: str
    workload: str  # kind of workload, one word
    instance_types: Sequence[str]  # best first
    most: int  # nodes
    fewest: int = 0  # minimum number of nodes
    efa: bool = False
    capacity: Capacity = "on-demand"
    zone_id: str | None = None  # of the reservation, for capacity that needs one
    needs: Mapping[str, str] = field(default_factory=dict)
    release: str | None = None  # image release to pin
    disk_gib: int | None = None  # size of the volume for images; None for the default
    comments: Sequence[str] = ()  # reasons, one sentence each, above the group
    scaling_comment: str = ""  # after the number of nodes


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the cluster around the groups."""

    public_cidrs: tuple[str, ...]  # networks with access to the Kubernetes API; empty for the private endpoint alone
    admins: tuple[str, ...] = ()  # ARNs of IAM roles or users, in addition to the deploying role
    state_bucket: str | None = None  # S3 bucket of the Terraform state; None for a local file
    max_usd_per_month: float | None = None  # spending limit with every group at its maximum


def refuse_name(name: str, label: str = "the cluster name") -> None:
    """Raise a WriteError if a name is not valid for a cluster. Its text starts with the ``label``, if there is one."""
    if not _NAME.fullmatch(name):
        raise WriteError(
            f"{label} must be at most 100 letters, digits, hyphens and underscores, and start with a letter or digit, "
            f"got {quoted(name)}".lstrip()
        )


def strategy_text(
    name: str, region: str, groups: Sequence[Group], settings: Settings, *, heading: Sequence[str] = ()
) -> str:
    """Return a strategy with a system group, the given groups, and comments at the top.

    If the software of a group needs an older AMI than the newest, the group pins it.

    Raises:
        WriteError: the name is not valid, or the region offers no type for the system group.
    """
    refuse_name(name)
    system = next((system_type for system_type in _SYSTEM_TYPES if load().offered(system_type, region)), None)
    if system is None:
        raise WriteError(f"the catalogue lists no type for the system group in {shown(region)}")
    base = Group(
        name="system",
        workload="system",
        instance_types=(system,),
        fewest=2,
        most=4,
        comments=("No taint: CoreDNS and every add-on run here.",),
    )

    def text(*others: Group) -> str:
        head = (*_cluster_lines(name, region, settings, heading), *_network_and_state_lines(region, settings))
        return "\n".join((*head, *_groups_lines((base, *others)))) + "\n"

    return text(*(_with_image(group, text) for group in groups))


# --- images


def _with_image(group: Group, text: Callable[[Group], str]) -> Group:
    """Return the group, pinned to the newest AMI with a driver for its software if the newest of all has none."""
    if "neuron_sdk" not in group.needs or not _driver_findings(text(group)):
        return group
    for _, release in software.known_releases("al2023", ClusterSpec().kubernetes_version):
        pinned = replace(group, release=release)
        if not _driver_findings(text(pinned)):
            return pinned
    return group


def _driver_findings(text: str) -> list[str]:
    findings = check(parse_strategy(text).strategy)
    return [finding.code for finding in findings if finding.code.startswith(("NEEDS_DRIVER", "AMI_RELEASE"))]


# --- as YAML


def _cluster_lines(name: str, region: str, settings: Settings, heading: Sequence[str]) -> Iterator[str]:
    for line in heading:
        yield from _comment(line)
    yield from ("version: 1", f"name: {_scalar(name)}", f"region: {region}", "", "cluster:")
    yield f"  kubernetes_version: {_scalar(ClusterSpec().kubernetes_version)}"
    networks = ", ".join(map(_scalar, settings.public_cidrs))
    reach = "networks with access to the Kubernetes API" if networks else "the Kubernetes API is inside the VPC only"
    yield f"  endpoint: {{public_cidrs: [{networks}]}}   # {reach}"
    if settings.admins:
        yield "  creator_is_admin: true        # the role that deploys; EKS rejects it if `admins` lists it, too"
        yield "  admins:"
        yield from (f"    - {_scalar(admin)}" for admin in settings.admins)
    else:
        yield "  creator_is_admin: true        # the role that deploys; add your team's other roles under `admins`"


def _network_and_state_lines(region: str, settings: Settings) -> Iterator[str]:
    yield from ("", "network:", "  cidr: 10.0.0.0/16", "  nat_gateways: single", "")
    if not settings.public_cidrs:
        yield from ("kubernetes:", "  delivery: manifests           # install them from inside the VPC afterwards", "")
    if settings.state_bucket is not None:
        bucket = _scalar(settings.state_bucket)
        yield f"backend: {{type: s3, bucket: {bucket}, region: {region}}}   # the region of the bucket"
        yield ""
    if settings.max_usd_per_month is not None:
        limit = f"{settings.max_usd_per_month:.2f}".removesuffix(".00")
        yield from (f"budget: {{usd_per_month_at_max: {limit}}}   # with every group at its max", "")


def _groups_lines(groups: Sequence[Group]) -> Iterator[str]:
    yield "node_groups:"
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
        yield f"    ami: {{release_version: {_scalar(group.release)}}}   # the newest with a driver for this SDK"
    if group.disk_gib:
        yield f"    disk: {{size_gib: {group.disk_gib}}}   # container images and downloaded weights"
    behind = f"   # {group.scaling_comment}" if group.scaling_comment else ""
    yield f"    scaling: {{min: {group.fewest}, max: {group.most}}}{behind}"


def _comment(text: str, indent: str = "") -> list[str]:
    start = f"{indent}# "
    return textwrap.wrap(
        shown(text, 600), _WIDTH, initial_indent=start, subsequent_indent=start, break_long_words=False
    )


def _scalar(text: str) -> str:
    """Return text as YAML, in quotes if YAML would read it as anything but text."""
    old_boolean = text.lower() in ("yes", "no", "on", "off", "y", "n")
    plain = _PLAIN.fullmatch(text) and resolve_plain(text) == text and not old_boolean
    return text if plain else json.dumps(text)
