"""Every data file of ``config/``: facts about AWS and software, the catalogue, prices, quotas and policy.

``facts.eks()["versions"]`` is a section of ``config/facts/eks.json``. Each section names its source and the day it was
read; code never repeats a fact. The types are in :mod:`eks_hardware.facts.schemas`, which only type checkers and tests
import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_hardware import data
from eks_hardware.data import DataFile

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.account import Account
    from eks_hardware.facts.schemas.catalogue import (
        Accelerators,
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
    from eks_hardware.facts.schemas.eks import Addon, Addons, Chart, Charts, ChartValues, Eks, EndpointServices
    from eks_hardware.facts.schemas.iam_policies import IamPolicies
    from eks_hardware.facts.schemas.karpenter import Karpenter
    from eks_hardware.facts.schemas.models import Memory, ModelTypes, NeuronModels
    from eks_hardware.facts.schemas.nodes import AmiReleases, BottlerocketSettings, Mig, NodeConfig, Nodes, Storage
    from eks_hardware.facts.schemas.policy import Ranking, Starters
    from eks_hardware.facts.schemas.prices import OnDemand, Reserved, ServiceQuotas, Services, Spot, Volumes
    from eks_hardware.facts.schemas.replacements import Replacements
    from eks_hardware.facts.schemas.software import Software, WorkloadImages

# --- facts/

account: DataFile[Account] = DataFile("facts/account.json")
"""What an account has to have, and its caller to be allowed."""

_addons: DataFile[Addons] = DataFile("facts/addons.json")

ami_releases: DataFile[AmiReleases] = DataFile("facts/ami_releases.json")
"""What is known of the releases of EKS's images."""

bottlerocket_settings: DataFile[BottlerocketSettings] = DataFile("facts/bottlerocket_settings.json")
"""The names that user data of Bottlerocket may have."""

choices: DataFile[Choices] = DataFile("facts/choices.json")
"""What this project chooses where a strategy says nothing."""

charts: DataFile[Charts] = DataFile("facts/charts.json")
"""Helm charts and the images of Cluster Autoscaler."""

eks: DataFile[Eks] = DataFile("facts/eks.json")
"""Versions, networks, add-ons and access of EKS."""

_endpoint_services: DataFile[EndpointServices] = DataFile("facts/endpoint_services.json")

iam_policies: DataFile[IamPolicies] = DataFile("facts/iam_policies.json")
"""Policies of the roles that a strategy makes."""

karpenter: DataFile[Karpenter] = DataFile("facts/karpenter.json")
"""Versions, labels, images and defaults of Karpenter."""

memory: DataFile[Memory] = DataFile("facts/memory.json")
"""What models take of a device's memory, and what a device has."""

mig: DataFile[Mig] = DataFile("facts/mig.json")
"""The GPUs that have Multi-Instance GPU, with their profiles."""

model_types: DataFile[ModelTypes] = DataFile("facts/model_types.json")
"""Architectures by Hugging Face's name, and public models by size."""

neuron_models: DataFile[NeuronModels] = DataFile("facts/neuron_models.json")
"""Which architectures Neuron's libraries have, and what to change for them."""

node_config: DataFile[NodeConfig] = DataFile("facts/node_config.json")
"""What a NodeConfig, and the kubelet configuration in it, may have."""

nodes: DataFile[Nodes] = DataFile("facts/nodes.json")
"""Limits of user data, volumes, labels and updates of nodes."""

replacements: DataFile[Replacements] = DataFile("facts/replacements.json")
"""What Terraform and Karpenter do when an argument changes."""

software: DataFile[Software] = DataFile("facts/software.json")
"""What software demands of accelerators, drivers and SDKs."""

storage: DataFile[Storage] = DataFile("facts/storage.json")
"""Shared storage: the Lustre client, ports and CSI drivers."""

workload_images: DataFile[WorkloadImages] = DataFile("facts/workload_images.json")
"""Images of printed manifests, and what pods need for EFA."""

# --- catalogue/ and performance/

accelerators: DataFile[Accelerators] = DataFile("catalogue/accelerators.json")
"""What the EC2 API does not say about an accelerator."""

ami_types: DataFile[AmiTypes] = DataFile("catalogue/ami_types.json")
"""Which images fit which families."""

corrections: DataFile[Corrections] = DataFile("catalogue/corrections.json")
"""Where the EC2 API is wrong."""

families: DataFile[Families] = DataFile("catalogue/families.json")
"""Facts that hold for a family."""

instances: DataFile[Instances] = DataFile("catalogue/instances.json")
"""Every instance type."""

offerings: DataFile[Offerings] = DataFile("catalogue/offerings.json")
"""Where each type is offered."""

selection: DataFile[Selection] = DataFile("catalogue/selection.json")
"""Which families the catalogue holds."""

supplement: DataFile[Supplement] = DataFile("catalogue/supplement.json")
"""Types that the EC2 API does not have."""

performance: DataFile[Performance] = DataFile("performance/accelerators.json")
"""What bounds the speed of an accelerator."""

# --- prices/, quotas/ and policy/

on_demand_prices: DataFile[OnDemand] = DataFile("prices/on_demand.json")
"""On-demand prices of instance types."""

reserved_prices: DataFile[Reserved] = DataFile("prices/reserved.json")
"""Prices of reserved instances."""

service_prices: DataFile[Services] = DataFile("prices/services.json")
"""What is billed by time beside instances and volumes."""

spot_prices: DataFile[Spot] = DataFile("prices/spot.json")
"""Spot prices of instance types."""

volume_prices: DataFile[Volumes] = DataFile("prices/volumes.json")
"""Prices of EBS volumes."""

service_quotas: DataFile[ServiceQuotas] = DataFile("quotas/service_quotas.json")
"""Codes and defaults of Service Quotas."""

ranking: DataFile[Ranking] = DataFile("policy/ranking.json")
"""The documents' decision trees, and how candidates are weighed."""

starters: DataFile[Starters] = DataFile("policy/starters.json")
"""Groups of a first strategy."""


def addons() -> dict[str, Addon]:
    """Return the add-ons of ``addons.json`` by name, in the order they stand there."""
    return _addons()["addons"]


def autoscaler_image(kubernetes_version: str) -> str | None:
    """Return the image tag of Cluster Autoscaler for a Kubernetes minor; None where no release is recorded."""
    return charts()["cluster_autoscaler_images"]["by_minor"].get(kubernetes_version)


def chart(key: str) -> Chart:
    """Return a Helm chart of ``charts.json``: chart, repository, version, namespace, supported Kubernetes versions."""
    return charts()["charts"][key]


def chart_keys(key: str) -> ChartValues:
    """Return the recorded value keys of a chart: ``version`` they belong to, and ``keys`` nested as the values are.

    A leaf is None; ``"*"`` stands for anything below.
    """
    found: ChartValues = data.read(f"facts/chart_values/{key}.json")
    return found


def endpoint_services() -> tuple[str, ...]:
    """Return the services that have an interface endpoint in some region, as they stand in its name: ``ecr.api``."""
    return tuple(_endpoint_services()["services"])


def partition(region: str) -> str:
    """Return the AWS partition of a region: ``aws``, ``aws-cn`` or ``aws-us-gov``.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
    """
    for prefix, name in (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov")):
        if region.startswith(prefix):
            return name
    return "aws"
