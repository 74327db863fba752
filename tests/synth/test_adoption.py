"""``AdoptedKarpenter``: resources in addition to a cluster that another team owns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_hardware.testing import Template
from helpers.adoption import adoption
from helpers.strategies import gpu_pool, pool

if TYPE_CHECKING:
    from eks_hardware._cdk import TerraformStack
    from eks_hardware.adoption import ResolvedAdoption

CPU = pool("cpu", instance_families=["m7i"])
EFA = gpu_pool("h100", instance_types=["p5.48xlarge"], efa=True, limits={"nvidia.com/gpu": 16})
IDS = {"kubernetes_version": "1.35", "security_group_ids": ["sg-0123456789abcdef0"]}


def adopted_template(stack: TerraformStack, adopted: ResolvedAdoption, **arguments: Any) -> Template:
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.karpenter import AdoptedKarpenter

    cluster = ClusterRef.from_existing(stack, "cluster", name=adopted.name)
    AdoptedKarpenter(stack, "karpenter", adoption=adopted, cluster=cluster, **arguments)
    return Template.of(stack)


def types(template: Template) -> set[str]:
    return {address.partition(".")[0] for address in template.resources()}


def test_karpenter_is_made_for_the_cluster_that_is_looked_up(stack: TerraformStack) -> None:
    template = adopted_template(stack, adoption(CPU))
    (cluster,) = template.data("aws_eks_cluster", {"name": "shared"})
    template.has("aws_ec2_tag", {"resource_id": f"${{{cluster}.vpc_config[0].cluster_security_group_id}}"})
    template.has("aws_eks_access_entry", {"cluster_name": "shared", "type": "EC2_LINUX"})
    template.has("aws_eks_pod_identity_association", {"cluster_name": "shared", "service_account": "karpenter"})
    template.has("aws_sqs_queue", {"name": "shared-karpenter"})
    assert not types(template) & {"aws_security_group", "aws_placement_group", "aws_eks_cluster"}


def test_pools_with_efa_get_the_group_that_they_look_for(stack: TerraformStack) -> None:
    adopted = adoption(EFA)
    template = adopted_template(stack, adopted)
    template.has("aws_security_group", {"name": adopted.efa_security_group_name, "vpc_id": "vpc-0123456789abcdef0"})
    template.has("aws_placement_group", {"name": adopted.node_pools[0].placement_group_name})


def test_addresses(stack: TerraformStack) -> None:
    """Another address replaces the resource of a team that adopted its cluster before."""
    template = adopted_template(stack, adoption(EFA), node_role_name="their-nodes")
    assert {each.rpartition("_")[0] for each in template.resources() if each.startswith("aws_security_group.")} == {
        "aws_security_group.karpenter_efa"
    }


def test_a_security_group_that_is_named_is_left_as_it_is(stack: TerraformStack) -> None:
    adopted_template(stack, adoption(CPU, cluster=IDS)).has_no("aws_ec2_tag")


def test_where_karpenter_is_nothing_is_made_for_pools_without_efa(stack: TerraformStack) -> None:
    assert types(adopted_template(stack, adoption(CPU), node_role_name="their-nodes")) == set()


def test_where_karpenter_is_pools_with_efa_get_what_they_name(stack: TerraformStack) -> None:
    adopted = adoption(EFA)
    template = adopted_template(stack, adopted, node_role_name="their-nodes")
    assert not types(template) & {"aws_iam_role", "aws_sqs_queue", "aws_eks_access_entry", "aws_ec2_tag"}
    template.has("aws_security_group", {"name": adopted.efa_security_group_name})
    template.has("aws_placement_group", {"name": adopted.node_pools[0].placement_group_name})


def test_releases_name_the_role_of_the_nodes_that_are_there(stack: TerraformStack) -> None:
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.karpenter import AdoptedKarpenter
    from eks_hardware.kubernetes.references import Reference

    cluster = ClusterRef("shared", "sg-0123456789abcdef0", "https://example.com", "Q0E=", "172.20.0.0/16")
    there = AdoptedKarpenter(stack, "k", adoption=adoption(CPU), cluster=cluster, node_role_name="their-nodes")
    assert there.references == {Reference.CLUSTER_NAME: "shared", Reference.KARPENTER_NODE_ROLE: "their-nodes"}


def test_it_has_the_path_and_the_boundary_of_the_file(stack: TerraformStack) -> None:
    boundary = "arn:aws:iam::111122223333:policy/boundary"
    template = adopted_template(
        stack, adoption(CPU, aws={"iam_path": "/platform/", "permissions_boundary_arn": boundary})
    )
    template.count("aws_iam_role", 2, {"path": "/platform/", "permissions_boundary": boundary})


def test_releases_need_all_of_it(stack: TerraformStack) -> None:
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.karpenter import AdoptedKarpenter
    from eks_hardware.constructs.kubernetes import adopted_releases, cluster_helm_provider
    from eks_hardware.kubernetes import karpenter_bundle

    adopted = adoption(CPU, EFA)
    cluster = ClusterRef.from_existing(stack, "cluster", name=adopted.name)
    cluster_helm_provider(
        stack,
        "helm",
        provider=adopted.provider,
        cluster_name=adopted.name,
        region=adopted.region,
        endpoint=cluster.endpoint,
        certificate_authority=cluster.certificate_authority,
    )
    aws = AdoptedKarpenter(stack, "karpenter", adoption=adopted, cluster=cluster)
    adopted_releases(stack, "kubernetes", bundle=karpenter_bundle(adopted), adopted=aws)
    template = Template.of(stack)
    ours = {address for address in template.resources() if not address.startswith("helm_release.")}
    pools = template.address("helm_release", {"name": "karpenter-resources"})
    assert ours <= template.dependencies(pools)
    (role,) = template.resources("aws_iam_role", {"name": adopted.karpenter.node_role_name})
    assert role in template.references(pools)


# --- several adoptions of one cluster in an app


def adopt(stack: TerraformStack, id_: str, adopted: ResolvedAdoption, *, installed: bool = True) -> None:
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.karpenter import AdoptedKarpenter
    from eks_hardware.constructs.kubernetes import adopted_releases
    from eks_hardware.kubernetes import karpenter_bundle

    cluster = ClusterRef.from_existing(stack, f"cluster-{id_}", name=adopted.name)
    role = "their-nodes" if installed else None
    aws = AdoptedKarpenter(stack, id_, adoption=adopted, cluster=cluster, node_role_name=role)
    bundle = karpenter_bundle(adopted, controller=not installed, with_device_plugins=False)
    adopted_releases(stack, f"{id_}-charts", bundle=bundle, adopted=aws)


def test_two_files_with_different_suffixes_and_pools(stack: TerraformStack) -> None:
    from eks_hardware.constructs.kubernetes import cluster_helm_provider

    shared = {"cluster_name": "shared", "region": "us-west-2", "endpoint": "", "certificate_authority": ""}
    cluster_helm_provider(stack, "helm", provider=adoption(CPU).provider, **shared)
    adopt(stack, "a", adoption(EFA, CPU), installed=False)
    adopt(stack, "b", adoption({**EFA, "name": "h100-b"}, suffix="b"))
    template = Template.of(stack)
    groups = {body["name"] for body in template.resources("aws_security_group").values()}
    placements = {body["name"] for body in template.resources("aws_placement_group").values()}
    releases = {body["name"] for body in template.resources("helm_release").values()}
    assert groups == {"shared-efa", "shared-efa-b"}
    assert placements == {"shared/h100", "shared/h100-b"}
    assert releases == {"karpenter-crd", "karpenter", "karpenter-resources", "karpenter-resources-b"}


COLLISIONS: dict[str, tuple[dict[str, Any], dict[str, Any], bool, str]] = {
    "Karpenter": (
        {},
        {"suffix": "b"},
        False,
        "the installation of Karpenter of the cluster shared must be defined once",
    ),
    "a pool": ({"name": "h100"}, {"suffix": "b"}, True, "the NodePool h100 of the cluster shared must be defined once"),
    "the EFA security group": (
        {},
        {},
        True,
        "the security group shared-efa of the cluster shared must be defined once",
    ),
    "the release": (
        {"efa": False},
        {},
        True,
        "the Helm release karpenter-resources of the cluster shared must be defined once, got a second definition in "
        "stack/a; set another suffix in one of the adoption files",
    ),
}


@pytest.mark.parametrize(("pool_", "fields", "installed", "said"), COLLISIONS.values(), ids=COLLISIONS)
def test_collisions_are_refused(
    stack: TerraformStack, pool_: dict[str, Any], fields: dict[str, Any], installed: bool, said: str
) -> None:
    adopt(stack, "a", adoption(EFA), installed=False)
    with pytest.raises(ValueError, match="ADOPTION_COLLISION") as raised:
        adopt(stack, "b", adoption({**EFA, "name": "b", **pool_}, **fields), installed=installed)
    assert said in str(raised.value)


def test_another_region_and_another_vpc_do_not_collide(stack: TerraformStack) -> None:
    adopt(stack, "a", adoption(CPU), installed=False)
    vpc = {"existing": {"vpc_id": "vpc-0bbbbbbbbbbbbbbb0", "private_subnets": {"usw2-az1": "subnet-0bbbbbbbbbbbbbbb1"}}}
    adopt(stack, "b", adoption(CPU, network=vpc), installed=False)
