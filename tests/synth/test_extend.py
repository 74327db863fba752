"""The guide docs/guides/extend.md: every program runs as written, and its additions are in order."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware.kubernetes import Bundle, ChartRelease
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.stacks import Extension, HardwareStack, strategy_stacks
from eks_hardware.testing import Contains, Matches, Template
from helpers.guides import blocks, run_with_strategy, stacks_of_program
from helpers.strategies import document

CHART, BUCKET, SELF_MANAGED, FARGATE = blocks("extend")

POOLS = "karpenter-resources"


def release_address(template: Template, name: str) -> str:
    return template.address("helm_release", {"name": name})


def test_a_chart(tmp_path: Path) -> None:
    template = stacks_of_program(tmp_path, CHART)["mixed-hardware"]
    template.has(
        "helm_release",
        {"name": "keda", "namespace": "keda", "create_namespace": True, "version": "2.21.1", "wait": True},
    )
    before = template.dependencies(release_address(template, "keda"))
    assert template.address("aws_eks_node_group", {"node_group_name": "system"}) in before
    assert template.address("aws_eks_addon", {"addon_name": "coredns"}) in before
    # Daemonset pods exist before the first Karpenter node.
    assert release_address(template, "keda") in template.dependencies(release_address(template, POOLS))


def test_a_chart_in_a_second_stack(tmp_path: Path) -> None:
    templates = stacks_of_program(tmp_path, CHART, "kubernetes: {stack: separate}\n")
    templates["mixed-hardware"].has_no("helm_release")
    templates["mixed-hardware-kubernetes"].has("helm_release", {"name": "keda"})


def test_a_chart_in_written_files(tmp_path: Path) -> None:
    stacks_of_program(tmp_path, CHART, "kubernetes: {delivery: manifests}\n")
    folder = tmp_path / "out" / "stacks" / "mixed-hardware" / "kubernetes"
    assert (folder / "values" / "keda.yaml").read_text(encoding="utf-8") == "operator:\n  replicaCount: 2\n"
    listed = yaml.safe_load((folder / "releases.yaml").read_text(encoding="utf-8"))["releases"]
    names = [each["name"] for each in listed]
    assert names.index("keda") < names.index(POOLS) == len(names) - 1
    assert "\nrelease keda keda " in (folder / "install.sh").read_text(encoding="utf-8")


def test_a_chart_that_uses_aws(tmp_path: Path) -> None:
    template = stacks_of_program(tmp_path, BUCKET)["mixed-hardware"]
    server = release_address(template, "model-server")
    bucket = template.address("aws_s3_bucket")
    assert template.resource("helm_release", {"name": "model-server"})["values"] == [
        f'bucket: "${{{bucket}.bucket}}"\nnodeSelector:\n  accelerator: l4\n'
    ]
    before = template.dependencies(server)
    assert bucket in before
    assert template.address("aws_eks_pod_identity_association", {"service_account": "model-server"}) in before
    # Its pods need Karpenter's nodes.
    assert release_address(template, POOLS) in before


@pytest.mark.parametrize("setting", ["delivery: manifests", "stack: separate"])
def test_an_attribute_of_a_resource_does_not_leave_its_stack(tmp_path: Path, setting: str) -> None:
    code, said = run_with_strategy(tmp_path, BUCKET, f"kubernetes: {{{setting}}}\n")
    assert code == 1
    assert "got an attribute of a Terraform resource" in said


def test_a_node_group_of_another_kind(tmp_path: Path) -> None:
    template = stacks_of_program(tmp_path, SELF_MANAGED)["mixed-hardware"]
    groups = {each["node_group_name"] for each in template.resources("aws_eks_node_group").values()}
    assert groups == {"system", "trainium-training", "inferentia-inference", "cpu-inference"}
    name = "mixed-hardware-gpu-training"
    address = template.address("aws_autoscaling_group", {"name": name})
    assert template.addresses()[address] == "mixed-hardware/platform/nodes-gpu-training/Resource"
    group = template.resource("aws_autoscaling_group", {"name": name})
    assert (group["min_size"], group["max_size"], len(group["vpc_zone_identifier"])) == (0, 4, 1)
    before = template.dependencies(address)
    needed = {
        template.address("aws_eks_addon", {"addon_name": "vpc-cni"}),
        template.address("aws_eks_access_entry", {"principal_arn": Matches("nodes-gpu-training_role")}),
        *template.resources("aws_route"),
    }
    assert needed - before == set()
    (image,) = template.data("aws_ssm_parameter").values()
    path = "1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id"
    assert image["name"] == f"/aws/service/eks/optimized-ami/{path}"


def test_its_launch_template_is_that_of_the_hardware(tmp_path: Path) -> None:
    template = stacks_of_program(tmp_path, SELF_MANAGED)["mixed-hardware"]
    found = template.resource("aws_launch_template", {"name": Matches("gpu-training")})
    assert found["instance_type"] == "p4d.24xlarge"
    assert [each["interface_type"] for each in found["network_interfaces"]] == ["interface", *["efa-only"] * 4]
    assert {len(each["security_groups"]) for each in found["network_interfaces"]} == {2}
    assert "vpc_security_group_ids" not in found
    (encoded,) = re.findall(r'base64decode\("([^"]+)"\)', found["user_data"])
    user_data = base64.b64decode(encoded).decode()
    assert '"--register-with-taints=nvidia.com/gpu=true:NoSchedule"' in user_data
    assert "nvidia.com/gpu.present=true" in user_data
    assert '"apiServerEndpoint"' in user_data


def test_nodes_that_the_strategy_does_not_know(tmp_path: Path) -> None:
    template = stacks_of_program(tmp_path, FARGATE)["mixed-hardware"]
    profile = template.address("aws_eks_fargate_profile")
    assert profile in template.dependencies(release_address(template, "karpenter"))
    execution = template.address("aws_iam_role_policy_attachment", {"policy_arn": Matches("Fargate")})
    assert execution in template.dependencies(profile)


# --- one after another, in this process


class Recorder(Extension):
    """Extension that records the calls of its methods and their arguments."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def change(self, resolved: ResolvedStrategy) -> ResolvedStrategy:
        self.called.append("change")
        return resolved.changed(efa_security_group_name="changed")

    def node_group(self, scope: Any, id_: str, *, resolved: Any, environment: Any) -> Any:
        self.called.append(f"node_group {id_}")
        return super().node_group(scope, id_, resolved=resolved, environment=environment)

    def resources(self, stack: Any, platform: Any) -> None:
        assert stack.platform is platform
        self.called.append(f"resources {stack.resolved.efa_security_group_name}")

    def releases(self, bundle: Bundle, resolved: ResolvedStrategy) -> Bundle:  # noqa: ARG002
        self.called.append(f"releases {resolved.efa_security_group_name}")
        return Bundle(())

    def overrides(self, stack: Any) -> None:
        self.called.append(f"overrides {stack.bundle.releases}")


