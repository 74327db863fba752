"""Predictions of ``eks-hardware diff`` against the plan of the real Terraform, resource by resource.

One strategy is deployed to the emulator, and each variant is planned against its state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from eks_hardware.diff import Action
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from eks_hardware.rules import check
from helpers.diff import compared, synthesized_once

NAME = "changing"
ROLE = "arn:aws:iam::000000000000:role/{}"

Content = dict[str, Any]


def deployed_content() -> Content:
    """Return the deployed strategy: all changeable fields of a node group, with as few resources as possible."""
    return {
        "version": 1,
        "name": NAME,
        "region": "us-west-2",
        "cluster": {"admins": [ROLE.format("admin")], "addons": {"metrics-server": {"enabled": False}}},
        "network": {"zones": ["usw2-az1", "usw2-az2"], "nat_gateways": "single"},
        "node_groups": [
            {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 1, "max": 3}},
            {"name": "gpu", "instance_types": ["p4d.24xlarge"], "zones": ["usw2-az1"], "scaling": {"max": 2}},
        ],
        "storage": {"efs": {}},
        "kubernetes": {"delivery": "manifests"},
    }


def with_gpu_fields(content: Content, **fields: Any) -> Content:
    """Return the strategy with other fields for its GPU group."""
    content["node_groups"][1] |= fields
    return content


def _once(content: Content) -> Content:
    """Settings that EKS accepts only when it creates a node group."""
    content["node_groups"][0]["instance_types"] = ["m7i.xlarge", "m6i.xlarge"]
    return with_gpu_fields(content, capacity="spot")


def _nodes(content: Content) -> Content:
    """Settings that a running node group accepts, and NAT gateways. A disk creates a new launch template version."""
    content["network"]["nat_gateways"] = "one-per-zone"
    with_gpu_fields(
        content,
        disk={"size_gib": 300},
        labels={"team": "a"},
        taints=[{"key": "a", "value": "b", "effect": "NoExecute"}],
    )
    content["node_groups"][0]["scaling"] = {"min": 2, "max": 5}
    return content


def _efa(content: Content) -> Content:
    return with_gpu_fields(content, efa=True)


def _renamed(content: Content) -> Content:
    return with_gpu_fields(content, name="training")


def _zone(content: Content) -> Content:
    content["network"]["zones"].append("usw2-az3")
    return content


def _vpc(content: Content) -> Content:
    content["network"]["cidr"] = "10.8.0.0/16"
    return content


def _service_cidr(content: Content) -> Content:
    content["cluster"]["service_cidr"] = "192.168.0.0/16"
    return with_gpu_fields(content, efa=True)


def _unencrypted(content: Content) -> Content:
    content["cluster"]["secrets_encryption"] = {"enabled": False}
    return content


def _tags(content: Content) -> Content:
    content["tags"] = {"team": "a"}
    return content


def _image(content: Content) -> Content:
    return with_gpu_fields(content, ami={"image_id": "ami-0123456789abcdef0"})


def _iam(content: Content) -> Content:
    content["aws"] = {"permissions_boundary_arn": "arn:aws:iam::000000000000:policy/edge", "iam_path": "/eks/"}
    return content


def _cluster(content: Content) -> Content:
    """In-place changes of the control plane, the add-ons and the file system, and of users with access."""
    content["cluster"] |= {
        "kubernetes_version": "1.36",
        "admins": [ROLE.format("other")],
        "endpoint": {"public_cidrs": ["52.94.0.0/22"]},
        "logging": {"types": ["audit"], "retention_days": 30},
        "upgrade_policy": "extended",
        "zonal_shift": True,
        "addons": {"coredns": {"version": "v1.13.2-eksbuild.4"}},
    }
    content["storage"]["efs"] = {"throughput": "bursting"}
    return content


def _karpenter(content: Content) -> Content:
    content["karpenter"] = {
        "node_pools": [
            {"name": "efa", "instance_types": ["p4d.24xlarge"], "efa": True, "limits": {"nvidia.com/gpu": 8}},
        ]
    }
    content["storage"] = {}
    return content


def _both(first: Callable[[Content], Content], second: Callable[[Content], Content]) -> Callable[[Content], Content]:
    return lambda content: second(first(content))


# Changes that do not hide one another are one variant.
VARIANTS: Mapping[str, Callable[[Content], Content]] = {
    "types and capacity": _once,
    "settings of nodes, and tags": _both(_nodes, _tags),
    "EFA, and a zone more": _both(_efa, _zone),
    "another name": _renamed,
    "network of the VPC": _vpc,
    "network of services, and no encryption": _both(_service_cidr, _unencrypted),
    "own image, and Karpenter": _both(_image, _karpenter),
    "path and boundary": _iam,
    "control plane": _cluster,
}

# The main effects of each variant; the comparison with Terraform's plan covers everything.
EXPECTED: Mapping[str, set[tuple[str, Action]]] = {
    "types and capacity": {("aws_eks_node_group", Action.REPLACE)},
    "settings of nodes, and tags": {
        ("aws_launch_template", Action.UPDATE),
        ("aws_nat_gateway", Action.CREATE),
        ("aws_vpc", Action.UPDATE),
    },
    "EFA, and a zone more": {
        ("aws_eks_node_group", Action.UPDATE),
        ("aws_eks_node_group", Action.REPLACE),
        ("aws_placement_group", Action.CREATE),
        ("aws_subnet", Action.CREATE),
    },
    "another name": {("aws_eks_node_group", Action.DESTROY), ("aws_eks_node_group", Action.CREATE)},
    "network of the VPC": {("aws_vpc", Action.REPLACE), ("aws_eks_cluster", Action.UPDATE)},
    "network of services, and no encryption": {
        ("aws_eks_cluster", Action.REPLACE),
        ("aws_eks_node_group", Action.UPDATE),
        ("aws_kms_key", Action.DESTROY),
    },
    "own image, and Karpenter": {
        ("aws_eks_node_group", Action.UPDATE),
        ("aws_efs_file_system", Action.DESTROY),
        ("aws_sqs_queue", Action.CREATE),
    },
    "path and boundary": {("aws_iam_role", Action.REPLACE), ("aws_eks_cluster", Action.REPLACE)},
    "control plane": {("aws_eks_cluster", Action.UPDATE), ("aws_eks_access_entry", Action.CREATE)},
}

_ACTIONS = {
    "create": Action.CREATE,
    "delete": Action.DESTROY,
    "update": Action.UPDATE,
    "replace": Action.REPLACE,
}


def variant_strategy(variant: str | None = None) -> Strategy:
    """Return a variant of the strategy, or the deployed one."""
    found = Strategy.model_validate(VARIANTS[variant](deployed_content()) if variant else deployed_content())
    assert [str(each) for each in check(found) if each.severity.value == "error"] == []
    return found


Plans = dict[str, dict[str, Action]]
"""Terraform's action for each resource that changes, by variant."""


