"""Types of ``facts/kubelet.json``, ``containerd.json`` and ``system_pods.json``."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Day, KeyTree, Sourced, Text


class KubeletPart(TypedDict):
    """A section that has the same date as the file."""

    source: Text
    note: NotRequired[Text]


class RecordedVersions(KubeletPart):
    recorded: list[str]


class FeatureGate(TypedDict):
    """The versions with a feature gate, and those that lock it. Without a bound, all recorded versions match."""

    first: NotRequired[str]
    last: NotRequired[str]
    on_from: NotRequired[str]
    locked_from: NotRequired[str]
    locked_to: NotRequired[bool]


class FeatureGates(KubeletPart):
    all: list[str]
    by_gate: dict[str, FeatureGate]


class KubeletFlag(TypedDict):
    kind: str
    last: NotRequired[str]


class KubeletFlags(KubeletPart):
    by_flag: dict[str, KubeletFlag]


class CpuManagerOption(TypedDict):
    first: NotRequired[str]
    alpha_until: NotRequired[str]


class CpuManagerOptions(KubeletPart):
    gate: str
    exclusive: list[list[str]]
    by_option: dict[str, CpuManagerOption]


class Names(KubeletPart):
    names: list[str]


class EvictionSignals(Names):
    bottlerocket: list[str]


class TopologyManagerOptions(Names):
    least: dict[str, int]


class CipherSuites(Names):
    as_of: Day


class UserNamespaces(KubeletPart):
    as_of: Day
    unit: int


class GatedSettings(KubeletPart):
    by_setting: dict[str, str]


class NodeadmShutdown(TypedDict):
    first: str
    seconds: int
    critical_seconds: int


class Sysctls(Names):
    prefixes: list[str]


class NodeadmDefaults(KubeletPart):
    cgroups: list[str]
    own_flags: list[str]
    cgroup_driver: str
    eviction: str
    shutdown: NodeadmShutdown


class NumaNodes(KubeletPart):
    many: int
    by_type: dict[str, int]


class ImageCollection(KubeletPart):
    high: int
    low: int


class KubeletFacts(About):
    as_of: Day
    versions: RecordedVersions
    feature_gates: FeatureGates
    flags: KubeletFlags
    cpu_manager_options: CpuManagerOptions
    topology_manager_options: TopologyManagerOptions
    cipher_suites: CipherSuites
    user_namespaces: UserNamespaces
    eviction_signals: EvictionSignals
    gated_settings: GatedSettings
    nodeadm: NodeadmDefaults
    sysctls: Sysctls
    numa_nodes: NumaNodes
    gc_defaults: ImageCollection


class ContainerdSettings(KubeletPart):
    top: KeyTree
    plugins: dict[str, str]


class BaseRuntimeSpec(Sourced):
    fields: KeyTree


class ConfigVersions(Sourced):
    """Versions of containerd's configuration.

    Attributes:
        first: the first containerd release that reads each version.
        image: the newest EKS AMI release whose packages were read.
        containerd: the containerd version in that release.
    """

    first: dict[str, str]
    image: str
    containerd: str


class ContainerdFacts(About):
    as_of: Day
    settings: ContainerdSettings
    config_versions: ConfigVersions
    base_runtime_spec: BaseRuntimeSpec


class SystemPods(TypedDict):
    """The pods of one Deployment or DaemonSet.

    Attributes:
        millicores: the CPU request of one container.
        mib: the memory request of one container.
        containers: the number of these containers; 1 by default.
        sidecar_millicores: the CPU request of all other containers together.
        sidecar_mib: the memory request of all other containers together.
        values: the dotted path of the values that set replicas, requests and placement.
        critical: whether the pods have a system priority class; true by default.
        source: the source of the requests.
    """

    millicores: int
    mib: int
    containers: NotRequired[int]
    sidecar_millicores: NotRequired[int]
    sidecar_mib: NotRequired[int]
    values: NotRequired[str]
    critical: NotRequired[bool]
    source: Text


class SystemDeployment(SystemPods):
    """The pods of an add-on's or chart's Deployment; ``workload`` is the Deployment's name if it differs."""

    replicas: int
    workload: NotRequired[str]
    limit_mib: NotRequired[int]


class SystemDaemonSet(SystemPods):
    """The pods of an add-on's DaemonSet.

    Attributes:
        addon: the add-on.
        hardware: the kinds of hardware with these pods; all by default.
        architecture: the processor architecture with these pods; all by default.
        tolerations: the default tolerations; every taint by default.
        tolerate_all_taints: whether the values have ``tolerateAllTaints``, which is true by default.
    """

    addon: str
    hardware: NotRequired[list[str]]
    architecture: NotRequired[str]
    tolerations: NotRequired[list[dict[str, str]]]
    tolerate_all_taints: NotRequired[bool]


class SystemSoftware(About):
    as_of: Day
    deployments: dict[str, SystemDeployment]
    daemonsets: dict[str, SystemDaemonSet]
