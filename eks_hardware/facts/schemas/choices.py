"""``facts/choices.json``: this project's choices where a strategy sets nothing."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Sourced, Text


class DiskSize(Sourced):
    size_gib: int


class DiskThroughput(Sourced):
    mibps: int


class Budget(TypedDict):
    nodes: str
    reasons: NotRequired[list[str]]


class Disruption(Sourced):
    consolidation_policy: str
    consolidate_after: str
    expire_after: str
    budgets: list[Budget]
    why: Text


class HopLimit(Sourced):
    nodes: int
    pods: int


class NodeUpdates(Sourced):
    max_unavailable: int


class ControlPlaneZones(Sourced):
    count: int


class EfaTraining(Sourced):
    interfaces: int


class FsxLustre(Sourced):
    throughput_mibps_per_tib: int


class Choices(About):
    """The file; ``disruption`` is by the purpose of a pool."""

    cpu_disk: DiskSize
    accelerated_disk: DiskSize
    accelerated_disk_throughput: DiskThroughput
    disruption: dict[str, Disruption]
    metadata_hop_limit: HopLimit
    node_updates: NodeUpdates
    control_plane_zones: ControlPlaneZones
    efa_training: EfaTraining
    fsx_lustre: FsxLustre
