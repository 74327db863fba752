"""User data of a node: AL2023 NodeConfig or Bottlerocket settings.

On a managed node group EKS adds the cluster's name, endpoint and certificate itself. This is therefore plain text
without references: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-user-data
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eks_hardware import facts
from eks_hardware.models import Kubelet, StorageSpec

KUBELET_NAMES = {
    "max_pods": "maxPods",
    "cpu_manager_policy": "cpuManagerPolicy",
    "topology_manager_policy": "topologyManagerPolicy",
    "image_gc_high_threshold_percent": "imageGCHighThresholdPercent",
    "image_gc_low_threshold_percent": "imageGCLowThresholdPercent",
    "system_reserved": "systemReserved",
    "kube_reserved": "kubeReserved",
}
"""A strategy's kubelet settings, with their Kubernetes names.

Source: https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
"""

_BOUNDARY = "eks-hardware"
_SCRIPT_START = ("#!/bin/bash", "set -o errexit -o nounset -o pipefail")


def node_config(spec: Mapping[str, object], shell: Sequence[str] = ()) -> str:
    """Write a NodeConfig as MIME multipart user data, with an optional shell script that runs before the node joins.

    Before cloud-init runs, nodeadm reads the NodeConfig, wherever it is in the user data. Then cloud-init runs the
    script. When cloud-init is done, nodeadm joins the node, even if the script failed
    (https://github.com/awslabs/amazon-eks-ami, ``nodeadm-run.service``: ``After=``, not ``Requires=``).

    Schema: https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/ (``node.eks.aws/v1alpha1``)

    The script's lines must be ASCII. With a script, an empty spec is omitted.
    """
    parts: list[tuple[str, str]] = []
    if spec or not shell:
        document = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": dict(spec)}
        # JSON is YAML, so no quoting rules are needed.
        parts.append(("application/node.eks.aws", json.dumps(document, indent=2, sort_keys=True, default=dict)))
    if shell:
        parts.append(('text/x-shellscript; charset="us-ascii"', "\n".join([*_SCRIPT_START, *shell])))
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for content_type, text in parts:
        lines += [f"--{_BOUNDARY}", f"Content-Type: {content_type}", "", text]
    return "\n".join([*lines, f"--{_BOUNDARY}--", ""])


def kubelet_settings(kubelet: Kubelet, max_pods: int | None) -> dict[str, object]:
    """Return the settings of ``KUBELET_NAMES`` that the strategy sets, with the given maximum number of pods."""
    stated = {**dict(kubelet), "max_pods": max_pods}
    return {name: stated[name] for name in KUBELET_NAMES if stated[name] not in (None, {})}


def node_config_spec(kubelet: Mapping[str, object], *, instance_store: str) -> dict[str, object]:
    """Return kubelet settings and local disks as the spec of a NodeConfig."""
    spec: dict[str, object] = {}
    if kubelet:
        spec["kubelet"] = {"config": {KUBELET_NAMES[name]: value for name, value in kubelet.items()}}
    strategy = {"raid0": "RAID0", "mount": "Mount"}.get(instance_store)
    if strategy:
        spec["instance"] = {"localStorage": {"strategy": strategy}}
    return spec


def bottlerocket_settings(kubelet: Mapping[str, object], *, instance_store: str, neuron: bool) -> dict[str, object]:
    """Return kubelet settings and local disks as Bottlerocket settings.

    Sources: https://bottlerocket.dev/en/os/latest/#/api/settings/kubernetes/,
    https://docs.aws.amazon.com/eks/latest/userguide/device-management-neuron.html (device ownership)
    """
    kubernetes = {
        # Bottlerocket expects both thresholds as strings.
        name.replace("_", "-"): str(value) if name.endswith("_percent") else value
        for name, value in kubelet.items()
    }
    if neuron:
        kubernetes["device-ownership-from-security-context"] = True
    settings: dict[str, object] = {"kubernetes": kubernetes} if kubernetes else {}
    if instance_store == "raid0":
        settings["bootstrap-commands"] = {
            "instance-store": {"commands": _ephemeral_storage_commands(), "mode": "always", "essential": True}
        }
    return settings


def _ephemeral_storage_commands() -> list[list[str]]:
    # https://bottlerocket.dev/en/os/latest/#/concepts/ephemeral-storage/
    directories = ["/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"]
    return [
        ["apiclient", "ephemeral-storage", "init"],
        ["apiclient", "ephemeral-storage", "bind", "--dirs", *directories],
    ]


def bottlerocket_toml(settings: Mapping[str, object]) -> str:
    """Write Bottlerocket settings as TOML user data."""
    return "\n".join(_toml(settings, ("settings",))) + "\n"


def _toml(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Write a table and its sub-tables. TOML has no null, so null values are omitted."""
    plain = {key: value for key, value in table.items() if value is not None and not isinstance(value, Mapping)}
    if plain:
        yield f"[{'.'.join(_toml_key(key) for key in path)}]"
        for key in sorted(plain):
            yield f"{_toml_key(key)} = {_toml_value(plain[key])}"
    for key in sorted(table):
        if isinstance(table[key], Mapping):
            yield from _toml(table[key], (*path, key))


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):  # inside a list, as in container-registry.mirrors
        pairs = (f"{_toml_key(key)} = {_toml_value(value[key])}" for key in sorted(value) if value[key] is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml_value(item) for item in value if item is not None)}]"
    if isinstance(value, str):
        return _toml_text(value)
    return json.dumps(value)  # same spelling for numbers, true and false


def _toml_text(text: str) -> str:
    # JSON escapes are valid TOML, except surrogate pairs (not written here) and DEL (JSON does not escape it).
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(key: str) -> str:
    bare = key.replace("-", "").replace("_", "")
    return key if bare.isascii() and bare.isalnum() else _toml_text(key)


def node_shell(storage: StorageSpec) -> tuple[str, ...]:
    """Return the shell lines that an AL2023 node runs before it joins: EKS images do not include the Lustre client."""
    return tuple(facts.storage()["lustre_client"]["al2023"]) if storage.fsx_lustre else ()