@pytest.fixture(scope="module")
def planned(deploy: Any, tmp_path_factory: pytest.TempPathFactory) -> Plans:
    """Deploy the strategy, and plan every variant.

    Terraform takes seconds to start. Variants with the same provider are modules of one configuration, and the deployed
    resources are in its state once per module. The state is current, so it is not refreshed.
    """
    base = _document(variant_strategy())
    folder = tmp_path_factory.mktemp("base") / NAME
    folder.mkdir()
    (folder / "cdk.tf.json").write_text(json.dumps(base), encoding="utf-8")
    deployed = deploy.applied(folder)
    variants = {name: _document(variant_strategy(name)) for name in VARIANTS}
    together = {name: each for name, each in variants.items() if each["provider"] == base["provider"]}
    found = _planned_together(deploy.project(folder), together, json.loads(deployed.run("state", "pull").stdout))
    for name in variants.keys() - together.keys():
        (deployed.stack_dir / "cdk.tf.json").write_text(json.dumps(variants[name]), encoding="utf-8")
        found[name] = _actions(deployed.plan("-refresh=false").changes)
    return found


def _planned_together(project: Any, documents: Mapping[str, Content], state: Content) -> Plans:
    """Plan documents as modules, each with the resources of the state."""
    modules = {f"m{index}": document for index, document in enumerate(documents.values())}
    root = json.loads((project.stack_dir / "cdk.tf.json").read_text(encoding="utf-8"))
    called = {module: {"source": f"./{module}"} for module in modules}
    for module, document in modules.items():
        (project.stack_dir / module).mkdir()
        inner = {section: each for section, each in document.items() if section not in ("provider", "terraform")}
        (project.stack_dir / module / "cdk.tf.json").write_text(json.dumps(inner), encoding="utf-8")
    configuration = {
        "provider": root["provider"],
        "terraform": {"required_providers": root["terraform"]["required_providers"]},
        "module": called,
    }
    (project.stack_dir / "cdk.tf.json").write_text(json.dumps(configuration), encoding="utf-8")
    held = [_in_module(module, each) for module in modules for each in state["resources"] if each["mode"] == "managed"]
    copied = json.dumps({**state, "outputs": {}, "resources": held})
    (project.stack_dir / "terraform.tfstate").write_text(copied, encoding="utf-8")
    project.init()
    changes = project.plan("-refresh=false").changes
    return {
        name: _actions(
            {
                address.removeprefix(f"module.{module}."): action
                for address, action in changes.items()
                if address.startswith(f"module.{module}.")
            }
        )
        for name, module in zip(documents, modules, strict=True)
    }


def _in_module(module: str, resource: Content) -> Content:
    """Return a resource of the root's state as one of a module's."""
    instances = [
        {**each, "dependencies": [f"module.{module}.{address}" for address in each.get("dependencies", ())]}
        for each in resource["instances"]
    ]
    return {**resource, "module": f"module.{module}", "instances": instances}


def _document(of: Strategy) -> Content:
    (document,) = synthesized_once(resolve(of))
    return dict(document)


def _actions(changes: Mapping[str, str]) -> dict[str, Action]:
    return {address: _ACTIONS[action] for address, action in changes.items() if not address.startswith("data.")}


@pytest.mark.parametrize("variant", VARIANTS)
def test_terraform_plans_what_diff_predicts(planned: Plans, variant: str) -> None:
    changes = compared(variant_strategy(), variant_strategy(variant))
    predicted = {each.resource.address: each.action for each in changes.resources}
    assert predicted == planned[variant]
    assert {(each.resource.type, each.action) for each in changes.resources} >= EXPECTED[variant]
