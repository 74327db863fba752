"""A strategy in a private network, with everything real but AWS; its charts move from Terraform to manifests and back.

Helm installs the releases first, as Terraform's Helm provider does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware.catalogue import load
from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.files.write import write
from eks_hardware.kubernetes.references import known
from eks_hardware.local.cluster import ClusterError
from eks_hardware.local.emulator import Emulator, free_port
from eks_hardware.local.readback import Account
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.validation import load_strategy
from helpers.cluster_programs import programs
from helpers.kubernetes.installed import Installed, install_with_helm, installed, local_kubernetes, long_running
from helpers.kubernetes.objects import manifest_list
from helpers.polling import eventually
from helpers.running import run_app
from helpers.strategies import pool

NAME = "closed"
REGION = "us-east-2"
KIND = "trn2.48xlarge"
"""Karpenter has no built-in price of this type."""

SECONDS = 300
"""The longest wait for Karpenter on a busy machine."""
TOOLS = ("kubernetes", "etcd", "helm", "kwok", "kwok-files", "karpenter", "karpenter-files")
STRATEGY = f"""
version: 1
name: {NAME}
region: {REGION}
cluster: {{kubernetes_version: "1.35", creator_is_admin: true}}
network: {{cidr: 10.1.0.0/16, private: true}}
node_groups:
  - {{name: system, workload: system, instance_types: [m6i.xlarge], scaling: {{min: 2, max: 3}}}}
karpenter:
  node_pools:
    - {{name: trainium2, workload: training, instance_types: [{KIND}], limits: {{aws.amazon.com/neuron: 16}}}}
