"""All data files of ``config/``: facts about AWS and software, the catalogue, prices, quotas and policy.

``facts.eks()["versions"]`` is a section of ``config/facts/eks.json``. ``_about`` describes a file's contents, each
section has its source and date, and code never repeats a fact. The types are in :mod:`eks_hardware.facts.schemas`,
which only type checkers and tests import.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from eks_hardware import data
from eks_hardware.data import DataFile

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.account import Account
    from eks_hardware.facts.schemas.catalogue import (
        Accelerators,
        AddedRegions,
        AmiTypes,
        Corrections,
        Families,
        Instances,
        Offerings,
        Performance,
        Selection,
        Supplement,
    )
    from eks_hardware.facts.schemas.choices import Choices
    from eks_hardware.facts.schemas.eks import (
        Addon,
        AddonConfigurations,
        Addons,
        Chart,
        Charts,
        ChartValues,
        DerivedChartValues,
        Eks,
        EndpointServices,
        ValueKinds,
        Zones,
    )
    from eks_hardware.facts.schemas.iam_policies import IamPolicies, ManagedPolicies
    from eks_hardware.facts.schemas.karpenter import Karpenter
    from eks_hardware.facts.schemas.kubelet import ContainerdFacts, KubeletFacts, SystemSoftware
    from eks_hardware.facts.schemas.measurements import MeasuredModels, Measurements
    from eks_hardware.facts.schemas.models import Memory, ModelTypes, NamedModels, NeuronModels
    from eks_hardware.facts.schemas.nodes import AmiReleases, BottlerocketSettings, Mig, NodeConfig, Nodes, Storage
    from eks_hardware.facts.schemas.other_names import OtherNames
    from eks_hardware.facts.schemas.policy import Ranking, SelectionGuide, Starters
    from eks_hardware.facts.schemas.prices import (
        CapacityBlocks,
        Commitments,
        OnDemand,
        ServiceQuotas,
        Services,
        Spot,
        Volumes,
    )
    from eks_hardware.facts.schemas.replacements import Replacements
    from eks_hardware.facts.schemas.software import Software, WorkloadImages

# --- facts/
account: DataFile[Account] = DataFile("facts/account.json")
addon_configurations: DataFile[AddonConfigurations] = DataFile("facts/addon_configurations.json")
addons_file: DataFile[Addons] = DataFile("facts/addons.json")
ami_releases: DataFile[AmiReleases] = DataFile("facts/ami_releases.json")
bottlerocket_settings: DataFile[BottlerocketSettings] = DataFile("facts/bottlerocket_settings.json")
choices: DataFile[Choices] = DataFile("facts/choices.json")
charts: DataFile[Charts] = DataFile("facts/charts.json")
containerd: DataFile[ContainerdFacts] = DataFile("facts/containerd.json")
derived_chart_values: DataFile[DerivedChartValues] = DataFile("facts/derived_chart_values.json")
eks: DataFile[Eks] = DataFile("facts/eks.json")
_endpoint_services: DataFile[EndpointServices] = DataFile("facts/endpoint_services.json")
iam_policies: DataFile[IamPolicies] = DataFile("facts/iam_policies.json")
karpenter: DataFile[Karpenter] = DataFile("facts/karpenter.json")
kubelet: DataFile[KubeletFacts] = DataFile("facts/kubelet.json")
managed_policies: DataFile[ManagedPolicies] = DataFile("facts/managed_policies.json")
memory: DataFile[Memory] = DataFile("facts/memory.json")
mig: DataFile[Mig] = DataFile("facts/mig.json")
model_types: DataFile[ModelTypes] = DataFile("facts/model_types.json")
neuron_models: DataFile[NeuronModels] = DataFile("facts/neuron_models.json")
node_config: DataFile[NodeConfig] = DataFile("facts/node_config.json")
nodes: DataFile[Nodes] = DataFile("facts/nodes.json")
other_names: DataFile[OtherNames] = DataFile("facts/other_names.json")
public_models: DataFile[NamedModels] = DataFile("facts/public_models.json")
replacements: DataFile[Replacements] = DataFile("facts/replacements.json")
software: DataFile[Software] = DataFile("facts/software.json")
storage: DataFile[Storage] = DataFile("facts/storage.json")
system_pods: DataFile[SystemSoftware] = DataFile("facts/system_pods.json")
value_kinds: DataFile[ValueKinds] = DataFile("facts/value_kinds.json")
workload_images: DataFile[WorkloadImages] = DataFile("facts/workload_images.json")
zones: DataFile[Zones] = DataFile("facts/zones.json")

# --- catalogue/ and performance/
accelerators: DataFile[Accelerators] = DataFile("catalogue/accelerators.json")
ami_types: DataFile[AmiTypes] = DataFile("catalogue/ami_types.json")
corrections: DataFile[Corrections] = DataFile("catalogue/corrections.json")
families: DataFile[Families] = DataFile("catalogue/families.json")
instances: DataFile[Instances] = DataFile("catalogue/instances.json")
offerings: DataFile[Offerings] = DataFile("catalogue/offerings.json")
regions: DataFile[AddedRegions] = DataFile("catalogue/regions.json")
selection: DataFile[Selection] = DataFile("catalogue/selection.json")
supplement: DataFile[Supplement] = DataFile("catalogue/supplement.json")
performance: DataFile[Performance] = DataFile("performance/accelerators.json")

# --- prices/, quotas/ and policy/
on_demand_prices: DataFile[OnDemand] = DataFile("prices/on_demand.json")
capacity_block_prices: DataFile[CapacityBlocks] = DataFile("prices/capacity_blocks.json")
commitment_prices: DataFile[Commitments] = DataFile("prices/commitments.json")
service_prices: DataFile[Services] = DataFile("prices/services.json")
spot_prices: DataFile[Spot] = DataFile("prices/spot.json")
volume_prices: DataFile[Volumes] = DataFile("prices/volumes.json")
service_quotas: DataFile[ServiceQuotas] = DataFile("quotas/service_quotas.json")
ranking: DataFile[Ranking] = DataFile("policy/ranking.json")
selection_guide: DataFile[SelectionGuide] = DataFile("policy/selection_guide.json")
starters: DataFile[Starters] = DataFile("policy/starters.json")


def addons() -> dict[str, Addon]:
    """Return the add-ons of ``addons.json`` by name, in the order of the file."""
    return addons_file()["addons"]


def autoscaler_image(kubernetes_version: str) -> str | None:
    """Return the image tag of Cluster Autoscaler for a Kubernetes minor version; None if no release is recorded."""
    return charts()["cluster_autoscaler_images"]["by_minor"].get(kubernetes_version)


def chart(key: str) -> Chart:
    """Return a Helm chart of ``charts.json``: chart, repository, version, namespace, supported Kubernetes versions."""
    return charts()["charts"][key]


def chart_keys(key: str) -> ChartValues:
    """Return a chart's recorded value keys: the chart's ``version``, and ``keys`` nested like the chart's values.

    A leaf is None; ``"*"`` allows any keys below it.
    """
    chart_values: ChartValues = data.read(f"facts/chart_values/{key}.json")
    return chart_values


def endpoint_services() -> tuple[str, ...]:
    """Return the services with an interface endpoint in any region, named as in endpoints, such as ``ecr.api``."""
    return tuple(_endpoint_services()["services"])


def interface_endpoint(service: str, region: str) -> str:
    """Return the service name of an interface endpoint.

    Examples:
        >>> interface_endpoint("ecr.api", "us-west-2"), interface_endpoint("ecr.api", "cn-north-1")
        ('com.amazonaws.us-west-2.ecr.api', 'cn.com.amazonaws.cn-north-1.ecr.api')
    """
    china = _endpoint_services()["china"]
    prefix = china["prefix"] if service in china["services"].get(region, ()) else "com.amazonaws"
    return f"{prefix}.{region}.{service}"


_MEASUREMENTS = "performance/measurements"
_MODELS = "models.json"


@cache
def measurements() -> dict[str, Measurements]:
    """Return the published measurements by source (the file name without suffix), in alphabetical order."""
    names = sorted(file.name for file in (data.FOLDER / _MEASUREMENTS).glob("*.json") if file.name != _MODELS)
    return {name.removesuffix(".json"): data.read(f"{_MEASUREMENTS}/{name}") for name in names}


def measured_models() -> MeasuredModels:
    """Return the measured models, by the names that the measurements use."""
    models: MeasuredModels = data.read(f"{_MEASUREMENTS}/{_MODELS}")
    return models


_PARTITIONS = {
    "cn-": "aws-cn",
    "us-gov-": "aws-us-gov",
    "eusc-": "aws-eusc",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "eu-isoe-": "aws-iso-e",
    "us-isof-": "aws-iso-f",
}


def partition(region: str) -> str:
    """Return a region's AWS partition: ``aws``, ``aws-cn``, ``aws-us-gov``, or one that is not in the catalogue.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html,
    https://github.com/boto/botocore/blob/1.43.106/botocore/data/partitions.json
    """
    for prefix, name in _PARTITIONS.items():
        if region.startswith(prefix):
            return name
    return "aws"
