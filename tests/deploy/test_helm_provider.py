"""Terraform installs the charts with the real Helm provider, which gets its tokens from the real AWS CLI.

The charts come from a folder instead of their repositories. Terraform gets the provider from the registry, or from the
mirror in ``TF_PLUGIN_MIRROR``. Without it, these tests are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from eks_hardware import facts
from eks_hardware.local import terraform
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.karpenter_process import Karpenter
from eks_hardware.local.kubelets import Kubelets
from eks_hardware.local.readback import Account
from eks_hardware.local.stand_in_charts import Chart, charts_folder
from eks_hardware.resolve import resolve
from eks_hardware.workloads import Request, manifest
from helpers.cluster_programs import programs
from helpers.kubernetes.installed import local_kubernetes, long_running, source_of
from helpers.kubernetes.objects import manifest_list
from helpers.paths import SHIPPED
from helpers.polling import eventually
from helpers.running import run_app
from helpers.strategies import strategy_of

from .conftest import Project, TerraformCli, checked_emulator

NAME = "mixed-hardware"
REGION = "us-west-2"
PROVIDER = "hashicorp/helm"
SECONDS = 300
"""The longest wait for Karpenter on a busy machine."""
TOOLS = ("etcd", "kubernetes", "kwok", "kwok-files", "helm", "karpenter", "karpenter-files")
SEPARATE = f"""
version: 1
name: separate
region: {REGION}
cluster: {{kubernetes_version: "1.35", creator_is_admin: true, endpoint: {{public_cidrs: [0.0.0.0/0]}}}}
network: {{cidr: 10.0.0.0/16, zones: 2, nat_gateways: single}}
node_groups:
  - {{name: system, workload: system, instance_types: [m6i.xlarge], scaling: {{min: 2, max: 3}}}}
karpenter:
  node_pools:
    - {{name: l4, workload: inference, instance_types: [g6.xlarge], limits: {{nvidia.com/gpu: 2}}}}
kubernetes: {{stack: separate}}
"""


@dataclass(frozen=True)
class Deployed:
    """Stacks, their cluster and their account.

    Attributes:
        strategy: the file.
        project: the stack with the releases.
        hardware: the stack with the cluster, which can be the same.
    """

    strategy: Path
    project: Project
    hardware: Project
    kubernetes: Cluster
    emulator: Emulator
    account: Account
    helm: Path

    def releases(self) -> dict[str, str]:
        """Return the status of each release."""
        command: list[str | Path] = [self.helm, "list", "--all", "--all-namespaces", "--output", "json"]
        said = subprocess.run(command, env=self.kubernetes.environment(), check=True, capture_output=True).stdout
        return {each["name"]: each["status"] for each in json.loads(said)}


@pytest.fixture(scope="module")
def environment(terraform_cli: TerraformCli, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the environment of a Terraform that can install the Helm provider."""
    config = terraform_cli.environment.get("TF_CLI_CONFIG_FILE")
    in_mirror = config is not None and PROVIDER in Path(config).read_text(encoding="utf-8")
    if config and not in_mirror and not terraform.registry_reachable():
        pytest.skip(
            f"{PROVIDER} is missing: Terraform's registry is unreachable, and the mirror has only the AWS provider"
        )
    versions = facts.eks()["helm_provider_versions"]
    wanted = {"source": PROVIDER, "version": f">= {versions['lowest']}, < {versions['below']}"}
    trial = tmp_path_factory.mktemp("helm-provider")
    text = json.dumps({"terraform": {"required_providers": {"helm": wanted}}})
    (trial / "main.tf.json").write_text(text, encoding="utf-8")
    found = {**os.environ, **terraform_cli.environment}
    Project(trial, found, terraform_cli.program).init()
    return found


