"""Charts and objects as Helm releases: their content, their dependencies, and where they are defined."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware import facts
from eks_hardware.kubernetes import Bundle, ChartRelease, ObjectRelease, Reference
from eks_hardware.kubernetes.local_chart import CHART, CHART_VERSION
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.testing import Matches, Template
from helpers.shared import Once
from helpers.strategies import document, group
from helpers.synthesized import with_overlay

Templates = Mapping[str, Template]

CHART_RELEASE = ChartRelease(
    name="karpenter",
    namespace="karpenter",
    timeout_seconds=900,
    key="karpenter",
    chart="karpenter",
    repository="oci://public.ecr.aws/karpenter",
    version="1.14.1",
    values={"settings": {"clusterName": "demo", "interruptionQueue": Reference.KARPENTER_QUEUE.text}, "replicas": 2},
)
NASTY = {
    "terraform": "${aws_vpc.main.id} $${kept} %{ if true } %%{kept} $ % ${",
    "helm": '{{ .Values.objects }} {{- fail "no" }}',
    "quotes": 'it\'s "quoted" \\ and\ttabbed',
    "lines": '#!/bin/bash\nset -e\n  echo "${HOME}" # {{ no }}\n',
    "non-ascii": "Zürich 東京 😀",
    "looks like YAML": "on",
    "numbers": "1e3",
    "reference": f"{Reference.VPC_ID.text} ${{{Reference.VPC_ID.value}}}",
}
OBJECTS = ObjectRelease(
    name="objects",
    namespace="kube-system",
    after=("karpenter",),
    timeout_seconds=1800,
    objects=({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": NASTY},),
)
BUNDLE = Bundle((CHART_RELEASE, OBJECTS))

ROLE = "arn:aws:iam::111122223333:role/deploy"
NETWORK = ("aws_nat_gateway", "aws_route", "aws_vpc_endpoint", "aws_internet_gateway")


class Synthesized(NamedTuple):
    """The stacks of one strategy and their output folder."""

    templates: Templates
    outdir: Path

    @property
    def manifest(self) -> Any:
        return json.loads((self.outdir / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Synthesized]:
    """Synthesize a strategy that installs a bundle, each once."""
    found: dict[str, Synthesized] = {}

    def synthesized(given: Bundle = BUNDLE, **content: Any) -> Synthesized:
        key = repr((given, content))
        if key not in found:
            found[key] = new(given, content)
        return found[key]

    def new(given: Bundle, content: dict[str, Any]) -> Synthesized:
        from eks_hardware._cdk import App
        from eks_hardware.stacks import Extension, strategy_stacks

        class Given(Extension):
            def releases(self, bundle: Bundle, resolved: ResolvedStrategy) -> Bundle:  # noqa: ARG002
                return given

        kubernetes = {"delivery": "helm", **content.get("kubernetes", {})}
        fields = {"karpenter": {}, **content, "kubernetes": kubernetes}
        resolved = resolve(Strategy.model_validate(document(**fields)))
        outdir = tmp_path_factory.mktemp("stacks") / "cdktf.out"
        app = App(outdir=str(outdir))
        strategy_stacks(app, resolved, extension=Given())
        app.synth()
        files = outdir.glob("stacks/*/cdk.tf.json")
        return Synthesized({file.parent.name: Template.from_json(file) for file in files}, outdir)

    return synthesized


def release(template: Template, name: str) -> dict[str, Any]:
    return template.resource("helm_release", {"name": name})


def release_address(template: Template, name: str) -> str:
    return template.address("helm_release", {"name": name})


def below(template: Template, path: str) -> set[str]:
    """Return the addresses of the resources of a construct and its children."""
    return {
        address
        for address, each in template.addresses().items()
        if each.partition("/")[2].startswith(path) and not address.startswith("data.")
    }


def helm_values(text: str) -> Any:
    """Read values as Helm does, after Terraform has read the text and removed its escapes."""
    import helm_python

    return helm_python.values_from_yaml(text.replace("$${", "${").replace("%%{", "%{"))


# --- content of a release


def test_a_chart(stacks: Callable[..., Synthesized]) -> None:
    template = stacks().templates["demo"]
    queue = template.address("aws_sqs_queue")
    found = release(template, "karpenter")
    (text,) = found.pop("values")
    found.pop("depends_on")
    assert found == {
        "name": "karpenter",
        "namespace": "karpenter",
        "create_namespace": True,
        "repository": "oci://public.ecr.aws/karpenter",
        "chart": "karpenter",
        "version": "1.14.1",
        "timeout": 900,
        "wait": True,
        "atomic": True,
        "cleanup_on_fail": True,
        "upgrade_install": True,
        "max_history": 10,
    }
    assert text == (f'settings:\n  clusterName: demo\n  interruptionQueue: "${{{queue}.name}}"\nreplicas: 2\n')


def test_objects_travel_in_the_chart_beside_the_stack(stacks: Callable[..., Synthesized]) -> None:
    """Terraform runs in the stack's folder, on any machine; a bundle without objects needs no chart."""
    synthesized = stacks()
    found = release(synthesized.templates["demo"], "objects")
    assert (found["version"], found["create_namespace"], found["timeout"]) == (CHART_VERSION, False, 1800)
    assert "repository" not in found
    assert not Path(found["chart"]).is_absolute()
    copied = synthesized.outdir / "stacks" / "demo" / found["chart"]
    assert contents_of(copied) == contents_of(CHART)


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_without_objects_no_chart_is_copied(stacks: Callable[..., Synthesized]) -> None:
    synthesized = stacks(Bundle((CHART_RELEASE,)))
    assert not (synthesized.outdir / "stacks" / "demo" / "assets").exists()