kubernetes: {{delivery: manifests}}
"""
RESOURCES = "karpenter-resources"
OWNER = "secrets", "--namespace=kube-system", f"--selector=owner=helm,name={RESOURCES}"


@pytest.fixture(scope="module")
def strategy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Strategy, ResolvedStrategy]:
    file = tmp_path_factory.mktemp("strategy") / f"{NAME}.yaml"
    file.write_text(STRATEGY, encoding="utf-8")
    loaded = load_strategy(file).strategy
    return file, loaded, resolve(loaded)


@pytest.fixture(scope="module")
def running(
    deploy: Any,
    emulator: Emulator,
    account: Callable[[str], Account],
    strategy: tuple[Path, Strategy, ResolvedStrategy],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installed]:
    """Deploy the AWS half with Terraform, and install the releases with Helm; remove all of it at the end."""
    tools, (file, loaded, resolved) = programs(*TOOLS), strategy
    run = run_app(tmp_path_factory.mktemp("synthesized") / "cdktf.out", "main.py", strategies=(file,))
    assert run.code == 0, run.err
    stack, here, logs = run.outdir / "stacks" / NAME, account(REGION), tmp_path_factory.mktemp("running")
    before = here.inventory()
    with local_kubernetes(emulator, NAME, REGION, tools, logs) as cluster:
        with deploy.directly(stack) as project:
            outputs = json.loads(project.run("output", "-json").stdout)
            with installed(
                loaded,
                resolved,
                bundle(resolved),
                cluster=cluster,
                account=here,
                emulator=emulator,
                rendered=stack / "kubernetes",
                outputs={key: each["value"] for key, each in outputs.items() if isinstance(each["value"], str)},
                tools=tools,
                directory=logs,
                with_helm=True,
            ) as parts:
                yield parts
        assert here.inventory() == before, "destroy left something behind"


@pytest.fixture(scope="module")
def working(running: Installed) -> str:
    """Return the node on which a pod runs, until the releases are removed."""
    pod = long_running(running.printed("trainium2"), "training")
    running.cluster.kubectl("create", "-f", "-", stdin=manifest_list([pod]))
    phases = eventually(
        lambda: [phase for phase, _ in running.pods("long-running=training").values()], ["Running"], seconds=SECONDS
    )
    running.check()
    assert phases == ["Running"], running.karpenter.log_tail()
    ((_, node),) = running.pods("long-running=training").values()
    return str(node)


def test_a_type_without_a_built_in_price_gets_its_node(working: str, running: Installed) -> None:
    """Without the price, Karpenter has no offering of this type in a private network."""
    (instance,) = running.instances_of("trainium2")
    assert (instance["InstanceType"], instance["PrivateDnsName"]) == (KIND, working)
    assert instance["IamInstanceProfile"]["Arn"].endswith(f"/{NAME}-{REGION}-karpenter-node")
    (overlay,) = running.get("nodeoverlays")
    price = load().price(KIND, REGION)
    assert price is not None
    assert float(overlay["spec"]["price"]) == price.usd_per_hour
    assert {each["type"]: each["status"] for each in overlay["status"]["conditions"]}["Ready"] == "True"
    (deployment,) = running.get("deployments", "-l", "app.kubernetes.io/name=karpenter")
    settings = {
        each["name"]: each.get("value") for each in deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    assert settings["ISOLATED_VPC"] == "true"


def identities(running: Installed) -> dict[tuple[str, str], str]:
    """Return the uid of each object that a release has, and of the node with the work."""
    found = running.get("nodepools,ec2nodeclasses,nodeoverlays,nodeclaims,deployments,daemonsets")
    return {(each["kind"], each["metadata"]["name"]): each["metadata"]["uid"] for each in found}


def limit_of(running: Installed) -> str:
    (found,) = running.get("nodepools", "--field-selector=metadata.name=trainium2")
    return str(found["spec"]["limits"]["aws.amazon.com/neuron"])


def with_limit(running: Installed, limit: int, folder: Path) -> Installed:
    """Return the running parts with another limit of the pool and one more pool, rendered to a folder."""
    document = yaml.safe_load(STRATEGY)
    first = {**document["karpenter"]["node_pools"][0], "limits": {"aws.amazon.com/neuron": limit}}
    document["karpenter"]["node_pools"] = [first, pool("cpu")]
    changed = Strategy.model_validate(document)
    resolved = resolve(changed)
    write(bundle(resolved), folder, name=NAME, region=REGION, known=known(resolved))
    return replace(running, strategy=changed, resolved=resolved, rendered=folder)


def test_charts_move_from_terraform_to_manifests_and_back(working: str, running: Installed, tmp_path: Path) -> None:
    kubectl, before = running.cluster.kubectl, identities(running)
    assert running.get(*OWNER) != []
    running.run("install.sh")
    assert identities(running) == before
    # Helm's record of the objects goes, as the guide says.
    kubectl("delete", *OWNER)
    changed = with_limit(running, 32, tmp_path / "manifests")
    changed.run("install.sh")
    assert limit_of(running) == "32"
    assert before.items() <= identities(running).items()
    before = identities(running)

    def adopt(strategy: Installed) -> None:
        install_with_helm(bundle(strategy.resolved), known(strategy.resolved), strategy.rendered, strategy.environment)

    with pytest.raises(AssertionError, match="invalid ownership metadata"):
        adopt(changed)
    objects = str(changed.rendered / "manifests" / RESOURCES)
    release = (f"meta.helm.sh/release-name={RESOURCES}", "meta.helm.sh/release-namespace=kube-system")
    kubectl("annotate", "--overwrite", "-f", objects, *release)
    kubectl("label", "--overwrite", "-f", objects, "app.kubernetes.io/managed-by=Helm")
    adopt(changed)
    assert running.get(*OWNER) != []
    adopt(with_limit(running, 48, tmp_path / "back"))
    assert (limit_of(running), identities(running)) == ("48", before)
    assert working in running.instances()


def test_without_the_api_nothing_is_uninstalled(working: str, running: Installed, tmp_path: Path) -> None:
    before = identities(running)
    unreachable = tmp_path / "kubeconfig"
    text = running.cluster.kubeconfig.read_text(encoding="utf-8")
    unreachable.write_text(text.replace(running.cluster.endpoint, f"https://127.0.0.1:{free_port()}"), encoding="utf-8")
    running.run("uninstall.sh", codes=(1,), KUBECONFIG=str(unreachable))
    assert identities(running) == before
    assert working in running.instances()


def test_a_budget_without_evictions_keeps_the_node_until_it_is_deleted(working: str, running: Installed) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "no-eviction", "namespace": "default"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"long-running": "training"}}},
    }
    with running.created([budget]):
        folder = str(running.rendered / "manifests" / RESOURCES)
        with pytest.raises(ClusterError):
            running.cluster.kubectl("delete", "-f", folder, "--wait", "--timeout=5s")
        (claim,) = running.get("nodeclaims")
        assert "deletionTimestamp" in claim["metadata"]
        said = running.cluster.kubectl("describe", "node", working)
        assert re.search(r"Non-terminated Pods:.*\n(?: .*\n)*?  default +training ", said), said
        assert working in running.instances()
    assert eventually(lambda: running.get("nodeclaims"), [], seconds=SECONDS) == [], running.karpenter.log_tail()
    assert eventually(lambda: working in running.instances(), False, seconds=SECONDS) is False