def _stacks(folder: Path, given: Path, overlay: Mapping[str, object]) -> Path:
    """Synthesize a strategy with charts from a folder; return the folder of the stacks."""
    tools = programs(*TOOLS)
    (folder / "strategies").mkdir(parents=True)
    strategy = folder / "strategies" / given.name
    strategy.write_text(given.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "overlays").mkdir()
    (folder / "overlays" / "changed.yaml").write_text(json.dumps(overlay), encoding="utf-8")
    run = run_app(folder / "cdktf.out", "main.py", strategies=(strategy,), EKS_HARDWARE_OVERLAY="changed")
    assert run.code == 0, run.err
    for file in run.outdir.glob("stacks/*/cdk.tf.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        charts = folder / "charts"
        releases = document["resource"].get("helm_release", {}).values()
        remote = [each for each in releases if "repository" in each]
        wanted = [Chart(each["chart"], each["version"]) for each in remote]
        charts_folder(wanted, charts, tools)
        for release, chart in zip(remote, wanted, strict=True):
            del release["repository"]
            release["chart"] = str(charts / chart.archive)
        file.write_text(json.dumps(document), encoding="utf-8")
    return run.outdir / "stacks"


@contextlib.contextmanager
def _running(
    terraform_cli: TerraformCli, environment: Mapping[str, str], folder: Path, strategy: Path, releases: str
) -> Iterator[Deployed]:
    """Synthesize a strategy and start what its stacks are deployed to; afterwards check that nothing is left.

    Args:
        releases: the name of the stack with the releases.
    """
    tools = programs(*TOOLS)
    stacks = _stacks(folder / "first", strategy, {})
    with contextlib.ExitStack() as running:
        emulator = running.enter_context(checked_emulator(folder))
        cluster = local_kubernetes(emulator, strategy.stem, REGION, tools, folder / "logs")
        kubernetes = running.enter_context(cluster)
        variables = {**environment, **emulator.environment(), **terraform_cli.environment}
        variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
        hardware = Project(stacks / strategy.stem, variables, terraform_cli.program)
        project = replace(hardware, stack_dir=stacks / releases)
        account = Account(emulator.endpoint_url, REGION)
        before = account.inventory()
        running.enter_context(Kubelets(account, kubernetes))
        found = Deployed(strategy, project, hardware, kubernetes, emulator, account, tools["helm"])
        yield found
        assert found.releases() == {}
        assert account.inventory() == before, "destroy left something behind"


@pytest.fixture(scope="module")
def deployed(
    terraform_cli: TerraformCli, environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("helm")
    with _running(terraform_cli, environment, folder, SHIPPED / f"{NAME}.yaml", NAME) as found:
        found.project.init()
        try:
            found.project.apply()
            yield found
        finally:
            found.project.destroy()


def test_every_release_is_deployed_and_a_second_plan_is_empty(deployed: Deployed) -> None:
    releases = deployed.project.document()["resource"]["helm_release"].values()
    assert deployed.releases() == {each["name"]: "deployed" for each in releases}
    plan = deployed.project.plan()
    assert (plan.exit_code, plan.changes) == (0, {})


def _change_a_setting(deployed: Deployed, folder: Path) -> None:
    """Apply another number of Karpenter's replicas, which must change its release only."""
    stacks = _stacks(folder, deployed.strategy, {"karpenter": {"replicas": 3}})
    file = deployed.project.stack_dir / "cdk.tf.json"
    # The same charts, so that only the setting differs.
    charts = str(folder / "charts"), str(file.parents[3] / "charts")
    changed = (stacks / file.parent.name / file.name).read_text(encoding="utf-8")
    file.write_text(changed.replace(*charts), encoding="utf-8")
    ((address, action),) = deployed.project.plan().changes.items()
    assert (address.partition(".")[0], action) == ("helm_release", "update")
    deployed.project.apply()
    deployment = deployed.kubernetes.request("GET", "/apis/apps/v1/namespaces/kube-system/deployments/karpenter")
    assert deployment["spec"]["replicas"] == 3


def test_a_changed_setting_updates_its_release(deployed: Deployed, tmp_path: Path) -> None:
    file = deployed.project.stack_dir / "cdk.tf.json"
    first = file.read_text(encoding="utf-8")
    try:
        _change_a_setting(deployed, tmp_path / "changed")
    finally:
        file.write_text(first, encoding="utf-8")


def test_an_identity_without_an_access_entry_is_refused(deployed: Deployed) -> None:
    """The provider plans to add every release, because it ignores the error of its refresh; the apply fails."""
    before = deployed.releases()
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    role = deployed.account.client("iam").create_role(RoleName="stranger", AssumeRolePolicyDocument=trust)["Role"]
    sts = deployed.account.client("sts")
    keys = sts.assume_role(RoleArn=role["Arn"], RoleSessionName="stranger")["Credentials"]
    session = {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }
    stranger = replace(deployed.project, environment={**deployed.project.environment, **session})
    refused = stranger.run("apply", "-auto-approve", "-no-color", "-input=false", codes=(1,))
    deployed.account.client("iam").delete_role(RoleName="stranger")
    assert f"Plan: {len(before)} to add, 0 to change, 0 to destroy." in refused.stdout
    said = "Kubernetes cluster unreachable: the server has asked for the client to provide credentials"
    assert said in " ".join(refused.stderr.split())
    # The releases are no longer in the state. An identity with access adopts them.
    assert [each for each in deployed.project.addresses() if each.startswith("helm_release.")] == []
    deployed.project.apply()
    assert deployed.releases() == before
    assert deployed.project.plan().exit_code == 0


def test_a_second_stack_goes_on_where_ctrl_c_interrupted_it(
    terraform_cli: TerraformCli, environment: Mapping[str, str], tmp_path: Path
) -> None:
    """Between two charts, and with Karpenter installed but without its NodePools. Then it is changed and destroyed."""
    strategy = tmp_path / "separate.yaml"
    strategy.write_text(SEPARATE, encoding="utf-8")
    with _running(terraform_cli, environment, tmp_path / "running", strategy, "separate-kubernetes") as deployed:
        second, hardware = deployed.project, deployed.hardware
        hardware.init()
        hardware.apply()
        second.init()
        second.interrupt("apply_complete", "helm_release.kubernetes_karpenter-crd_")
        # Terraform can have begun the next chart. The provider ignores the interruption, and completes it.
        if "karpenter" not in deployed.releases():
            known = deployed.releases
            second.interrupt("apply_start", "helm_release.kubernetes_karpenter_", until=lambda: "karpenter" in known())
        releases = deployed.releases()
        assert (releases["karpenter"], "karpenter-resources" in releases) == ("deployed", False)
        with Karpenter(deployed.kubernetes, deployed.emulator, REGION, tmp_path) as karpenter:
            second.apply()
            wanted = second.document()["resource"]["helm_release"].values()
            assert deployed.releases() == {each["name"]: "deployed" for each in wanted}
            assert [each.plan().exit_code for each in (hardware, second)] == [0, 0]
            _change_a_setting(deployed, tmp_path / "changed")
            _run_on_a_node_of_karpenter(deployed, karpenter)
            second.destroy()
            assert [source_of(each) for each in deployed.account.instances()] == ["system", "system"]
        hardware.destroy()


def _run_on_a_node_of_karpenter(deployed: Deployed, karpenter: Karpenter) -> None:
    """Run a pod that keeps its node until something drains it."""
    strategy = strategy_of(deployed.strategy)
    objects = manifest(strategy, resolve(strategy), Request(kind="job", group="l4", name="work")).objects
    pod = long_running([dict(each) for each in objects], "work")
    deployed.kubernetes.kubectl("create", "-f", "-", stdin=manifest_list([pod]))
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/work"
    phase = eventually(lambda: deployed.kubernetes.request("GET", path)["status"]["phase"], "Running", seconds=SECONDS)
    assert phase == "Running", karpenter.log_tail()
