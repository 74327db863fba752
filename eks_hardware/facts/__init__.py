"""Facts about AWS that change over time, read from the JSON files of ``config/facts``.

Each section of a file names its source and the day it was read; code never repeats a fact.
"""

from __future__ import annotations

from typing import Any

from eks_hardware import data

__all__ = [
    "account",
    "addons",
    "ami_releases",
    "autoscaler_image",
    "bottlerocket_settings",
    "chart",
    "chart_keys",
    "eks",
    "endpoint_services",
    "karpenter",
    "memory",
    "mig",
    "model_types",
    "neuron_models",
    "node_config",
    "nodes",
    "partition",
    "prices",
    "quotas",
    "replacements",
    "software",
    "storage",
    "workload_images",
]


def _section(name: str, section: str) -> dict[str, Any]:
    found: dict[str, Any] = data.read(name)[section]
    return found


def eks(section: str) -> dict[str, Any]:
    """Return a section of ``eks.json``."""
    return _section("facts/eks.json", section)


def endpoint_services() -> tuple[str, ...]:
    """Return the services that have an interface endpoint in some region, as they stand in its name: ``ecr.api``."""
    return tuple(data.read("facts/endpoint_services.json")["services"])


def addons() -> dict[str, dict[str, Any]]:
    """Return the add-ons of ``addons.json`` by name, in the order they stand there."""
    return _section("facts/addons.json", "addons")


def chart(key: str) -> dict[str, Any]:
    """Return a Helm chart of ``charts.json``: chart, repository, version, namespace, supported Kubernetes versions."""
    found: dict[str, Any] = data.read("facts/charts.json")["charts"][key]
    return found


def chart_keys(key: str) -> dict[str, Any]:
    """Return the recorded value keys of a chart: ``version`` they belong to, and ``keys`` nested as the values are.

    A leaf is None; ``"*"`` stands for anything below.
    """
    return data.read(f"facts/chart_values/{key}.json")


def autoscaler_image(kubernetes_version: str) -> str | None:
    """Return the image tag of Cluster Autoscaler for a Kubernetes minor; None where no release is recorded."""
    found: str | None = data.read("facts/cluster_autoscaler.json")["images"]["by_minor"].get(kubernetes_version)
    return found


def karpenter(section: str) -> dict[str, Any]:
    """Return a section of ``karpenter.json``."""
    return _section("facts/karpenter.json", section)


def mig() -> dict[str, Any]:
    """Return ``mig.json``: the GPUs that have Multi-Instance GPU, with their profiles."""
    return data.read("facts/mig.json")


def memory(section: str) -> dict[str, Any]:
    """Return a section of ``memory.json``: what models take of a device's memory, and what a device has."""
    return _section("facts/memory.json", section)


def model_types(section: str) -> dict[str, Any]:
    """Return a section of ``model_types.json``: architectures by Hugging Face's name, and public models by size."""
    return _section("facts/model_types.json", section)


def neuron_models(section: str) -> dict[str, Any]:
    """Return a section of ``neuron_models.json``: which architectures Neuron's libraries have, and what to change."""
    return _section("facts/neuron_models.json", section)


def software(section: str) -> dict[str, Any]:
    """Return a section of ``software.json``."""
    return _section("facts/software.json", section)


def ami_releases(section: str) -> dict[str, Any]:
    """Return a section of ``ami_releases.json``: what is known of the releases of EKS's images."""
    return _section("facts/ami_releases.json", section)


def bottlerocket_settings(section: str) -> dict[str, Any]:
    """Return a section of ``bottlerocket_settings.json``: the names that user data of Bottlerocket may have."""
    return _section("facts/bottlerocket_settings.json", section)


def node_config(section: str) -> dict[str, Any]:
    """Return a section of ``node_config.json``: what a NodeConfig, and the kubelet configuration in it, may have."""
    return _section("facts/node_config.json", section)


def nodes(section: str) -> dict[str, Any]:
    """Return a section of ``nodes.json``: limits of user data, volumes and labels."""
    return _section("facts/nodes.json", section)


def storage(section: str) -> dict[str, Any]:
    """Return a section of ``storage.json``."""
    return _section("facts/storage.json", section)


def workload_images(section: str) -> dict[str, Any]:
    """Return a section of ``workload_images.json``: images of printed manifests, and what pods need for EFA."""
    return _section("facts/workload_images.json", section)


def quotas(section: str) -> dict[str, Any]:
    """Return a section of ``quotas/limits.json``: codes and defaults of Service Quotas."""
    return _section("quotas/limits.json", section)


def prices(section: str) -> dict[str, Any]:
    """Return a section of ``prices/services.json``: what is billed by time beside instances and volumes."""
    return _section("prices/services.json", section)


def replacements(section: str) -> dict[str, Any]:
    """Return a section of ``replacements.json``: what Terraform and Karpenter do when an argument changes."""
    return _section("facts/replacements.json", section)


def account(section: str) -> dict[str, Any]:
    """Return a section of ``account.json``: what an account has to have, and its caller to be allowed."""
    return _section("facts/account.json", section)


def partition(region: str) -> str:
    """Return the AWS partition of a region: ``aws``, ``aws-cn`` or ``aws-us-gov``.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
    """
    for prefix, name in (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov")):
        if region.startswith(prefix):
            return name
    return "aws"
