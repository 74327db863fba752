"""Manifests of workloads that fit the nodes of a strategy: jobs, deployments, PyTorchJobs and smoke tests.

The resources of a pod are derived from its group or pool and from the catalogue, without access to a cluster.
"""

from eks_hardware.workloads.manifest import Manifest, manifest
from eks_hardware.workloads.request import CHECKS, KINDS, Request, WorkloadError

__all__ = ["CHECKS", "KINDS", "Manifest", "Request", "WorkloadError", "manifest"]
