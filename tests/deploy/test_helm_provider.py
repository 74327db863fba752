"""Terraform installs the charts with the real Helm provider, which gets its tokens from the real AWS CLI.

The charts come from a folder instead of their repositories. Terraform gets the provider from the registry, or from the
mirror in ``TF_PLUGIN_MIRROR``. Without it, these tests are skipped.
"""

from __future__ import annotations

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
from eks_hardware.local.kubelets import Kubelets
from eks_hardware.local.readback import Account
from eks_hardware.local.stand_in_charts import Chart, charts_folder
from helpers.cluster_programs import programs
from helpers.paths import SHIPPED
from helpers.running import run_app

from .conftest import Project, TerraformCli

NAME = "mixed-hardware"
REGION = "us-west-2"
PROVIDER = "hashicorp/helm"
TOOLS = ("etcd", "kubernetes", "kwok", "kwok-files", "helm", "karpenter-files")


@dataclass(frozen=True)
class Deployed:
    """The deployed stack, its cluster and its account."""

    project: Project
    kubernetes: Cluster
    account: Account
    helm: Path

    def releases(self) -> dict[str, str]:
        """Return the status of each release."""
        command = [self.helm, "list", "--all", "--all-namespaces", "--output", "json"]
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


def _stack(folder: Path, tools: Mapping[str, Path], overlay: Mapping[str, object]) -> Path:
    """Synthesize the strategy with charts from a folder; return the folder of the stack."""
    text = (SHIPPED / f"{NAME}.yaml").read_text(encoding="utf-8")
    (folder / "strategies").mkdir(parents=True)
    strategy = folder / "strategies" / f"{NAME}.yaml"
    strategy.write_text(text, encoding="utf-8")
    (folder / "overlays").mkdir()
    (folder / "overlays" / "changed.yaml").write_text(json.dumps(overlay), encoding="utf-8")
    run = run_app(folder / "cdktf.out", "main.py", strategies=(strategy,), EKS_HARDWARE_OVERLAY="changed")
    assert run.code == 0, run.err
    stack = run.outdir / "stacks" / NAME
    file = stack / "cdk.tf.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    charts = folder / "charts"
    remote = [each for each in document["resource"]["helm_release"].values() if "repository" in each]
    wanted = [Chart(each["chart"], each["version"]) for each in remote]
    charts_folder(wanted, charts, helm=tools["helm"], karpenter=tools["karpenter-files"])
    for release, chart in zip(remote, wanted, strict=True):
        del release["repository"]
        release["chart"] = str(charts / chart.archive)
    file.write_text(json.dumps(document), encoding="utf-8")
    return stack


@pytest.fixture(scope="module")
def deployed(
    terraform_cli: TerraformCli, environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    tools = programs(*TOOLS)
    folder = tmp_path_factory.mktemp("helm")
    stack = _stack(folder / "first", tools, {})
    with Emulator(folder / "emulator.log") as emulator:
        webhook = emulator.access_webhook(NAME, REGION)
        with Cluster(folder / "logs", programs=tools, access_webhook=webhook, kwok=True) as kubernetes:
            emulator.set_api_server(kubernetes.endpoint, kubernetes.certificate_authority)
            variables = {**environment, **emulator.environment(), **terraform_cli.environment}
            variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
            project = Project(stack, variables, terraform_cli.program)
            account = Account(emulator.endpoint_url, REGION)
            with Kubelets(account, kubernetes):
                project.init()
                found = Deployed(project, kubernetes, account, tools["helm"])
                try:
                    project.apply()
                    yield found
                finally:
                    project.destroy()
            assert found.releases() == {}
            assert account.instances() == []


def test_every_release_is_deployed_and_a_second_plan_is_empty(deployed: Deployed) -> None:
    releases = deployed.project.document()["resource"]["helm_release"].values()
    assert deployed.releases() == {each["name"]: "deployed" for each in releases}
    plan = deployed.project.plan()
    assert (plan.exit_code, plan.changes) == (0, {})


def test_a_changed_setting_updates_its_release(deployed: Deployed, tmp_path: Path) -> None:
    changed = _stack(tmp_path / "changed", programs(*TOOLS), {"karpenter": {"replicas": 3}})
    file = deployed.project.stack_dir / "cdk.tf.json"
    first = file.read_text(encoding="utf-8")
    # The same charts, so that only the setting differs.
    charts = {str(tmp_path / "changed" / "charts"): str(deployed.project.stack_dir.parents[2] / "charts")}
    ((of_changed, of_first),) = charts.items()
    file.write_text((changed / "cdk.tf.json").read_text(encoding="utf-8").replace(of_changed, of_first))
    try:
        ((address, action),) = deployed.project.plan().changes.items()
        assert (address.partition(".")[0], action) == ("helm_release", "update")
        deployed.project.apply()
        deployment = deployed.kubernetes.request("GET", "/apis/apps/v1/namespaces/kube-system/deployments/karpenter")
        assert deployment["spec"]["replicas"] == 3
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
