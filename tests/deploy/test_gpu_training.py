"""An EFA-heavy strategy, for real but for AWS itself: p5.48xlarge with 33 network interfaces a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from eks_hardware.local.readback import Account

NAME = "gpu-training"
REGION = "us-west-2"


@pytest.fixture(scope="module")
def deployed(deploy: Any, account: Callable[[str], Account]) -> Iterator[Account]:
    """Deploys once; a second plan has to be empty, and destroy to leave nothing."""
    here = account(REGION)
    before = here.inventory()
    with deploy(NAME) as project:
        plan = project.plan()
        assert (plan.exit_code, plan.changes) == (0, {})
        yield here
    assert here.inventory() == before, "destroy left something behind"


def _template(account: Account, group: str) -> dict[str, Any]:
    answer = account.client("ec2").describe_launch_template_versions(
        LaunchTemplateName=f"{NAME}/{group}", Versions=["$Latest"]
    )
    data: dict[str, Any] = answer["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    return data


def test_every_card_of_p5_carries_efa(deployed: Account) -> None:
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html, written out instead of computed.
    expected = [(0, 0, "interface"), (0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))]
    actual = _template(deployed, "h100")["NetworkInterfaces"]
    assert [(each["NetworkCardIndex"], each["DeviceIndex"], each["InterfaceType"]) for each in actual] == expected


def test_efa_group_is_in_one_zone_and_one_placement_group(deployed: Account) -> None:
    group = deployed.client("eks").describe_nodegroup(clusterName=NAME, nodegroupName="h100")["nodegroup"]
    assert len(group["subnets"]) == 1
    assert _template(deployed, "h100")["Placement"]["GroupName"] == f"{NAME}/h100"
    assert "Placement" not in _template(deployed, "system")


def test_p5_node_group(deployed: Account) -> None:
    group = deployed.client("eks").describe_nodegroup(clusterName=NAME, nodegroupName="h100")["nodegroup"]
    assert group["amiType"] == "AL2023_x86_64_NVIDIA"
    assert group["labels"]["accelerator"] == "h100"
    assert group["labels"]["team"] == "research"
    assert group["taints"] == [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}]
    [disk] = _template(deployed, "h100")["BlockDeviceMappings"]
    assert disk["Ebs"]["VolumeSize"] == 500
