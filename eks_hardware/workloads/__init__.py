"""Manifests of workloads that fit the nodes of a strategy: jobs, deployments, PyTorchJobs and smoke tests.

What a pod asks for follows from the group or pool that it is for, and from the catalogue; nothing talks to a cluster.
"""

from eks_hardware.workloads.manifest import Manifest, manifest
from eks_hardware.workloads.request import CHECKS, KINDS, Request, WorkloadError

__all__ = ["CHECKS", "KINDS", "Manifest", "Request", "WorkloadError", "manifest"]
