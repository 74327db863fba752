"""Settings and software of nodes.

``facts/nodes.json``, ``ami_releases.json``, ``node_config.json``, ``bottlerocket_settings.json``, ``mig.json`` and
``storage.json``.
"""

from __future__ import annotations

from typing_extensions import TypedDict

from eks_hardware.facts.schemas.base import About, KeyTree, Sourced, Text


class UserData(Sourced):
    most_bytes: int


class Volumes(Sourced):
    iops_per_gib: dict[str, int]
    gp3_throughput_mibps: int


class AcceleratedDisk(Sourced):
    least_gib: int


class GroupLabels(Sourced):
    refused_domains: list[str]
    allowed_domains: list[str]
    set_by_kubernetes: list[str]
    longest_key: int


class GroupUpdate(Sourced):
    nodes_per_zone: int


class NeuronCores(Sourced):
    per_logical_core: dict[str, int]


class Nodes(About):
    user_data: UserData
    volumes: Volumes
    accelerated_disk: AcceleratedDisk
    group_labels: GroupLabels
    group_update: GroupUpdate
    neuron_cores: NeuronCores


class Al2023Releases(Sourced):
    kubelets: dict[str, str]


class BottlerocketReleases(Sourced):
    example: str


class EfaDriver(Sourced):
    al2023_standard_since: str


class AmiReleases(About):
    al2023: Al2023Releases
    bottlerocket: BottlerocketReleases
    efa_driver: EfaDriver


class NodeConfigFields(Sourced):
    fields: KeyTree
    values: dict[str, list[str]]


class KubeletConfiguration(Sourced):
    kubernetes: str
    fields: KeyTree


class NodeConfig(About):
    node_config: NodeConfigFields
    kubelet_configuration: KubeletConfiguration


class BottlerocketFields(Sourced):
    nvidia_only: list[str]
    fields: KeyTree


class BottlerocketKeptByKarpenter(Sourced):
    kubernetes: list[str]


class BottlerocketLaterFields(Sourced):
    fields: KeyTree


class NameKind(TypedDict):
    pattern: str
    words: str


class BottlerocketNames(Sourced):
    kinds: dict[str, NameKind]
    below: dict[str, str]


class BottlerocketResourceLimits(Sourced):
    keys: list[str]
    unlimited: list[str | int]


class BottlerocketSettings(About):
    settings: BottlerocketFields
    kubelet: BottlerocketLaterFields
    urls: BottlerocketLaterFields
    names: BottlerocketNames
    resource_limits: BottlerocketResourceLimits
    karpenter: BottlerocketKeptByKarpenter


class MigProfile(TypedDict):
    profile: str
    max_per_gpu: int


class MigGpu(Sourced):
    families: list[str]
    bottlerocket_key: str | None
    profiles: list[MigProfile]


class Mig(About):
    """``mig.json``: by accelerator and its rounded GiB."""

    gpus: dict[str, dict[str, MigGpu]]


class LustreClient(About, Sourced):
    al2023: list[str]


class LustreVersion(Sourced):
    version: str
    why: Text


class LustrePorts(Sourced):
    tcp: list[tuple[int, int]]


class NfsPort(Sourced):
    tcp: int


class CsiDriver(TypedDict):
    addon: str
    driver: str
    source: Text


class CsiDrivers(About, Sourced):
    fsx_lustre: CsiDriver
    efs: CsiDriver
    s3: CsiDriver
    ebs: CsiDriver


class Storage(About):
    lustre_client: LustreClient
    lustre_version: LustreVersion
    lustre_ports: LustrePorts
    nfs_port: NfsPort
    csi: CsiDrivers
