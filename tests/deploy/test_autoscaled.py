"""A node group whose size an autoscaler owns: the first apply, what it chose, and a raised minimum."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eks_hardware.local.readback import Account

ROOT = Path(__file__).resolve().parents[2]
REGION = "us-west-2"
STRATEGY = """
version: 1
name: autoscaled
region: us-west-2
cluster: {creator_is_admin: true}
network: {zones: 2, nat_gateways: single}
node_groups:
  - {name: system, instance_types: [m7i.xlarge], scaling: {min: MIN, max: 6, autoscaled: true}}
kubernetes: {delivery: manifests, cluster_autoscaler: true, load_balancer_controller: true}
"""


def _synthesize(folder: Path, minimum: int) -> Path:
    file = folder / f"min-{minimum}.yaml"
    file.write_text(STRATEGY.replace("MIN", str(minimum)), encoding="utf-8")
    outdir = folder / f"out-{minimum}"
    environment = {
        **os.environ,
        "CDKTF_OUTDIR": str(outdir),
        "EKS_HARDWARE_STRATEGIES": str(file),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }
    subprocess.run([sys.executable, "main.py"], cwd=ROOT, env=environment, check=True)
    return outdir / "stacks" / "autoscaled"


def _sizes(plan: Any) -> tuple[int, int]:
    [change] = [each for each in plan.document["resource_changes"] if each["type"] == "aws_eks_node_group"]
    [scaling] = change["change"]["after"]["scaling_config"]
    return scaling["min_size"], scaling["desired_size"]


def _as_eks_makes_it(account: Account, desired: int) -> None:
    """An Auto Scaling group with the tags that EKS puts on those of its node groups; the emulator makes none."""
    client = account.client("autoscaling")
    tags = {"eks:cluster-name": "autoscaled", "eks:nodegroup-name": "system"}
    client.create_auto_scaling_group(
        AutoScalingGroupName="eks-system-1",
        MinSize=2,
        MaxSize=6,
        DesiredCapacity=desired,
        AvailabilityZones=[f"{REGION}a"],
        LaunchTemplate={"LaunchTemplateName": "autoscaled/system", "Version": "1"},
        Tags=[
            {
                "Key": key,
                "Value": value,
                "PropagateAtLaunch": True,
                "ResourceId": "eks-system-1",
                "ResourceType": "auto-scaling-group",
            }
            for key, value in tags.items()
        ],
    )


def test_autoscaled_group(deploy: Any, account: Callable[[str], Account], tmp_path: Path) -> None:
    here = account(REGION)
    with deploy.directly(_synthesize(tmp_path, 2)) as project:
        assert _sizes(project.plan()) == (2, 2)
        assert project.plan().exit_code == 0
        identities = here.items("eks", "list_pod_identity_associations", "associations", clusterName="autoscaled")
        assert {"cluster-autoscaler", "aws-load-balancer-controller"} <= {each["serviceAccount"] for each in identities}

        # The autoscaler went to 4: an apply leaves it there.
        _as_eks_makes_it(here, desired=4)
        try:
            assert _sizes(project.plan()) == (2, 4)
            # A minimum above what runs raises both, where ignoring the size would fail.
            (project.stack_dir / "cdk.tf.json").write_bytes((_synthesize(tmp_path, 5) / "cdk.tf.json").read_bytes())
            assert _sizes(project.plan()) == (5, 5)
        finally:
            here.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName="eks-system-1", ForceDelete=True)


def test_look_up_names_nothing_that_a_plan_does_not_know(tmp_path: Path) -> None:
    document = json.loads((_synthesize(tmp_path, 2) / "cdk.tf.json").read_text(encoding="utf-8"))
    [found] = document["data"]["aws_autoscaling_groups"].values()
    assert [each["values"] for each in found["filter"]] == [["autoscaled"], ["system"]]
