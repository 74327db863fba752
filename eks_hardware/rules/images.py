"""Rules about the images of node groups: contradictions, and the releases that a group pins.

:mod:`eks_hardware.rules.releases` has the checks of releases that Karpenter's pools share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from eks_hardware import facts
from eks_hardware.models import NodeGroupSpec
from eks_hardware.printable import quoted
from eks_hardware.resolve.node import ami_family
from eks_hardware.rules.karpenter import image_releases
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path, warning
from eks_hardware.rules.releases import day, day_fault, known_faults, kubernetes_fault, variant
from eks_hardware.versions import ami_release, numbers


@error("AMI_CONFLICT")
def _conflict(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        if pool.ami.image_id and pool.ami.version:
            yield (
                node_path(pool, "ami.version"),
                "ami.image_id is your own image, so ami.version has no effect; remove one of them",
            )
    for group in context.strategy.node_groups:
        for name in ("type", "release_version"):
            if group.ami.image_id and getattr(group.ami, name):
                yield (
                    node_path(group, f"ami.{name}"),
                    f"ami.image_id is your own image, so ami.{name} has no effect; remove one of them",
                )
        wanted = group.ami.type
        if wanted and "family" in group.ami.model_fields_set and not wanted.lower().startswith(group.ami.family):
            yield (
                node_path(group, "ami.family"),
                f"ami.type {wanted} is not an image of {group.ami.family}; remove this line, because the type includes "
                "the family",
            )


# --- releases


class _Release(NamedTuple):
    """A release that a group pins, as in an alias (``v20260714``); on AL2023 with the kubelet version."""

    group: NodeGroupSpec
    path: str
    family: str
    name: str
    kubelet: str | None


def _pins(context: Context) -> Iterator[tuple[NodeGroupSpec, str, str, str]]:
    """Yield groups that pin a release of EKS's images, with its path, operating system, and text."""
    for group in context.strategy.node_groups:
        if group.ami.release_version and not group.ami.image_id:
            yield group, node_path(group, "ami.release_version"), ami_family(group), group.ami.release_version


def _releases(context: Context) -> Iterator[_Release]:
    """Yield the pinned releases with a valid format."""
    for group, path, family, text in _pins(context):
        if _format_fault(context, family, text) is None and (release := ami_release(family, text)):
            yield _Release(group, path, family, release.name, release.kubelet)


def _format_fault(context: Context, family: str, text: str) -> str | None:
    """Return why the text cannot be a release; None if it can."""
    al2023, bottlerocket = ami_release("al2023", text), ami_release("bottlerocket", text)
    if family == "al2023":
        if al2023:
            return day_fault(al2023.name, context.today)
        other = "bottlerocket" if bottlerocket else None
    else:
        # Eight digits that form a date are not a commit.
        other = "al2023" if al2023 and day(al2023.name) else None
        if other is None and bottlerocket:
            return None
    if other:
        return f"must be a release of {family}, got {text}, a release of {other}"
    return f"must be a release of {family}, got {quoted(text)}"


def _example(context: Context, family: str) -> str:
    """Return an example of a release for the cluster's version."""
    if family == "bottlerocket":
        return facts.ami_releases()["bottlerocket"]["example"]
    kubernetes, kubelets = context.strategy.cluster.kubernetes_version, facts.ami_releases()["al2023"]["kubelets"]
    fitting = (
        f"{kubelet}-{published}"
        for published, versions in kubelets.items()
        for kubelet in versions.split()
        if kubelet.startswith(f"{kubernetes}.")
    )
    return next(fitting, "1.35.6-20260714")


@error("AMI_RELEASE_FORMAT")
def _format(context: Context) -> Iterator[Breach]:
    for _, path, family, text in _pins(context):
        if fault := _format_fault(context, family, text):
            parts = "version and commit" if family == "bottlerocket" else "the kubelet version and the release date"
            yield path, f"{fault}; write {parts}, such as {_example(context, family)}"


@error("AMI_RELEASE_KUBERNETES")
def _kubernetes(context: Context) -> Iterator[Breach]:
    kubernetes = context.strategy.cluster.kubernetes_version
    for release in _releases(context):
        if release.kubelet and not release.kubelet.startswith(f"{kubernetes}."):
            yield (
                release.path,
                f"the release must have kubelet {kubernetes}, the cluster's version, got {release.kubelet}; pin one "
                f"such as {_example(context, release.family)}",
            )
        elif fault := kubernetes_fault(release.family, release.name, kubernetes):
            yield release.path, f"{fault}; pin another release"


def _recorded(release: _Release) -> list[str] | None:
    """Return the kubelet versions of an AL2023 release; None if no release of that date is recorded."""
    version = facts.ami_releases()["al2023"]["kubelets"].get(release.name[1:])
    return version.split() if version else None


@error("AMI_RELEASE_UNKNOWN")
def _unknown(context: Context) -> Iterator[Breach]:
    for release in _releases(context):
        if release.kubelet and (kubelets := _recorded(release)) and release.kubelet not in kubelets:
            minor = release.kubelet.rpartition(".")[0]
            same = [kubelet for kubelet in kubelets if kubelet.rpartition(".")[0] == minor]
            # If there is none, AMI_RELEASE_KUBERNETES reports it.
            if same:
                right = f"{same[0]}-{release.name[1:]}"
                yield (
                    release.path,
                    f"the release of that date must have kubelet {same[0]}, got {release.kubelet}; write {right}",
                )


@warning("AMI_RELEASE_UNRECORDED")
def _unrecorded(context: Context) -> Iterator[Breach]:
    known = sorted(facts.ami_releases()["al2023"]["kubelets"])
    for release in _releases(context):
        published = release.name[1:]
        if release.kubelet and known[0] < published < known[-1] and published not in known:
            before, after = (max(x for x in known if x < published), min(x for x in known if x > published))
            yield (
                release.path,
                f"no release of {published} is recorded, and it may have been abandoned; use {before} or {after}",
            )


def _faults(context: Context, *, doubtful: bool) -> Iterator[Breach]:
    for release in _releases(context):
        for fault in known_faults(release.family, release.name, context.types(release.group), doubtful=doubtful):
            yield release.path, f"{fault}; pin another release"


@error("AMI_RELEASE_BAD")
def _bad(context: Context) -> Iterator[Breach]:
    yield from _faults(context, doubtful=False)


@warning("AMI_RELEASE_DOUBTFUL")
def _doubtful(context: Context) -> Iterator[Breach]:
    yield from _faults(context, doubtful=True)


def _pinned(context: Context) -> Iterator[tuple[Node, str, str]]:
    """Yield groups and pools with the path and the name of an EKS AL2023 release that they pin."""
    for release in _releases(context):
        if release.family == "al2023":
            yield release.group, release.path, release.name
    for pool, path, name in image_releases(context):
        if pool.ami.family == "al2023" and re.fullmatch(r"v[0-9]{8}", name):
            yield pool, path, name


@warning("EFA_DRIVER_MISSING")
def _efa_driver(context: Context) -> Iterator[Breach]:
    since = facts.ami_releases()["efa_driver"]["al2023_standard_since"]
    # Several pools can share one release field.
    older = {
        path: name
        for node, path, name in _pinned(context)
        if node.efa and variant(context.types(node)) == "standard" and numbers(name) < numbers(since)
    }
    for path, name in older.items():
        yield path, f"EKS images for CPU nodes have the EFA driver from {since} on, got {name}; pin a newer release"