@pytest.fixture
def resolved() -> ResolvedStrategy:
    return resolve(Strategy.model_validate(document(karpenter={}, kubernetes={"delivery": "helm"})))


def test_methods_are_called_in_order(tmp_path: Path, resolved: ResolvedStrategy) -> None:
    from eks_hardware._cdk import App

    recorder = Recorder()
    stack = strategy_stacks(App(outdir=str(tmp_path)), resolved, extension=recorder)[0]
    assert recorder.called == [
        "change",
        "node_group nodes-system",
        "resources changed",
        "releases changed",
        "overrides ()",
    ]
    assert stack.releases is None


def test_an_extension_that_does_nothing_changes_nothing(tmp_path: Path, resolved: ResolvedStrategy) -> None:
    from eks_hardware._cdk import App

    def text(extension: Extension | None, folder: str) -> Any:
        stack = HardwareStack(App(outdir=str(tmp_path / folder)), resolved=resolved, extension=extension)
        return Template.of(stack).document

    assert text(Extension(), "a") == text(None, "b")


def test_a_name_of_nodes_is_taken_once(tmp_path: Path, resolved: ResolvedStrategy) -> None:
    from eks_hardware._cdk import App

    platform = HardwareStack(App(outdir=str(tmp_path)), resolved=resolved).platform
    with pytest.raises(ValueError, match=r"^NODE_GROUP_NAME demo/platform: there is already a group system"):
        platform.add_nodes("system", platform.node_groups["system"])


def test_releases_of_the_extension_take_the_place_of_the_strategys(tmp_path: Path, resolved: ResolvedStrategy) -> None:
    from eks_hardware._cdk import App

    given = Bundle((ChartRelease(name="a", namespace="a", chart="a", repository="oci://a", version="1", values={}),))

    class Ours(Extension):
        def releases(self, bundle: Bundle, resolved: ResolvedStrategy) -> Bundle:  # noqa: ARG002
            return given.changed("a", timeout_seconds=7)

    app = App(outdir=str(tmp_path))
    template = Template.of(HardwareStack(app, resolved=resolved, extension=Ours()))
    names: Iterable[str] = {each["name"] for each in template.resources("helm_release").values()}
    assert (names, template.resource("helm_release")["timeout"]) == ({"a"}, 7)
    template.has("helm_release", {"depends_on": Contains(template.address("aws_eks_node_group"))})