def test_every_release_states_its_version(shipped_name: str, templates: Templates) -> None:
    """Without a version, ``upgrade_install`` queries the cluster during the plan, even if it does not exist yet."""
    for each in templates[shipped_name].resources("helm_release").values():
        assert each["version"]


def test_texts_are_kept_from_terraform_and_references_are_not(stacks: Callable[..., Synthesized]) -> None:
    template = stacks().templates["demo"]
    (text,) = release(template, "objects")["values"]
    vpc = f"${{{template.address('aws_vpc')}.id}}"
    assert text.count("${") - text.count("$${") == text.count(vpc) == 1
    assert text.count("%{") == text.count("%%{")
    (found,) = helm_values(text)["objects"]
    assert found["data"] == NASTY | {"reference": f"{vpc} ${{vpc_id}}"}
    assert found["kind"] == "ConfigMap"


def test_a_reference_that_the_strategy_does_not_have(stacks: Callable[..., Synthesized]) -> None:
    lacking = ObjectRelease(name="a", namespace="default", objects=({"id": Reference.FSX_ID.text},))
    with pytest.raises(ValueError, match=r"KUBERNETES_REFERENCE .*release a .*fsx_lustre_id"):
        stacks(Bundle((lacking,)))


# --- order


def test_releases_wait_for_those_they_come_after(stacks: Callable[..., Synthesized]) -> None:
    template = stacks().templates["demo"]
    assert release(template, "objects")["depends_on"] == [release_address(template, "karpenter")]


def test_node_pools_are_uninstalled_while_all_that_ends_their_nodes_is_there(
    shipped_name: str, templates: Templates
) -> None:
    """Terraform destroys a resource before its dependencies."""
    # trap: terraform-aws-modules/terraform-aws-eks#285
    # trap: aws/karpenter-provider-aws#5582
    # trap: aws/karpenter-provider-aws#9185
    template = templates[shipped_name]
    if not template.resources("helm_release", {"name": "karpenter-resources"}):
        assert shipped_name == "development"  # has no Karpenter
        return
    outlive = template.dependencies(release_address(template, "karpenter-resources"))
    assert {release_address(template, name) for name in ("karpenter", "karpenter-crd")} <= outlive
    for part in ("platform/karpenter/", "platform/efa/", "platform/nodes-system/", "platform/cluster/"):
        assert below(template, part) - unused(template) <= outlive, part
    assert way_to_aws(template) <= outlive
    assert set(template.resources("aws_eks_addon")) - unused(template) <= outlive


