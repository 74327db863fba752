"""Amazon EKS clusters for AI workloads on the right hardware, in CDK for Terraform.

    from eks_hardware import Cluster, Network, NodeGroup     # constructs
    from eks_hardware import NodeGroupSpec, Strategy         # a strategy file and its sections, typed

Names are imported on first use, so Node starts only if a name needs it. Import ``eks_hardware`` before the AWS
provider, so that the provider loads lazily, in your own stacks too.

``eks_hardware.constructs``, ``eks_hardware.stacks`` and the data in ``eks_hardware/config`` are links to the
repository's top-level folders (docs/adr/0019).
"""

from __future__ import annotations

import os.path

from eks_hardware._framework import install as _install_framework
from eks_hardware._lazy_names import lazy_names as _lazy_names
from eks_hardware._lazy_providers import install as _install_lazy_providers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eks_hardware.adoption import Adoption, load_adoption, resolve_adoption
    from eks_hardware.catalogue import Catalogue, InstanceType
    from eks_hardware.constructs.cluster import Addon, Cluster, ClusterRef
    from eks_hardware.constructs.efa import EfaSecurityGroup
    from eks_hardware.constructs.iam import IamSettings, Role
    from eks_hardware.constructs.karpenter import AdoptedKarpenter, Karpenter
    from eks_hardware.constructs.kubernetes import HelmReleases
    from eks_hardware.constructs.network import Network, NetworkRef
    from eks_hardware.constructs.node_groups import (
        AdoptedNodeGroup,
        NodeEnvironment,
        NodeGroup,
        NodeGroupKind,
        Nodes,
    )
    from eks_hardware.constructs.platform import Platform
    from eks_hardware.constructs.pod_identity import PodIdentityRole
    from eks_hardware.constructs.storage import ElasticFileSystem, LustreFileSystem
    from eks_hardware.findings import Finding, StrategyError
    from eks_hardware.kubernetes import Bundle, ChartRelease, ObjectRelease
    from eks_hardware.models import (
        AddonSpec,
        ClusterSpec,
        KarpenterSpec,
        KubernetesSpec,
        NetworkSpec,
        NodeGroupSpec,
        NodePoolSpec,
        StorageSpec,
        Strategy,
        WorkloadSpec,
    )
    from eks_hardware.resolve import ResolvedStrategy
    from eks_hardware.stacks import Extension, HardwareStack, KubernetesStack, StrategyStack, strategy_stacks
    from eks_hardware.validation import load_strategy, validate

__version__ = "0.1.0"

__all__ = [
    "Addon",
    "AddonSpec",
    "AdoptedKarpenter",
    "AdoptedNodeGroup",
    "Adoption",
    "Bundle",
    "Catalogue",
    "ChartRelease",
    "Cluster",
    "ClusterRef",
    "ClusterSpec",
    "EfaSecurityGroup",
    "ElasticFileSystem",
    "Extension",
    "Finding",
    "HardwareStack",
    "HelmReleases",
    "IamSettings",
    "InstanceType",
    "Karpenter",
    "KarpenterSpec",
    "KubernetesSpec",
    "KubernetesStack",
    "LustreFileSystem",
    "Network",
    "NetworkRef",
    "NetworkSpec",
    "NodeEnvironment",
    "NodeGroup",
    "NodeGroupKind",
    "NodeGroupSpec",
    "NodePoolSpec",
    "Nodes",
    "ObjectRelease",
    "Platform",
    "PodIdentityRole",
    "ResolvedStrategy",
    "Role",
    "StorageSpec",
    "Strategy",
    "StrategyError",
    "StrategyStack",
    "WorkloadSpec",
    "__version__",
    "load_adoption",
    "load_strategy",
    "resolve_adoption",
    "strategy_stacks",
    "validate",
]

_MODULES = {
    "adoption": "Adoption load_adoption resolve_adoption",
    "catalogue": "Catalogue InstanceType",
    "constructs.cluster": "Addon Cluster ClusterRef",
    "constructs.efa": "EfaSecurityGroup",
    "constructs.iam": "IamSettings Role",
    "constructs.karpenter": "AdoptedKarpenter Karpenter",
    "constructs.kubernetes": "HelmReleases",
    "constructs.network": "Network NetworkRef",
    "constructs.node_groups": "AdoptedNodeGroup NodeEnvironment NodeGroup NodeGroupKind Nodes",
    "constructs.platform": "Platform",
    "constructs.pod_identity": "PodIdentityRole",
    "constructs.storage": "ElasticFileSystem LustreFileSystem",
    "findings": "Finding StrategyError",
    "kubernetes": "Bundle ChartRelease ObjectRelease",
    "models": (
        "AddonSpec ClusterSpec KarpenterSpec KubernetesSpec NetworkSpec NodeGroupSpec NodePoolSpec StorageSpec "
        "Strategy WorkloadSpec"
    ),
    "resolve": "ResolvedStrategy",
    "stacks": "Extension HardwareStack KubernetesStack StrategyStack strategy_stacks",
    "validation": "load_strategy validate",
}
__getattr__, __dir__ = _lazy_names(__name__, _MODULES)

if not os.path.isdir(os.path.join(os.path.dirname(__file__), "constructs")):  # noqa: PTH112, PTH118, PTH120
    raise ImportError(
        "eks_hardware/constructs must be a symbolic link to constructs/, got a plain file; run `git config "
        "core.symlinks true` and check out again, or install the wheel"
    )

_install_lazy_providers()
_install_framework()
