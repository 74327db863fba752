"""The settings that a node reads from its user data when it boots, as nodeadm (AL2023) and Bottlerocket do.

Sources:

- nodeadm: https://github.com/awslabs/amazon-eks-ami/tree/main/nodeadm (``internal/configprovider/mime.go``,
  ``internal/api/merge.go``, ``internal/kubelet/config.go``)
- Bottlerocket: https://bottlerocket.dev/en/os/latest/#/api/settings/kubernetes/
- the kubelet's flags: https://github.com/kubernetes/kubernetes/blob/v1.35.4/cmd/kubelet/app/options/options.go
"""

from __future__ import annotations

import base64
import binascii
import email
import gzip
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import yaml

from eks_hardware.resolve.mappings import merged

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

Map = Mapping[str, Any]

_NODE_CONFIG = "application/node.eks.aws"
_SCRIPTS = ("text/x-shellscript", "text/cloud-boothook")
_GZIP = b"\x1f\x8b"
_HUGE_PAGES = re.compile(rb"vm[./]nr_hugepages\s*=\s*(\d+)|echo\s+(\d+)\s*>+\s*/proc/sys/vm/nr_hugepages")
_HUGE_PAGES_SETTING = "vm/nr_hugepages"

# The kubelet exits if --node-labels has any other label in Kubernetes' own namespaces:
# https://github.com/kubernetes/kubernetes/blob/v1.35.4/staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go
_KUBERNETES_NAMESPACES = ("kubernetes.io", "k8s.io")
_KUBELET_NAMESPACES = ("kubelet.kubernetes.io", "node.kubernetes.io")
_KUBELET_LABELS = frozenset(
    {
        *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"),
        *("beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type"),
        *("topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
        *("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"),
        "node.kubernetes.io/instance-type",
    }
)


class UserDataError(Exception):
    """Raised when a node with this user data cannot join a cluster. The text gives the reason."""


@dataclass(frozen=True)
class Boot:
    """A node's settings, from its user data alone.

    Attributes:
        family: ``al2023`` or ``bottlerocket``.
        endpoint: The API server's address.
        authority: The certificate of the API server's CA, in PEM.
        max_pods: The kubelet's ``maxPods``; None if the user data does not set it.
        reserved: The ``kubeReserved`` and ``systemReserved`` that the user data sets, by ``kube`` and ``system``.
        eviction: The ``evictionHard`` that the user data sets.
        instance_name: Whether the node's name is the instance's ID.
        instance_store: Whether pods' files are on the instance's own disks.
        huge_pages: The number of huge pages of 2 MiB; None if the user data does not set it.
        settings: The NodeConfig's spec, or Bottlerocket's settings.
    """

    family: str
    cluster: str
    endpoint: str
    authority: bytes
    labels: Mapping[str, str]
    taints: tuple[Map, ...]
    max_pods: int | None
    reserved: Mapping[str, Mapping[str, str]]
    eviction: Mapping[str, str]
    instance_name: bool
    instance_store: bool
    huge_pages: int | None
    settings: Map


def decoded(data: bytes) -> bytes:
    """Return user data as plain bytes, decoded from base64 and decompressed if necessary."""
    try:
        return _decompressed(base64.b64decode(b"".join(data.split()), validate=True))
    except binascii.Error:
        return _decompressed(data)


def _decompressed(data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise UserDataError(f"the compressed user data is damaged: {error}") from None


def node_config(data: bytes) -> dict[str, Any]:
    """Return the spec of the NodeConfig in an AL2023 node's user data. Several NodeConfigs are merged in order.

    Raises:
        UserDataError: The user data has no NodeConfig, or an invalid one.
    """
    specs = [_spec(content) for kind, content in _mime_parts(data) if kind == _NODE_CONFIG]
    if not specs:
        raise UserDataError(f"the user data must have a part of type {_NODE_CONFIG}")
    return reduce(_merge_specs, specs)


def bottlerocket_settings(data: bytes) -> dict[str, Any]:
    """Return the settings in a Bottlerocket node's user data.

    Raises:
        UserDataError: The user data is not TOML, or has no settings.
    """
    try:
        document = tomllib.loads(_decompressed(data).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserDataError(f"Bottlerocket's user data must be TOML: {error}") from None
    settings = document.get("settings")
    if not isinstance(settings, dict):
        raise UserDataError("Bottlerocket's user data must have a table 'settings'")
    return settings


def boot(data: bytes, *, bottlerocket: bool) -> Boot:
    """Return the settings that an AL2023 or Bottlerocket node reads from its user data.

    Raises:
        UserDataError: The node could not join a cluster.
    """
    try:
        return _of_bottlerocket(bottlerocket_settings(data)) if bottlerocket else _of_nodeadm(data)
    except (AttributeError, TypeError, ValueError) as error:
        raise UserDataError(f"the user data has a value of the wrong type: {error}") from None


# --- AL2023


def _mime_parts(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the type and content of each MIME part. Like nodeadm, treat user data without parts as one NodeConfig."""
    data = decoded(data)
    message = email.message_from_bytes(data)
    if message.get_content_maintype() != "multipart":
        yield _NODE_CONFIG, data
        return
    if message.defects:
        defects = ", ".join(type(defect).__name__ for defect in message.defects)
        raise UserDataError(f"the user data must be a complete MIME multipart document: {defects}")
    for part in message.walk():
        if not part.is_multipart():
            payload = part.get_payload(decode=True)
            yield part.get_content_type(), decoded(payload if isinstance(payload, bytes) else b"")


def _spec(content: bytes) -> dict[str, object]:
    try:
        document = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserDataError(f"the NodeConfig must be YAML or JSON: {' '.join(str(error).split())}") from None
    known = ("node.eks.aws/v1alpha1", "NodeConfig")
    if not isinstance(document, dict) or (document.get("apiVersion"), document.get("kind")) != known:
        raise UserDataError(f"the user data must have an object of kind {known[1]} and apiVersion {known[0]}")
    spec = document.get("spec") or {}
    if not isinstance(spec, dict):
        raise UserDataError("the NodeConfig's spec must be a map")
    return spec


def _merge_specs(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge two specs: merge maps, append the kubelet's flags, and replace other values."""
    given = {key: value for key, value in (above.get("cluster") or {}).items() if value}
    both = merged(below, {**above, "cluster": {**(below.get("cluster") or {}), **given}})
    flags = [*_flags(below), *_flags(above)]
    return merged(both, {"kubelet": {"flags": flags}}) if flags else both


def _flags(spec: Map) -> Sequence[str]:
    return (spec.get("kubelet") or {}).get("flags") or ()


def _of_nodeadm(data: bytes) -> Boot:
    spec = node_config(data)
    cluster, kubelet = spec.get("cluster") or {}, spec.get("kubelet") or {}
    for key in ("name", "apiServerEndpoint", "certificateAuthority", "cidr"):
        if not cluster.get(key):
            # https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/validation.go
            raise UserDataError(f"the NodeConfig must set spec.cluster.{key}")
    config, flags = kubelet.get("config") or {}, _kubelet_flags(_flags(spec))
    labels = dict(pair for text in flags.get("node-labels", ()) for pair in _pairs(text))
    _check_labels(labels)
    # If a flag is repeated, the last value applies. A flag overrides the configuration's value.
    tainted = (
        [_taint(text) for text in flags["register-with-taints"][-1].split(",") if text]
        if ("register-with-taints" in flags)
        else list(config.get("registerWithTaints") or ())
    )
    pods = flags["max-pods"][-1] if "max-pods" in flags else config.get("maxPods")
    scripts = b"\n".join(content for kind, content in _mime_parts(data) if kind in _SCRIPTS)
    huge_pages = _HUGE_PAGES.search(scripts)
    return Boot(
        family="al2023",
        cluster=cluster["name"],
        endpoint=cluster["apiServerEndpoint"],
        authority=_pem(cluster["certificateAuthority"]),
        labels=labels,
        taints=tuple(tainted),
        max_pods=int(pods) if pods else None,
        reserved={"kube": config.get("kubeReserved") or {}, "system": config.get("systemReserved") or {}},
        eviction=config.get("evictionHard") or {},
        instance_name=bool((spec.get("featureGates") or {}).get("InstanceIdNodeName")),
        instance_store=str(((spec.get("instance") or {}).get("localStorage") or {}).get("strategy")).startswith("RAID"),
        huge_pages=int(huge_pages[1] or huge_pages[2]) if huge_pages else None,
        settings=spec,
    )


def _kubelet_flags(flags: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each flag, in order. systemd parses the flags, which can be quoted as in a shell."""
    values: dict[str, list[str]] = {}
    for flag in shlex.split(" ".join(flags)):
        name, _, value = flag.removeprefix("--").partition("=")
        values.setdefault(name, []).append(value)
    return values


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in filter(None, text.split(",")):
        key, _, value = pair.partition("=")
        yield key.strip(), value.strip()


def _check_labels(labels: Mapping[str, str]) -> None:
    unknown = sorted(
        key
        for key in labels
        if _is_in(key, _KUBERNETES_NAMESPACES) and key not in _KUBELET_LABELS and not _is_in(key, _KUBELET_NAMESPACES)
    )
    if unknown:
        raise UserDataError(f"the kubelet must not set labels in Kubernetes' own namespaces: {', '.join(unknown)}")


def _is_in(key: str, namespaces: Sequence[str]) -> bool:
    namespace = key.partition("/")[0] if "/" in key else ""
    return any(namespace == each or namespace.endswith(f".{each}") for each in namespaces)


def _taint(text: str) -> dict[str, str]:
    """Parse a taint such as ``key=value:Effect`` or ``key:Effect``."""
    start, _, effect = text.rpartition(":")
    key, _, value = start.partition("=")
    return {"key": key, "value": value, "effect": effect}


# --- Bottlerocket


def _of_bottlerocket(settings: Map) -> Boot:
    kubernetes = settings.get("kubernetes") or {}
    for key in ("cluster-name", "api-server", "cluster-certificate"):
        if not kubernetes.get(key):
            raise UserDataError(f"Bottlerocket's user data must set settings.kubernetes.{key}")
    labels = {key: str(value) for key, value in (kubernetes.get("node-labels") or {}).items()}
    _check_labels(labels)
    pods = kubernetes.get("max-pods")
    pages = ((settings.get("kernel") or {}).get("sysctl") or {}).get(_HUGE_PAGES_SETTING)
    return Boot(
        family="bottlerocket",
        cluster=kubernetes["cluster-name"],
        endpoint=kubernetes["api-server"],
        authority=_pem(kubernetes["cluster-certificate"]),
        labels=labels,
        taints=tuple(_bottlerocket_taints(kubernetes.get("node-taints") or {})),
        max_pods=int(pods) if pods else None,
        reserved={purpose: kubernetes.get(f"{purpose}-reserved") or {} for purpose in ("kube", "system")},
        eviction=kubernetes.get("eviction-hard") or {},
        instance_name=kubernetes.get("hostname-override-source") == "instance-id",
        # The commands that prepare the disks: https://bottlerocket.dev/en/os/latest/#/concepts/ephemeral-storage/
        instance_store="ephemeral-storage" in str(settings.get("bootstrap-commands")),
        huge_pages=int(pages) if pages is not None else None,
        settings=settings,
    )


def _bottlerocket_taints(taints: Mapping[str, str | list[str]]) -> Iterator[dict[str, str]]:
    """Parse taints such as ``"key" = ["value:Effect"]``; older settings have a single string instead of a list."""
    for key, given in taints.items():
        for text in [given] if isinstance(given, str) else given:
            value, _, effect = text.rpartition(":")
            yield {"key": key, "value": value, "effect": effect}


def _pem(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True).strip()
    except (binascii.Error, ValueError):
        raise UserDataError("the cluster's CA certificate must be in base64") from None