def test_karpenter_waits_for_nodes_and_for_no_addon_with_pods(shipped_name: str, templates: Templates) -> None:
    """At least half a minute sooner: it uses the VPC's resolver, not CoreDNS, and mounts no volume."""
    template = templates[shipped_name]
    # Its ServiceMonitor needs Prometheus, which has a volume.
    after_prometheus = (
        {"karpenter"} if template.resources("helm_release", {"chart": "kube-prometheus-stack"}) else set()
    )
    for address, found in template.resources("helm_release", {"chart": Matches(r"^karpenter(-crd)?$")}).items():
        needed = template.dependencies(address)
        assert set(template.resources("aws_eks_node_group", {"node_group_name": "system"})) <= needed
        addons = {addon["addon_name"] for each, addon in template.resources("aws_eks_addon").items() if each in needed}
        if found["chart"] in after_prometheus:
            assert "coredns" in addons
            continue
        assert addons == {name for name, fact in facts.addons().items() if fact["before_nodes"]}


def test_what_uses_no_addon_waits_for_none_and_what_comes_after_it_does(stacks: Callable[..., Synthesized]) -> None:
    early = replace(CHART_RELEASE, waits_for_addons=False)
    template = stacks(Bundle((early, OBJECTS))).templates["demo"]
    coredns = template.address("aws_eks_addon", {"addon_name": "coredns"})
    assert coredns not in template.dependencies(release_address(template, "karpenter"))
    assert coredns in template.dependencies(release_address(template, "objects"))


def way_to_aws(template: Template) -> set[str]:
    """Return the resources through which nodes reach AWS and each other."""
    routes = {address for type_ in NETWORK for address in template.resources(type_)}
    return routes | below(template, "platform/network/association-private")


def unused(template: Template) -> set[str]:
    """Return the resources that nodes and pods do not need, which can be removed at any time."""
    beside = [name for name, fact in facts.addons().items() if not fact.get("before_charts", True)]
    assert beside == ["metrics-server", "eks-node-monitoring-agent"]
    addons = {address for name in beside for address in template.resources("aws_eks_addon", {"addon_name": name})}
    return addons | set(template.resources("aws_kms_alias"))


@pytest.mark.parametrize(
    "network",
    [
        {"nat_gateways": "one-per-zone"},
        {"private": True},
        {"pod_cidr": "100.64.0.0/16"},
    ],
    ids=str,
)
def test_every_release_needs_network_nodes_addons_and_access(
    network: dict[str, Any], stacks: Callable[..., Synthesized]
) -> None:
    cluster = {
        "admins": [ROLE],
        "access_entries": [
            {"name": "viewers", "principal_arn": f"{ROLE}-2", "policies": [{"policy": "AmazonEKSViewPolicy"}]}
        ],
        "addons": {"aws-ebs-csi-driver": {}},
    }
    template = stacks(network=network, cluster=cluster).templates["demo"]
    needed = way_to_aws(template) | {
        address
        for type_ in (
            "aws_eks_addon",
            "aws_eks_access_entry",
            "aws_eks_access_policy_association",
            "aws_eks_pod_identity_association",
            "aws_vpc_security_group_ingress_rule",
        )
        for address in template.resources(type_)
    }
    needed -= unused(template)
    assert len(needed) > 15
    for name in ("karpenter", "objects"):
        assert needed <= template.dependencies(release_address(template, name))


def test_a_chart_with_a_role_waits_for_its_permissions(stacks: Callable[..., Synthesized]) -> None:
    key = "aws-load-balancer-controller"
    chart = ChartRelease(
        name=key, namespace="kube-system", key=key, chart=key, repository="https://x", version="3.5.0", values={}
    )
    template = stacks(Bundle((chart,)), kubernetes={"load_balancer_controller": True}).templates["demo"]
    role = below(template, f"platform/service-role-{key}/")
    assert {address.partition(".")[0] for address in role} >= {"aws_iam_role", "aws_eks_pod_identity_association"}
    assert role <= template.dependencies(release_address(template, key))


