"""A bundle as files: chart values, one file per object, and a list of the releases in order.

This module does not access the disk; :mod:`eks_hardware.kubernetes.files.write` does.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eks_hardware.kubernetes.model import Bundle, ChartRelease, Object, ObjectRelease
from eks_hardware.kubernetes.references import Reference, references_in, replaced, texts
from eks_hardware.kubernetes.yaml_text import yaml_text

RELEASES_FILE = "releases.yaml"

SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
"""The annotation that stops Flux from substituting an object's own ``${...}``.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution
"""

# Most file systems allow 255 bytes, and a draft's name is longer than the final file's.
_LONGEST_NAME = 200
_HASH_LENGTH = 8


@dataclass(frozen=True)
class ReleaseFiles:
    """The files of one release.

    Attributes:
        release: the release in the bundle.
        files: text by path: the chart's values, or one file per object, in the order of installation.
        place: path of the values file, or of the folder of the objects.
        open: references still to fill in.
        missing_namespaces: namespaces of the release's objects that no earlier release creates.
    """

    release: ChartRelease | ObjectRelease
    files: Mapping[str, str]
    place: str
    open: tuple[Reference, ...] = ()
    missing_namespaces: tuple[str, ...] = ()

    @property
    def namespaces(self) -> list[str]:
        """The files of namespaces, to apply first, because kubectl applies a folder in alphabetical order."""
        if isinstance(self.release, ChartRelease):
            return []
        return [
            path for path, item in zip(self.files, self.release.objects, strict=True) if item["kind"] == "Namespace"
        ]

    @property
    def kinds(self) -> dict[str, int]:
        """The number of objects by kind."""
        if isinstance(self.release, ChartRelease):
            return {}
        return dict(sorted(Counter(str(manifest["kind"]) for manifest in self.release.objects).items()))


@dataclass(frozen=True)
class Tree:
    """All files of a bundle.

    Attributes:
        name: name of the strategy and its cluster.
        unfillable: files of objects with open references and with a ``${`` that is not a reference, which Flux must not
            substitute.
    """

    name: str
    region: str
    releases: tuple[ReleaseFiles, ...]
    unfillable: tuple[str, ...] = field(default=())

    @property
    def open(self) -> tuple[Reference, ...]:
        """References still to fill in, sorted."""
        return tuple(sorted({reference for release in self.releases for reference in release.open}))

    @property
    def charts(self) -> tuple[ChartRelease, ...]:
        """The releases of charts, in order."""
        return tuple(release.release for release in self.releases if isinstance(release.release, ChartRelease))

    def files(self) -> dict[str, str]:
        """The texts by path, starting with the list of releases."""
        files = {RELEASES_FILE: yaml_text(self._listed())}
        for release in self.releases:
            files |= release.files
        return files

    def _listed(self) -> dict[str, object]:
        listed: dict[str, object] = {"cluster": self.name, "region": self.region}
        if self.open:
            listed["fill_in"] = [reference.value for reference in self.open]
        listed["releases"] = [_entry(release) for release in self.releases]
        return listed


def tree(bundle: Bundle, *, name: str, region: str, known: Mapping[Reference, str]) -> Tree:
    """Convert a bundle to files.

    Args:
        name: name of the strategy.
        known: values of references; the others are written as ``${vpc_id}``.
    """
    fillable = any(_open(_content(each), known) for each in bundle.releases)

    def text(reference: Reference) -> str:
        return known.get(reference, f"${{{reference.value}}}")

    folders = _unique({each.name: each.name for each in bundle.releases})
    releases = []
    unfillable: list[str] = []
    namespaces = {"default", "kube-system"}
    for release in bundle.releases:
        created, used = _namespaces(release)
        namespaces |= created
        missing = tuple(sorted(used - namespaces))
        namespaces |= used
        if isinstance(release, ChartRelease):
            place = f"values/{folders[release.name]}.yaml"
            contents: dict[str, object] = {place: release.values}
        else:
            place = f"manifests/{folders[release.name]}"
            contents = {
                f"{place}/{file}.yaml": _shielded(each) if fillable else each
                for file, each in zip(_object_names(release.objects), release.objects, strict=True)
            }
            unfillable += [
                path for path, content in contents.items() if _has_dollar_brace(content) and _open(content, known)
            ]
        files = {path: yaml_text(replaced(content, text)) for path, content in contents.items()}
        releases.append(ReleaseFiles(release, files, place, _open(_content(release), known), missing))
    return Tree(name, region, tuple(releases), tuple(unfillable))


def _namespaces(release: ChartRelease | ObjectRelease) -> tuple[set[str], set[str]]:
    """Return the namespaces that a release creates, and the namespaces that its objects are in."""
    if isinstance(release, ChartRelease):
        return {release.namespace}, set()  # helm --create-namespace
    created = {str(manifest["metadata"]["name"]) for manifest in release.objects if manifest["kind"] == "Namespace"}
    return created, {
        str(manifest["metadata"]["namespace"]) for manifest in release.objects if "namespace" in manifest["metadata"]
    }


def _content(release: ChartRelease | ObjectRelease) -> object:
    return release.values if isinstance(release, ChartRelease) else release.objects


def _entry(each: ReleaseFiles) -> dict[str, object]:
    release = each.release
    entry: dict[str, object] = {"name": release.name, "namespace": release.namespace}
    if isinstance(release, ChartRelease):
        entry |= {
            "chart": release.chart,
            "repository": release.repository,
            "version": release.version,
            "values": each.place,
        }
    else:
        entry |= {"manifests": each.place, "objects": each.kinds}
    if release.after:
        entry["after"] = list(release.after)
    return {**entry, "timeout_seconds": release.timeout_seconds}


def _open(value: object, known: Mapping[Reference, str]) -> tuple[Reference, ...]:
    """Return the references without a known value, sorted and without duplicates."""
    references = {reference for text in texts(value) for reference in references_in(text)}
    return tuple(sorted(references - set(known)))


def _has_dollar_brace(value: object) -> bool:
    """Return whether there is a ``${`` that is not a reference, as in a shell script or a Grafana dashboard."""
    return any("${" in text for text in texts(value))


def _shielded(item: Object) -> Object:
    """Return the object, with an annotation that stops Flux if the object contains its own ``${``."""
    if not _has_dollar_brace(item):
        return item
    metadata = item["metadata"]
    return {
        **item,
        "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), SUBSTITUTE: "disabled"}},
    }


def _object_names(objects: Sequence[Object]) -> list[str]:
    """Return a file name for each object, such as ``nodepool-gpu``, with the namespace if two would be equal."""
    identities = [
        (
            manifest["kind"],
            manifest["metadata"]["name"],
            manifest["metadata"].get("namespace", ""),
            manifest["apiVersion"].rpartition("/")[0],
        )
        for manifest in objects
    ]
    twice = [identity for identity, count in Counter(identities).items() if count > 1]
    if twice:
        names = ", ".join("/".join(filter(None, name)) for name in twice)
        raise ValueError(f"objects must be unique, got two of: {names}")
    short = Counter(_safe(f"{kind}-{name}") for kind, name, _, _ in identities)
    wanted = {
        identity: f"{kind}-{name}" if short[_safe(f"{kind}-{name}")] == 1 else f"{kind}-{namespace}-{name}"
        for identity in identities
        for kind, name, namespace, _ in [identity]
    }
    named = _unique(wanted)
    return [named[identity] for identity in identities]


def _unique(wanted: Mapping[Any, str]) -> dict[Any, str]:
    """Return safe and unique names; equal names get a hash of the key."""
    safe = {key: _safe(name) for key, name in wanted.items()}
    count = Counter(safe.values())
    return {
        key: name if count[name] == 1 and len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}-{_digest(key)}"
        for key, name in safe.items()
    }


def _safe(name: str) -> str:
    """Return a lower-case name that is safe in file systems and shells, without a leading dot."""
    return re.sub(r"[^a-z0-9.-]", "-", name.lower()).lstrip(".-") or "-"


def _digest(key: object) -> str:
    return hashlib.sha256(repr(key).encode()).hexdigest()[:_HASH_LENGTH]
