"""Files of other tools, recognized by their top-level fields, so that one message says what to do instead."""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingType

from eks_hardware.findings import Position
from eks_hardware.loader.yaml_nodes import Mapping, Node, Scalar, Sequence, child_of
from eks_hardware.printable import shown

_INIT = "write a strategy with `eks-hardware init`"
_NODES = f"{_INIT}, and copy the node groups into it"
_VALUES = "put the values under kubernetes.charts.<name>.values in a strategy that installs the chart"
_KUBERNETES = ("a Kubernetes {kind}", "name a strategy file; `eks-hardware init` writes one")
_MANIFESTS: MappingType[str, tuple[str, str]] = {
    "eksctl.io/": ("an eksctl {kind}", _NODES),
    "karpenter.": (
        "a Karpenter {kind}",
        "describe the pool under karpenter.node_pools in a strategy, which generates such objects",
    ),
    "node.eks.aws/": ("the {kind} of a node's user data", "put its spec under 'user_data' of a node group or pool"),
}
"""Names of other tools' files and what to do about them, by the start of their ``apiVersion``."""

# Kubernetes's own API groups have no dot, or end in k8s.io.
_OF_KUBERNETES = r"v[0-9]\w*|[a-z]+/v[0-9]\w*|[a-z.]+\.k8s\.io/v[0-9]\w*"
_FIELDS: tuple[tuple[frozenset[str], str, str], ...] = (
    (frozenset(["managedNodeGroups"]), "an eksctl ClusterConfig", _NODES),
    (frozenset(["AWSTemplateFormatVersion"]), "a CloudFormation template", _INIT),
    (frozenset(["Resources"]), "a CloudFormation template", _INIT),
    (frozenset(["terraform_version", "resources"]), "a Terraform state", _INIT),
    (frozenset(["resource"]), "a Terraform configuration in JSON", _INIT),
    (frozenset(["terraform", "provider"]), "a Terraform configuration in JSON", _INIT),
    (frozenset(["apiVersion", "version"]), "a Helm chart's Chart.yaml", _INIT),
    # `helm create` writes these three: pkg/chartutil/create.go of Helm 3.18.5.
    (frozenset(["replicaCount"]), "a Helm values file", _VALUES),
    (frozenset(["nameOverride"]), "a Helm values file", _VALUES),
    (frozenset(["fullnameOverride"]), "a Helm values file", _VALUES),
)
"""Top-level fields of other tools' files, the kind of file, and what to do."""

# The first line of a Terraform file that is not a comment: module "eks" {, or region = "us-west-2".
_HCL = r'(module|resource|provider|data|variable|output|locals|terraform)( "[^"]*")* *\{|\w+ = '


def other_file(root: Node) -> tuple[str, Position] | None:
    """Return the message and the position for another tool's file; None for any other file.

    Such a file often has several documents, or tags.
    """
    if isinstance(root, Scalar):
        what = "a Terraform configuration" if re.match(_HCL, root.raw) else ""
        return (_message(what, _INIT), root.position) if what else None
    if not isinstance(root, Mapping):
        return None
    version, kind = child_of(root, "apiVersion"), child_of(root, "kind")
    if isinstance(version, Scalar) and isinstance(kind, Scalar):
        return _manifest(version.raw, shown(kind.raw, 60)), version.position
    for names, what, fix in _FIELDS:
        if names <= root.entries.keys() and "node_groups" not in root.entries:
            return _message(what, fix), root.entries[min(names)].key_position
    files = child_of(root, "resources")
    if isinstance(files, Sequence) and "node_groups" not in root.entries:
        return _message("a Kustomization", _KUBERNETES[1]), root.entries["resources"].key_position
    return None


def _manifest(version: str, kind: str) -> str:
    what, fix = next((of for group, of in _MANIFESTS.items() if version.startswith(group)), _KUBERNETES)
    if (what, fix) == _KUBERNETES and not re.fullmatch(_OF_KUBERNETES, version):
        what = f"an object of kind {{kind}} ({shown(version, 60)})"
    return _message(what.format(kind=kind), fix)


def _message(what: str, fix: str) -> str:
    return f"this is {what}, which eks-hardware does not read; {fix}"
