"""``facts/eks.json`` and the files of add-ons, charts, endpoint services, zones and kinds of values."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Day, KeyTree, Sourced, Text


class SupportDates(TypedDict):
    standard_until: Day
    extended_until: Day | None


class Versions(Sourced):
    default: str
    supported: dict[str, SupportDates]


class ExcludedZones(Sourced):
    zone_ids: list[str]


class ProviderVersion(TypedDict):
    version: str
    source: Text


class HelmProviderVersions(Sourced):
    lowest: str
    below: str


class ProviderVersions(HelmProviderVersions):
    since: dict[str, ProviderVersion]


class MaxPods(Sourced):
    small_vcpus_below: int
    small: int
    large: int
    addresses_per_prefix: int


class RequiredEndpoints(TypedDict):
    note: str
    nodes: list[str]
    addons: dict[str, list[str]]
    karpenter_queue: list[str]
    karpenter_images: list[str]


class InterfaceEndpoints(Sourced):
    nodes: dict[str, str]
    addons: dict[str, list[str]]
    required: RequiredEndpoints


class ImageRegistries(Sourced):
    accounts: dict[str, str]


class HugePagesOfFamily(TypedDict):
    accelerated_only: bool
    mib: int | None
    mib_per_vcpu: int
    setting: NotRequired[list[str]]


class UltraServers(Sourced):
    """Instance families of UltraServers with NVLink between instances, and the oldest versions that support it."""

    families: list[str]
    kubernetes: str
    dra_driver: str


class EfaHugePages(Sourced):
    resource: str
    page_mib: int
    by_family: dict[str, HugePagesOfFamily]


class PublicAccessCidrs(Sourced):
    most: int
    reserved: dict[str, str]


class VpcCidrs(Sourced):
    private: list[str]
    docker: str
    no_hosts: dict[str, str]


class SubnetAddresses(Sourced):
    reserved_by_aws: int
    largest_prefix: int
    smallest_prefix: int


class PodRange(Sourced):
    cidr: str


class AccessPolicies(Sourced):
    names: list[str]
    service_linked: list[str]


class LowestVersion(TypedDict):
    version: str
    why: str


class EfaOnlyVersion(LowestVersion):
    addon: str


class NewestVersions(Sourced):
    """The newest known version of each add-on, and the CoreDNS minor versions for each Kubernetes version."""

    versions: dict[str, str]
    coredns_minors: dict[str, list[int]]


class OldestVersions(Sourced):
    """The oldest known version of each add-on, or ``unknown``."""

    versions: dict[str, str]


class AddonVersions(Sourced):
    lowest: dict[str, LowestVersion]
    efa_only: EfaOnlyVersion
    kube_proxy_minors_behind: int
    oldest: OldestVersions
    newest: NewestVersions


class Eks(About):
    versions: Versions
    control_plane_excluded_zones: ExcludedZones
    provider_versions: ProviderVersions
    helm_provider_versions: HelmProviderVersions
    max_pods: MaxPods
    interface_endpoints: InterfaceEndpoints
    image_registries: ImageRegistries
    ultraservers: UltraServers
    efa_huge_pages: EfaHugePages
    public_access_cidrs: PublicAccessCidrs
    vpc_cidrs: VpcCidrs
    subnet_addresses: SubnetAddresses
    pod_range: PodRange
    access_policies: AccessPolicies
    addon_versions: AddonVersions


class Toleration(TypedDict):
    key: NotRequired[str]
    operator: NotRequired[str]
    effect: NotRequired[str]
    tolerationSeconds: NotRequired[int]


class Addon(TypedDict):
    before_nodes: bool
    before_charts: bool
    default: bool
    why: Text
    before_charts_why: NotRequired[Text]
    service_account: NotRequired[str]
    namespace: NotRequired[str]
    policies: NotRequired[list[str]]
    tolerations: NotRequired[list[Toleration]]
    configuration: NotRequired[dict[str, object]]
    configuration_why: NotRequired[Text]
    source: NotRequired[Text]


class Addons(About, Sourced):
    addons: dict[str, Addon]


class ChinaEndpoints(Sourced):
    prefix: str
    services: dict[str, list[str]]
    """By region, the services whose endpoint name has the prefix; other names are the same as elsewhere."""


class AddonConfiguration(TypedDict):
    source: Text
    fields: KeyTree


class AddonConfigurations(About):
    as_of: Day
    configurations: dict[str, AddonConfiguration]


class KindsByName(TypedDict):
    source: Text
    kinds: KeyTree


class KindsBySoftware(TypedDict):
    source: Text
    kinds: dict[str, KeyTree]


class KindsOfObjects(TypedDict):
    source: Text
    kinds: dict[str, KeyTree]
    required: dict[str, list[str]]


class Corefile(TypedDict):
    source: Text
    plugins: list[str]
    removed: dict[str, str]
    needed: dict[str, str]


NodePorts = TypedDict("NodePorts", {"source": Text, "from": int, "to": int})


class ValueKinds(About):
    as_of: Day
    objects: KindsOfObjects
    corefile: Corefile
    by_name: KindsByName
    by_addon: KindsBySoftware
    by_chart: KindsBySoftware
    node_ports: NodePorts


class EndpointServices(About, Sourced):
    services: list[str]
    china: ChinaEndpoints


class KubernetesRange(TypedDict):
    min: str | None
    max: str | None
    source: Text | None


class LowestChart(TypedDict):
    version: str
    why: str
    source: Text


class ChartArchive(Sourced):
    sha256: str


class Chart(Sourced):
    chart: str
    repository: str
    version: str
    archive: ChartArchive | None
    lowest: NotRequired[LowestChart]
    namespace: str
    kubernetes: KubernetesRange


class ClusterAutoscalerImages(Sourced):
    by_minor: dict[str, str]


class ClusterAutoscalerArguments(Sourced):
    others: list[str]
    names: list[str]


class SilentSection(TypedDict):
    section: Text
    switch: Text
    default: bool
    because: Text
    read: list[str]
    unless: list[str]
    fixed: NotRequired[bool]


class SilentSections(Sourced):
    charts: dict[str, list[SilentSection]]


class CertManager(Sourced):
    switches: dict[str, str]


class PriorityClasses(Sourced):
    of_cluster: list[str]
    of_addons: dict[str, list[str]]


class Charts(About):
    as_of: Day
    charts: dict[str, Chart]
    silent_sections: SilentSections
    cert_manager: CertManager
    priority_classes: PriorityClasses
    cluster_autoscaler_arguments: ClusterAutoscalerArguments
    cluster_autoscaler_images: ClusterAutoscalerImages


class ChartValues(Sourced):
    """A file of ``chart_values/``."""

    chart: str
    version: str
    keys: KeyTree


class DerivedChartValue(TypedDict):
    reason: Text
    instead: Text


class DerivedChartValues(About, Sourced):
    charts: dict[str, dict[str, DerivedChartValue]]


class EdgeZones(Sourced):
    groups: dict[str, list[str]]


class EksInZones(Sourced):
    managed_node_groups: list[Literal["local", "wavelength"]]


class BlocksInZones(Sourced):
    by_group: dict[str, list[str]]


class Zones(About):
    local_zones: EdgeZones
    wavelength_zones: EdgeZones
    eks: EksInZones
    capacity_blocks: BlocksInZones
