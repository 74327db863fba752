"""Time slicing as a configuration of NVIDIA's device plugin, which the GPU Operator also runs.

Source: https://github.com/NVIDIA/k8s-device-plugin/blob/v0.20.0/README.md#shared-access-to-gpus
"""

from __future__ import annotations

from collections.abc import Iterable

from eks_hardware.kubernetes.nodes import Node
from eks_hardware.resolve import GpuShares
from eks_hardware.resolve.extended_resources import GPU
from eks_hardware.resolve.gpu_sharing import SHARED_GPU

DEFAULT_CONFIG = "default"
"""The name of the configuration for nodes without the label, which advertise whole GPUs."""

_WHOLE = "version: v1\n"

# Two shares can be on the same GPU and are then worth no more than one, so a pod that requests two is refused.
_SLICED = """\
version: v1
sharing:
  timeSlicing:
    renameByDefault: {renamed}
    failRequestsGreaterThanOne: true
    resources:
      - name: {gpu}
        replicas: {replicas}
"""


def plugin_configs(nodes: Iterable[Node]) -> dict[str, str]:
    """Return the device plugin's configurations, by the value of the node label that selects them.

    There is one for each kind of time slicing, and the default; none if no node uses time slicing.
    """
    shares = {
        node.gpu_shares.config: node.gpu_shares for node in nodes if node.gpu_shares and not node.gpu_shares.mig_profile
    }
    if not shares:
        return {}
    return {DEFAULT_CONFIG: _WHOLE, **{name: _sliced(shares[name]) for name in sorted(shares)}}


def _sliced(shares: GpuShares) -> str:
    return _SLICED.format(renamed=str(shares.resource == SHARED_GPU).lower(), gpu=GPU, replicas=shares.shares_per_gpu)