def test_nodes_of_a_pool_are_gone_before_file_systems(stacks: Callable[..., Synthesized]) -> None:
    template = stacks(storage={"efs": {}, "fsx_lustre": {}}).templates["demo"]
    outlive = template.dependencies(release_address(template, "objects"))
    for type_ in ("aws_efs_mount_target", "aws_fsx_lustre_file_system"):
        assert set(template.resources(type_)) <= outlive


def test_nothing_of_aws_waits_for_a_chart(shipped_name: str, templates: Templates) -> None:
    template = templates[shipped_name]
    releases = set(template.resources("helm_release"))
    assert releases
    for address in set(template.resources()) - releases:
        assert not template.dependencies(address) & releases


def test_accelerated_nodes_do_not_keep_charts_waiting(stacks: Callable[..., Synthesized]) -> None:
    """A group without capacity in AWS must not prevent the installation of Karpenter."""
    # trap: aws/containers-roadmap#2204
    system = {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}}
    template = stacks(node_groups=[system, group("p5.48xlarge")]).templates["demo"]
    needed = template.dependencies(release_address(template, "objects"))
    assert below(template, "platform/nodes-system/") <= needed
    assert not below(template, "platform/nodes-gpu/") & needed


def test_a_first_plan_asks_the_cluster_nothing(shipped_name: str, templates: Templates) -> None:
    """No ``-target`` needed: the plan does not read the cluster, and Helm has no data sources."""
    # trap: gavinbunney/terraform-provider-kubectl#58
    template = templates[shipped_name]
    types = {address.rpartition(".")[0].removeprefix("data.") for address in template.addresses()}
    assert {each for each in types if not each.startswith("aws_")} == {"helm_release"}
    assert not [address for address in template.addresses() if address.startswith("data.helm")]


# --- the provider


def test_the_provider_keeps_no_token(shipped_name: str, templates: Templates) -> None:
    # trap: aws-ia/terraform-aws-eks-blueprints#1686
    template = templates[shipped_name]
    cluster = template.address("aws_eks_cluster")
    region = template.providers("aws")[0]["region"]
    assert template.providers("helm") == [
        {
            "kubernetes": {
                "host": f"${{{cluster}.endpoint}}",
                "cluster_ca_certificate": f"${{base64decode({cluster}.certificate_authority[0].data)}}",
                "exec": {
                    "api_version": "client.authentication.k8s.io/v1beta1",
                    "command": "aws",
                    "args": [
                        *("eks", "get-token", "--cluster-name", shipped_name),
                        *("--region", region, "--output", "json"),
                    ],
                },
            }
        }
    ]
    assert template.terraform["required_providers"]["helm"] == {
        "source": "hashicorp/helm",
        "version": ">= 3.1.1, < 4.0.0",
    }


@pytest.mark.parametrize(
    ("aws", "arguments"),
    [
        ({}, []),
        ({"profile": "acme"}, ["--profile", "acme"]),
        ({"assume_role": {"role_arn": ROLE, "session_name": "deploy"}}, ["--role-arn", ROLE]),
        ({"assume_role": {"role_arn": ROLE}, "profile": "acme"}, ["--role-arn", ROLE, "--profile", "acme"]),
    ],
)
def test_the_token_is_that_of_the_principal_that_terraform_works_as(
    aws: dict[str, Any], arguments: list[str], stacks: Callable[..., Synthesized]
) -> None:
    (provider,) = stacks(aws=aws).templates["demo"].providers("helm")
    assert provider["kubernetes"]["exec"]["args"][8:] == arguments


# --- manifests


