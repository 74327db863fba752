"""Access to a cluster with the real AWS CLI, kubectl and API server; the emulator has EKS's part."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.local.cluster import Cluster
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.readback import Account
from helpers.cluster_programs import programs
from helpers.emulated_ec2 import two_subnets
from helpers.polling import eventually

from .conftest import checked_emulator

REGION = "us-west-2"
NAME = "research"
POLICIES = "arn:aws:eks::aws:cluster-access-policy/"
TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})
AWS = Path(sys.executable).with_name("aws")


@dataclass(frozen=True)
class Eks:
    """An EKS cluster, with a Kubernetes API server that asks its access entries."""

    emulator: Emulator
    account: Account
    kubernetes: Cluster
    kubectl: Path
    folder: Path

    def role(self, name: str) -> str:
        """Create an IAM role without an access entry, and return its ARN."""
        iam = self.account.client("iam")
        return str(iam.create_role(RoleName=name, Path="/teams/", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"])

    def entry(self, role: str, *, groups: tuple[str, ...] = (), **policies: tuple[str, ...]) -> None:
        """Create an access entry with policies by name, each for some namespaces, or for the cluster if empty."""
        eks = self.account.client("eks")
        eks.create_access_entry(clusterName=NAME, principalArn=role, kubernetesGroups=list(groups))
        for policy, namespaces in policies.items():
            kind = "namespace" if namespaces else "cluster"
            eks.associate_access_policy(
                clusterName=NAME,
                principalArn=role,
                policyArn=f"{POLICIES}{policy}",
                accessScope={"type": kind, "namespaces": list(namespaces)},
            )

    def keys(self, role: str) -> dict[str, str]:
        """Return the environment of a session of a role."""
        sts = self.account.client("sts")
        found = sts.assume_role(RoleArn=role, RoleSessionName="alice")["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": found["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": found["SecretAccessKey"],
            "AWS_SESSION_TOKEN": found["SessionToken"],
        }

    def run(self, *command: str | Path, keys: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run a command as an identity, by default as the cluster's creator; return the exit code and all output."""
        environment = {**os.environ, **self.emulator.environment(), **(keys or {})}
        environment["KUBECONFIG"] = str(self.folder / "kubeconfig")
        environment["PATH"] = f"{AWS.parent}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(command, env=environment, check=False, capture_output=True, encoding="utf-8")
        return done.returncode, done.stdout + done.stderr

    def kubectl_as(self, keys: Mapping[str, str], *arguments: str) -> tuple[int, str]:
        """Run kubectl with the kubeconfig that ``aws eks update-kubeconfig`` wrote."""
        return self.run(self.kubectl, f"--cache-dir={self.folder / 'cache'}", *arguments, keys=keys)

    def token(self, cluster: str = NAME, **keys: str) -> str:
        """Return a token of the AWS CLI."""
        code, said = self.run(AWS, "eks", "get-token", "--cluster-name", cluster, "--region", REGION, keys=keys)
        assert code == 0, said
        return str(json.loads(said)["status"]["token"])

    def review(self, token: str) -> dict[str, Any]:
        """Return what the API server learns about a token."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        status: dict[str, Any] = self.kubernetes.request("POST", path, body)["status"]
        return status


@pytest.fixture(scope="module")
def eks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Eks]:
    tools = programs("etcd", "kubernetes")
    folder = tmp_path_factory.mktemp("access")
    with checked_emulator(folder) as emulator:
        webhook = emulator.access_webhook(NAME, REGION)
        with Cluster(folder / "kubernetes", programs=tools, access_webhook=webhook) as kubernetes:
            emulator.set_api_server(kubernetes.endpoint, kubernetes.certificate_authority)
            account = Account(emulator.endpoint_url, REGION)
            ec2 = account.client("ec2")
            vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
            account.client("eks").create_cluster(
                name=NAME,
                roleArn="arn:aws:iam::000000000000:role/cluster",
                resourcesVpcConfig={"subnetIds": two_subnets(ec2, vpc, "10.0")},
                accessConfig={"authenticationMode": "API"},
            )
            for name in ("team-a", "other"):
                kubernetes.kubectl("create", "namespace", name)
            found = Eks(emulator, account, kubernetes, tools["kubectl"], folder)
            assert found.run(AWS, "eks", "update-kubeconfig", "--name", NAME, "--region", REGION)[0] == 0
            yield found


def test_the_creator_is_an_administrator(eks: Eks) -> None:
    code, said = eks.kubectl_as({}, "auth", "can-i", "*", "*", "--all-namespaces")
    assert (code, said.strip()) == (0, "yes")


def test_a_policy_allows_its_rules_in_its_namespaces(eks: Eks) -> None:
    role = eks.role("editor")
    eks.entry(role, AmazonEKSEditPolicy=("team-*",))
    keys = eks.keys(role)
    allowed = ("create", "configmap", "settings", "--namespace=team-a")
    assert eks.kubectl_as(keys, *allowed) == (0, "configmap/settings created\n")
    refused = {
        ("create", "configmap", "settings", "--namespace=other"): "cannot create resource",
        ("create", "role", "r", "--verb=get", "--resource=pods", "--namespace=team-a"): "cannot create resource",
        ("get", "nodes"): "cannot list resource",
    }
    for arguments, text in refused.items():
        code, said = eks.kubectl_as(keys, *arguments)
        assert (code, text in said) == (1, True), said
        assert 'User "arn:aws:sts::000000000000:assumed-role/editor/alice"' in said


def test_a_group_of_an_entry_is_a_kubernetes_group(eks: Eks) -> None:
    role = eks.role("member")
    eks.entry(role, groups=("readers",))
    keys = eks.keys(role)
    pods = ("get", "pods", "--namespace=team-a")
    assert eks.kubectl_as(keys, *pods)[0] == 1
    eks.kubernetes.kubectl("create", "rolebinding", "readers", "--clusterrole=view", "--group=readers", "-n", "team-a")
    assert eks.kubectl_as(keys, *pods) == (0, "No resources found in team-a namespace.\n")
    assert eks.kubectl_as(keys, "get", "pods", "--namespace=other")[0] == 1


def test_an_identity_without_an_entry_is_refused(eks: Eks) -> None:
    role = eks.role("stranger")
    keys = eks.keys(role)
    code, said = eks.kubectl_as(keys, "get", "pods", "--namespace=team-a")
    assert (code, "You must be logged in to the server" in said) == (1, True), said
    eks.entry(role, AmazonEKSClusterAdminPolicy=())
    assert eks.kubectl_as(keys, "get", "nodes") == (0, "No resources found\n")
    eks.account.client("eks").delete_access_entry(clusterName=NAME, principalArn=role)
    # The API server remembers a token for 10 s. It asks about each request, and no policy allows it any more.
    assert eks.kubectl_as(keys, "get", "nodes")[0] == 1
    assert eventually(lambda: "must be logged in" in eks.kubectl_as(keys, "get", "nodes")[1], True)


def test_only_a_token_that_was_signed_for_this_cluster_is_accepted(eks: Eks) -> None:
    good = eks.token()
    assert eks.review(good)["authenticated"]
    url = base64.urlsafe_b64decode(good.removeprefix("k8s-aws-v1.") + "==").decode()
    old = url.replace(url.partition("X-Amz-Date=")[2][:8], "20200101")
    changed = {
        "another cluster": eks.token("another"),
        "another secret": eks.token(AWS_SECRET_ACCESS_KEY="wrong"),
        "an unknown key": eks.token(AWS_ACCESS_KEY_ID="AKIAIOSFODNN7EXAMPLE"),
        "another action": _encoded(url.replace("GetCallerIdentity", "GetSessionToken")),
        "an old date": _encoded(old),
        "another signature": _encoded(url[:-4] + ("0000" if not url.endswith("0000") else "1111")),
        "not a URL": _encoded("hello"),
        "not base64": "k8s-aws-v1.!",
        "another prefix": good.removeprefix("k8s-"),
    }
    assert {name for name, token in changed.items() if eks.review(token).get("authenticated")} == set()


def _encoded(url: str) -> str:
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