def without_helm(template: Template) -> dict[str, Any]:
    content = json.loads(json.dumps(template.document))
    content["resource"].pop("helm_release", None)
    content["provider"].pop("helm", None)
    content["terraform"]["required_providers"].pop("helm", None)
    return dict(content)


def template_with(once: Once, overlay: str, strategy: str) -> Template:
    (found,) = (each for each in with_overlay(once, overlay) if each.strategy == strategy)
    return Template.from_json(found.file)


def test_the_aws_half_is_the_same_whichever_way_charts_are_delivered(
    shipped_name: str, templates: Templates, once: Once
) -> None:
    """`make demo` and the deploy tests show the AWS half, as manifests: the same half as with Helm."""
    template = template_with(once, "manifests", shipped_name)
    template.has_no("helm_release")
    assert template.providers("helm") == []
    assert set(template.terraform["required_providers"]) == {"aws"}
    assert without_helm(templates[shipped_name]) == template.document


def test_the_overlay_of_the_emulator_changes_nothing_else(shipped_name: str, once: Once) -> None:
    one, other = (template_with(once, overlay, shipped_name) for overlay in ("manifests", "local"))
    assert one.document == other.document


def test_a_strategy_that_installs_nothing_has_no_helm_provider(stacks: Callable[..., Synthesized]) -> None:
    template = stacks(Bundle(())).templates["demo"]
    assert template.providers("helm") == []
    assert set(template.terraform["required_providers"]) == {"aws"}


# --- a second stack

SEPARATE = {"stack": "separate"}
S3 = {"type": "s3", "bucket": "acme-terraform", "region": "us-west-2"}
REMOTE = {"type": "remote", "organization": "acme"}


def local_backend(path: str) -> dict[str, Any]:
    return {"local": {"path": path}}


def s3(key: str, **fields: Any) -> dict[str, Any]:
    return {"s3": {"bucket": "acme-terraform", "region": "us-west-2", "encrypt": True, "key": key, **fields}}


def remote(workspace: str) -> dict[str, Any]:
    return {"remote": {"hostname": "app.terraform.io", "organization": "acme", "workspaces": {"name": workspace}}}


# The backend, the settings for the second stack's own, and how it reads the first one's.
BACKENDS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "local": (
        {"type": "local"},
        local_backend("../../../terraform.demo-kubernetes.tfstate"),
        local_backend("../../../terraform.demo.tfstate"),
    ),
    "local path": (
        {"type": "local", "path": "/state/v1.2/demo"},
        local_backend("/state/v1.2/demo-kubernetes"),
        local_backend("/state/v1.2/demo"),
    ),
    "s3": (
        S3,
        s3("eks-hardware/demo-kubernetes.tfstate", use_lockfile=True),
        s3("eks-hardware/demo.tfstate"),
    ),
    "s3 with a role": (
        {**S3, "key": "clusters/demo.v1.tfstate", "role_arn": ROLE, "lock": False, "profile": "acme"},
        s3("clusters/demo.v1-kubernetes.tfstate", assume_role={"role_arn": ROLE}, profile="acme"),
        s3("clusters/demo.v1.tfstate", assume_role={"role_arn": ROLE}, profile="acme"),
    ),
    "remote": (REMOTE, remote("demo-kubernetes"), remote("demo")),
    "remote with a long name": (
        {**REMOTE, "workspace": "w" * 90},
        {"remote": {"workspaces": {"name": Matches(r"^w{69,}-kubernetes-[0-9a-f]{8}$")}}},
        remote("w" * 90),
    ),
}


@pytest.mark.parametrize("name", BACKENDS)
def test_the_second_stack_keeps_its_own_state_and_reads_the_first(
    name: str, stacks: Callable[..., Synthesized]
) -> None:
    backend, own, other = BACKENDS[name]
    template = stacks(kubernetes=SEPARATE, backend=backend).templates["demo-kubernetes"]
    found = template.terraform["backend"]
    if name == "remote with a long name":
        assert len(found["remote"]["workspaces"]["name"]) <= 90
        Template({"resource": {"x": {"y": found}}}).has("x", own)
    else:
        assert found == own
    (state,) = template.data("terraform_remote_state").values()
    ((kind, config),) = other.items()
    assert state == {"backend": kind, "config": config}


def test_the_second_stack_has_the_charts_and_nothing_else(stacks: Callable[..., Synthesized]) -> None:
    # trap: gavinbunney/terraform-provider-kubectl#58
    synthesized = stacks(kubernetes=SEPARATE)
    assert set(synthesized.templates) == {"demo", "demo-kubernetes"}
    first, second = synthesized.templates["demo"], synthesized.templates["demo-kubernetes"]
    first.has_no("helm_release")
    assert first.providers("helm") == []
    assert set(second.terraform["required_providers"]) == {"helm"}
    assert {address.rpartition(".")[0] for address in second.addresses()} == {
        "helm_release",
        "data.terraform_remote_state",
    }
    assert release(second, "objects")["depends_on"] == [release_address(second, "karpenter")]
    copied = synthesized.outdir / "stacks" / "demo-kubernetes" / release(second, "objects")["chart"]
    assert contents_of(copied) == contents_of(CHART)


def test_the_second_stack_reads_outputs_that_the_first_one_has(stacks: Callable[..., Synthesized]) -> None:
    templates = stacks(kubernetes=SEPARATE, storage={"efs": {}, "fsx_lustre": {}}, network={"private": True}).templates
    first, second = templates["demo"], templates["demo-kubernetes"]
    (state,) = second.data("terraform_remote_state")
    (provider,) = second.providers("helm")
    assert provider["kubernetes"]["host"] == f"${{{state}.outputs.cluster_endpoint}}"
    certificate = f"${{base64decode({state}.outputs.cluster_certificate_authority)}}"
    assert provider["kubernetes"]["cluster_ca_certificate"] == certificate
    assert f'"${{{state}.outputs.karpenter_interruption_queue}}"' in release(second, "karpenter")["values"][0]
    read = {"cluster_endpoint", "cluster_certificate_authority", *(each.value for each in Reference)}
    assert read <= set(first.outputs)


def test_the_second_stack_is_deployed_after_the_first(stacks: Callable[..., Synthesized]) -> None:
    manifest = stacks(kubernetes=SEPARATE).manifest["stacks"]
    assert {name: each["dependencies"] for name, each in manifest.items()} == {"demo": [], "demo-kubernetes": ["demo"]}


def test_values_are_the_same_in_either_stack(stacks: Callable[..., Synthesized]) -> None:
    same = release(stacks().templates["demo"], "objects")
    separate = release(stacks(kubernetes=SEPARATE).templates["demo-kubernetes"], "objects")
    assert {key for key in same if same[key] != separate.get(key)} == {"values"}
    assert len(helm_values(same["values"][0])["objects"]) == len(helm_values(separate["values"][0])["objects"])


def test_no_second_stack_without_charts_of_its_own(tmp_path: Path) -> None:
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks
    from eks_hardware.stacks.hardware_stack import HardwareStack
    from eks_hardware.stacks.kubernetes_stack import KubernetesStack

    app = App(outdir=str(tmp_path))
    for name, kubernetes, expected in (
        ("nothing", {"delivery": "helm", **SEPARATE}, 1),
        ("files", {"delivery": "manifests", **SEPARATE}, 1),
        ("charts", {"delivery": "helm", **SEPARATE}, 2),
    ):
        karpenter: dict[str, Any] | None = None if name == "nothing" else {}
        resolved = resolve(Strategy.model_validate(document(name=name, kubernetes=kubernetes, karpenter=karpenter)))
        assert len(strategy_stacks(app, resolved)) == expected, name
    resolved = resolve(Strategy.model_validate(document(name="same", kubernetes={"delivery": "helm"})))
    with pytest.raises(ValueError, match="KUBERNETES_STACK"):
        KubernetesStack(app, resolved=resolved, hardware=HardwareStack(app, resolved=resolved))
