"""Rules about the network: each with a strategy that breaks it and a similar one that does not."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.models import Strategy
from eks_hardware.resolve import SubnetRole, resolve
from eks_hardware.resolve.addresses import SubnetBudget, nodes_at_limit, strategy_budgets, usable, wider
from eks_hardware.resolve.max_pods import pod_addresses
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, rules_of, shown_codes, warnings_of
from helpers.sections import cluster, existing_network, network, one_group, subnets
from helpers.strategies import SHIPPED, SYSTEM, document, group, pool, pools, shipped, strategy

RESERVATION = {"id": "cr-01234567", "zone": "usw2-az1"}
MINIMAL = {"strategy": "minimal"}
EVERY_ENDPOINT = ["ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts"]
GPU = "node_groups[gpu]"
PODS = "100.64.0.0/16"
PUBLIC_CIDRS = "cluster.endpoint.public_cidrs"


def public(*cidrs: str) -> dict[str, Any]:
    return cluster(endpoint={"public_cidrs": list(cidrs)})


def many_nodes(most: int, **fields: Any) -> dict[str, Any]:
    return one_group("c7i.large", scaling={"max": most}, **fields)


def private(*endpoints: str, **fields: Any) -> dict[str, Any]:
    return {**network(nat_gateways="none", interface_endpoints=[*EVERY_ENDPOINT, *endpoints]), **fields}


CASES = [
    Case("ZONE_UNKNOWN", "network.zones[1]", network(zones=["usw2-az1", "use1-az1", "usw2-az2"]), network(zones=2)),
    Case("ZONE_UNKNOWN", f"{GPU}.zones", one_group(zones=["usw2-az8"]), one_group(zones=["usw2-az4"])),
    Case(
        "ZONE_UNKNOWN",
        f"{GPU}.reservation.zone",
        one_group("p5.48xlarge", capacity="reserved", update=MINIMAL, reservation={**RESERVATION, "zone": "usw2-az8"}),
        one_group("p5.48xlarge", capacity="reserved", update=MINIMAL, reservation=RESERVATION),
    ),
    Case(
        "ZONE_UNKNOWN",
        "network.existing.private_subnets.euw1-az1",
        existing_network("usw2-az1", "usw2-az2", "euw1-az1"),
        existing_network("usw2-az1", "usw2-az2"),
    ),
    Case(
        "ZONE_UNKNOWN",
        "network.existing.private_subnets.use1-dfw2-az1",
        existing_network("usw2-az1", "usw2-az2", "use1-dfw2-az1"),
        existing_network("usw2-az1", "usw2-az2", "usw2-lax1-az1"),
    ),
    Case("ZONE_TOO_FEW", "network.zones", {**network(zones=6), "region": "eu-west-1"}, {"region": "us-west-1"}),
    Case("ZONE_TOO_FEW", "network.zones", network(zones=5), network(zones=4)),
    Case(
        "ZONE_NOT_IN_NETWORK",
        f"{GPU}.zones",
        {**network(zones=["usw2-az1", "usw2-az2"]), **one_group(zones=["usw2-az3"])},
        {**network(zones=["usw2-az1", "usw2-az2"]), **one_group(zones=["usw2-az2"])},
    ),
    Case(
        "ZONE_NOT_IN_NETWORK",
        f"{GPU}.reservation.zone",
        {
            **existing_network("usw2-az2", "usw2-az3"),
            **one_group("p5.48xlarge", capacity="reserved", update=MINIMAL, reservation=RESERVATION),
        },
        {**network(zones=2), **one_group("p5.48xlarge", capacity="reserved", update=MINIMAL, reservation=RESERVATION)},
    ),
    Case(
        "POD_SUBNET_MISSING",
        "network.existing.pod_subnets",
        existing_network("usw2-az1", "usw2-az2", pod_subnets=subnets("usw2-az1")),
        existing_network("usw2-az1", "usw2-az2", pod_subnets=subnets("usw2-az1", "usw2-az2")),
    ),
    Case(
        "POD_SUBNET_MISSING",  # only zones with nodes need one
        "network.existing.pod_subnets",
        {
            **existing_network("usw2-az1", "usw2-az2", pod_subnets=subnets("usw2-az1")),
            "node_groups": [{**SYSTEM, "zones": ["usw2-az1"]}, group(zones=["usw2-az2"])],
        },
        {
            **existing_network("usw2-az1", "usw2-az2", pod_subnets=subnets("usw2-az1")),
            "node_groups": [{**SYSTEM, "zones": ["usw2-az1"]}, group(zones=["usw2-az1"])],
        },
    ),
    Case("CONTROL_PLANE_ZONES", "network.zones", network(zones=["usw2-az1", "usw2-az1"]), network(zones=2)),
    Case("CONTROL_PLANE_ZONES", "network.zones", network(zones=[]), {}, frozenset({"GROUP_NO_ZONE"})),
    Case(
        "CONTROL_PLANE_ZONES",
        "network.zones",
        {**network(zones=["use1-az3", "use1-az1"]), "region": "us-east-1"},
        {**network(zones=["use1-az3", "use1-az1", "use1-az2"]), "region": "us-east-1"},
    ),
    Case(
        "CONTROL_PLANE_ZONES",
        "network.existing.private_subnets",
        existing_network("usw2-az1"),
        existing_network("usw2-az1", "usw2-az2"),
    ),
    Case(
        "CONTROL_PLANE_ZONES",
        "network.existing.control_plane_subnets.use1-az3",
        {
            "region": "us-east-1",
            **existing_network("use1-az1", control_plane_subnets=subnets("use1-az1", "use1-az2", "use1-az3")),
        },
        {"region": "us-east-1", **existing_network("use1-az3", "use1-az1", "use1-az2")},
    ),
    Case("NETWORK_CIDR_SIZE", "network.cidr", network(cidr="10.0.0.0/15"), network(cidr="10.0.0.0/16")),
    Case("NETWORK_CIDR_SIZE", "network.cidr", network(cidr="10.0.0.0/23"), network(cidr="10.0.0.0/22")),
    Case("NETWORK_POD_CIDR", "network.pod_cidr", network(pod_cidr="10.1.0.0/16"), network(pod_cidr="100.64.0.0/16")),
    Case("NETWORK_POD_CIDR", "network.pod_cidr", network(pod_cidr="100.64.0.0/22"), network(pod_cidr="100.64.0.0/21")),
    Case("NETWORK_POD_CIDR", "network.pod_cidr", network(pod_cidr="100.64.0.0/15"), network(pod_cidr="100.127.0.0/16")),
    Case(
        "NETWORK_POD_CIDR",
        "network.pod_cidr",
        network(cidr="100.64.0.0/16", pod_cidr="100.64.0.0/17"),
        network(cidr="100.64.0.0/16", pod_cidr="100.65.0.0/16"),
    ),
    Case("SERVICE_CIDR", "cluster.service_cidr", cluster(service_cidr="172.0.0.0/11"), {}),
    Case("SERVICE_CIDR", "cluster.service_cidr", cluster(service_cidr="172.16.0.0/25"), {}),
    Case(
        "SERVICE_CIDR",
        "cluster.service_cidr",
        cluster(service_cidr="100.65.0.0/16"),
        cluster(service_cidr="172.20.0.0/16"),
    ),
    Case(
        "SERVICE_CIDR",
        "cluster.service_cidr",
        cluster(service_cidr="10.0.128.0/20"),
        cluster(service_cidr="10.1.0.0/24"),
    ),
    Case(
        "NETWORK_PRIVATE", "network.nat_gateways", network(private=True, nat_gateways="single"), network(private=True)
    ),
    Case(
        "NETWORK_PRIVATE",
        "cluster.endpoint.public_cidrs",
        {**network(private=True), **cluster(endpoint={"public_cidrs": ["93.184.216.0/24"]})},
        {**network(private=False), **cluster(endpoint={"public_cidrs": ["93.184.216.0/24"]})},
    ),
    Case(
        "NETWORK_NO_WAY_OUT",
        "network.interface_endpoints",
        network(nat_gateways="none", interface_endpoints=EVERY_ENDPOINT[1:]),
        network(nat_gateways="none", interface_endpoints=EVERY_ENDPOINT),
    ),
    Case(
        "NETWORK_NO_WAY_OUT",
        "network.interface_endpoints",
        network(private=True, interface_endpoints=[]),
        network(interface_endpoints=[]),
    ),
    Case(
        "ENDPOINT_OPEN",
        "cluster.endpoint.public_cidrs[1]",
        cluster(endpoint={"public_cidrs": ["93.184.216.0/24", "0.0.0.0/0"]}),
        cluster(endpoint={"public_cidrs": ["93.184.216.0/24", "17.0.0.0/8"]}),
    ),
    Case(
        "ENDPOINT_OPEN",
        "cluster.endpoint.public_cidrs[0]",
        cluster(endpoint={"public_cidrs": ["16.0.0.0/7"]}),
        cluster(endpoint={"public_cidrs": ["17.0.0.0/8"]}),
    ),
    Case("NETWORK_CIDR_RESERVED", "network.cidr", network(cidr="169.254.0.0/16"), network(cidr="100.64.0.0/16")),
    Case("NETWORK_CIDR_RESERVED", "network.cidr", network(cidr="127.0.0.0/16"), network(cidr="172.16.0.0/16")),
    Case("NETWORK_CIDR_PUBLIC", "network.cidr", network(cidr="11.0.0.0/16"), network(cidr="10.255.0.0/16")),
    Case("NETWORK_CIDR_PUBLIC", "network.cidr", network(cidr="172.32.0.0/16"), network(cidr="172.31.0.0/16")),
    Case("NETWORK_CIDR_PUBLIC", "network.cidr", network(cidr="192.169.0.0/16"), network(cidr="192.168.0.0/16")),
    Case(
        "NETWORK_CIDR_PUBLIC",
        "network.cidr",
        network(cidr="8.0.0.0/5"),
        network(cidr="100.127.0.0/16"),
        frozenset({"NETWORK_CIDR_SIZE"}),
    ),
    Case("NETWORK_CIDR_DOCKER", "network.cidr", network(cidr="172.17.64.0/18"), network(cidr="172.18.0.0/16")),
    Case(
        "SUBNET_TWICE",
        "network.existing.private_subnets.usw2-az2",
        network(
            existing={
                "vpc_id": "vpc-01234567",
                "private_subnets": {"usw2-az1": "subnet-01234567", "usw2-az2": "subnet-01234567"},
            }
        ),
        existing_network("usw2-az1", "usw2-az2", control_plane_subnets=subnets("usw2-az1", "usw2-az2")),
    ),
    Case(
        "SUBNET_TWICE",
        "network.existing.pod_subnets.usw2-az1",
        existing_network(
            "usw2-az1", "usw2-az2", pod_subnets={"usw2-az1": "subnet-00000001", "usw2-az2": "subnet-0000000b"}
        ),
        existing_network(
            "usw2-az1", "usw2-az2", pod_subnets={"usw2-az1": "subnet-00000000", "usw2-az2": "subnet-0000000b"}
        ),
    ),
    Case(
        "NETWORK_NO_WAY_OUT",
        "network.interface_endpoints",
        private(storage={"efs": {}}),
        private("elasticfilesystem", storage={"efs": {}}),
    ),
    Case(
        "NETWORK_NO_WAY_OUT",
        "network.interface_endpoints",
        private("sqs", **pools(pool())),
        private("sqs", "ssm", **pools(pool())),
    ),
    Case(
        "NETWORK_NO_WAY_OUT",
        "network.interface_endpoints",
        private("ssm", **pools(pool())),
        private("ssm", **pools(pool(), interruption_queue=False)),
    ),
    Case(
        "INTERFACE_ENDPOINT_UNKNOWN",
        "network.interface_endpoints[1]",
        network(interface_endpoints=["ecr.api", "ecr-dkr"]),
        network(interface_endpoints=["ecr.api", "ecr.dkr", "bedrock-runtime", "sagemaker.api"]),
    ),
    Case(
        "INTERFACE_ENDPOINT_UNKNOWN",
        "network.interface_endpoints[0]",
        network(interface_endpoints=["com.amazonaws.us-west-2.ec2"]),
        network(interface_endpoints=["ec2"]),
    ),
    Case("ENDPOINT_CIDR_RESERVED", f"{PUBLIC_CIDRS}[0]", public("10.0.0.0/8"), public("11.0.0.0/8")),
    Case("ENDPOINT_CIDR_RESERVED", f"{PUBLIC_CIDRS}[0]", public("172.31.255.0/24"), public("172.32.0.0/24")),
    Case("ENDPOINT_CIDR_RESERVED", f"{PUBLIC_CIDRS}[0]", public("203.0.113.5/32"), public("203.0.112.5/32")),
    Case(
        "ENDPOINT_CIDR_RESERVED",
        f"{PUBLIC_CIDRS}[1]",
        public("93.184.216.0/24", "100.64.7.0/24"),
        public("93.184.216.0/24", "64.0.0.0/2"),
    ),
    Case(
        "ENDPOINT_CIDR_COUNT",
        PUBLIC_CIDRS,
        public(*(f"93.184.{index}.0/24" for index in range(41))),
        public(*(f"93.184.{index}.0/24" for index in range(40))),
    ),
    Case(
        "ENDPOINT_CIDR_OVERLAP",
        f"{PUBLIC_CIDRS}[0]",
        public("93.184.216.7/32", "93.184.216.0/24"),
        public("93.184.217.7/32", "93.184.216.0/24"),
    ),
    Case(
        "ENDPOINT_CIDR_OVERLAP",
        f"{PUBLIC_CIDRS}[1]",
        public("93.184.216.0/24", "93.184.216.0/24"),
        public("93.184.216.0/25", "93.184.216.128/25"),
    ),
    # /22: a zone's private subnet is a /26 with 59 addresses; the system group uses two of them.
    Case(
        "SUBNET_NODES",
        "network.cidr",
        {**network(cidr="10.0.0.0/22", zones=2, pod_cidr=PODS), **many_nodes(115)},
        {**network(cidr="10.0.0.0/22", zones=2, pod_cidr=PODS), **many_nodes(114)},
    ),
    Case(
        "SUBNET_NODES",
        "network.cidr",
        {**network(cidr="10.0.0.0/22", zones=2, pod_cidr=PODS, interface_endpoints=["ec2"]), **many_nodes(113)},
        {**network(cidr="10.0.0.0/22", zones=2, pod_cidr=PODS, interface_endpoints=["ec2"]), **many_nodes(112)},
    ),
    Case(
        "SUBNET_NODES",
        "network.cidr",
        {**network(cidr="10.0.0.0/22", pod_cidr=PODS), **many_nodes(58, zones=["usw2-az1"])},
        {**network(cidr="10.0.0.0/22", pod_cidr=PODS), **many_nodes(57, zones=["usw2-az1"])},
    ),
    Case(
        "SUBNET_NODES",
        "network.pod_cidr",
        {**network(zones=2, pod_cidr="100.64.0.0/21"), **many_nodes(250, zones=["usw2-az1"])},
        {**network(zones=2, pod_cidr="100.64.0.0/20"), **many_nodes(250, zones=["usw2-az1"])},
    ),
    # /19: 507 addresses per zone; the two system nodes there use 66.
    Case(
        "SUBNET_PODS",
        "network.cidr",
        {**network(cidr="10.0.0.0/19", zones=2), **many_nodes(28)},
        {**network(cidr="10.0.0.0/19", zones=2), **many_nodes(26)},
    ),
    Case(
        "SUBNET_PODS",
        "network.cidr",
        {**network(cidr="10.0.0.0/19", zones=2), **many_nodes(8, kubelet={"max_pods": 110})},
        {**network(cidr="10.0.0.0/19", zones=2), **many_nodes(6, kubelet={"max_pods": 110})},
    ),
    Case(
        "SUBNET_PODS",
        "network.cidr",
        {**network(cidr="10.0.0.0/19", zones=2), **pools(pool(instance_types=["c7i.large"], limits={"cpu": 56}))},
        {**network(cidr="10.0.0.0/19", zones=2), **pools(pool(instance_types=["c7i.large"], limits={"cpu": 53}))},
    ),
    Case(
        "SUBNET_PODS",
        f"{GPU}.scaling.max",
        many_nodes(450, zones=["usw2-az1"]),
        many_nodes(300),
    ),
    Case(
        "SUBNET_PODS",
        "karpenter.node_pools[pool].limits",
        pools(pool(instance_types=["m7i.large"], limits={"cpu": 1000})),
        pools(pool(instance_types=["m7i.large"], limits={"cpu": 600})),
    ),
    Case(
        "SUBNET_PODS",
        "network.pod_cidr",
        {**network(zones=2, pod_cidr="100.64.0.0/20"), **many_nodes(28)},
        {**network(zones=2, pod_cidr="100.64.0.0/20"), **many_nodes(26)},
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("network")


def test_which_rules_warn() -> None:
    assert warnings_of("network") == {
        "ENDPOINT_CIDR_OVERLAP",
        "ENDPOINT_OPEN",
        "INTERFACE_ENDPOINT_UNKNOWN",
        "NETWORK_CIDR_DOCKER",
        "NETWORK_CIDR_PUBLIC",
        "SUBNET_PODS",
    }


# --- the IP budget


def budget(given: Strategy, zone: str = "usw2-az1", role: SubnetRole = SubnetRole.PRIVATE) -> SubnetBudget:
    return next(each for each in strategy_budgets(given, load()) if (each.zone_id, each.role) == (zone, role))


def share(given: Strategy, name: str = "gpu", **where: Any) -> tuple[int, int, int]:
    found = next(each for each in budget(given, **where).shares if each.of.name == name)
    return found.nodes, found.own, found.pods


@in_one_test("name", SHIPPED)
def test_shipped_strategies_fit_into_their_subnets(name: str) -> None:
    given = shipped(name)
    found = strategy_budgets(given, load())
    made = {(each.role, each.zone_id, each.cidr) for each in resolve(given).network.subnets}
    assert {(each.role, each.zone_id, each.cidr) for each in found} <= made
    assert all(0 < each.own <= each.total <= each.usable for each in found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {**network(cidr="10.0.0.0/22", zones=2, pod_cidr=PODS), **many_nodes(115)},
            "the subnet for nodes in usw2-az1, 10.0.0.0/26, has 59 addresses, but at their maximum size the groups "
            "need 2 nodes of system + 58 nodes of gpu = 60; use network.cidr: 10.0.0.0/21, or lower maximum sizes",
        ),
        (
            {**network(cidr="10.0.0.0/16", pod_cidr=PODS), **many_nodes(5000, zones=["usw2-az1"])},
            "the subnet for nodes in usw2-az1, 10.0.0.0/20, has 4091 addresses, but at their maximum size the groups "
            "need 2 nodes of system + 5000 nodes of gpu = 5002; lower maximum sizes, or use more zones",
        ),
    ],
    ids=["a larger network", "no larger network"],
)
def test_the_message_about_a_full_subnet(changes: dict[str, Any], message: str) -> None:
    assert finding_message("SUBNET_NODES", changes) == message


def test_a_subnet_lacks_five_addresses() -> None:
    assert [usable(24), usable(28), usable(30), usable(32)] == [251, 11, 0, 0]


def test_efa_only_interfaces_take_no_address() -> None:
    """terraform-aws-modules/terraform-aws-eks#3653: 32 interfaces, one address."""
    assert share(strategy(group("p5.48xlarge", efa=True))) == (4, 1, 32)


def test_nodes_are_spread_over_their_zones() -> None:
    assert share(strategy(group(scaling={"max": 7}))) == (3, 1, 32)
    assert share(strategy(group(scaling={"max": 7}, zones=["usw2-az1"]))) == (7, 1, 32)


def test_pods_have_prefixes_as_the_cni_holds_them() -> None:
    """The table of prefix-and-ip-target.md: two prefixes with the first pod, and a spare one."""

    def pods(max_pods: int | None = None, **environment: str) -> int:
        kubelet = {"max_pods": max_pods} if max_pods else {}
        addons = {"vpc-cni": {"configuration": {"env": environment}}}
        return share(strategy(group("t3.small", kubelet=kubelet), **cluster(addons=addons)))[2]

    assert pods() == 32
    assert pods(18) == 32
    # 58 pods: five prefixes on two interfaces of three, the second with its own address.
    assert pods(60) == 5 * 16 + 1
    assert pods(60, WARM_IP_TARGET="1", MINIMUM_IP_TARGET="1") == 4 * 16 + 1
    assert pods(7, WARM_IP_TARGET="7", MINIMUM_IP_TARGET="20") == 32
    assert pods(WARM_PREFIX_TARGET="3") == 4 * 16 + 1
    # Without prefixes: three addresses of an interface and of a warm one, which has its own address.
    assert pods(ENABLE_PREFIX_DELEGATION="false") == 7
    assert pods(ENABLE_PREFIX_DELEGATION="false", WARM_IP_TARGET="2") == 3
    assert pods(WARM_PREFIX_TARGET="many") == 16


def test_pod_subnets_take_the_pods() -> None:
    given = strategy(group(), **network(pod_cidr=PODS))
    assert share(given) == (2, 1, 0)
    assert share(given, role=SubnetRole.POD) == (2, 1, 32)


def test_endpoints_and_mount_targets_take_addresses() -> None:
    given = strategy(storage={"efs": {}}, **network(private=True))
    assert budget(given).others == {"interface endpoints": 13, "mount targets": 1}
    assert budget(given).own == 13 + 1 + 2


def test_an_existing_vpc_has_no_budget() -> None:
    assert strategy_budgets(strategy(**existing_network("usw2-az1", "usw2-az2")), load()) == ()


@in_one_test("fields", [{"cidr": "10.0.0.0/30"}, {"cidr": "0.0.0.0/0"}, {"pod_cidr": "100.64.0.0/30"}])
def test_nor_has_one_of_the_wrong_size(fields: dict[str, str]) -> None:
    assert strategy_budgets(strategy(**network(**fields)), load()) == ()


def test_unknown_types_are_left_out() -> None:
    assert [each.of.name for each in budget(strategy(group("zz9.plural"))).shares] == ["system"]


@in_one_test(
    ("fields", "expected"),
    [
        ({"instance_types": ["c7i.large", "c7i.xlarge", "c7i.2xlarge"], "limits": {"cpu": 33}}, 8),
        ({"instance_types": ["c7i.large", "c7i.2xlarge"], "limits": {"cpu": 33}}, 4),
        ({"instance_types": ["c7i.2xlarge"], "limits": {"cpu": 33, "memory": "40Gi"}}, 2),
        ({"instance_types": ["c7i.large"], "limits": {"cpu": 1}}, 0),
        ({"instance_types": ["g6.12xlarge", "g6.24xlarge", "g6.48xlarge"], "limits": {"nvidia.com/gpu": 9}}, 2),
        ({"instance_types": ["trn1.32xlarge"], "limits": {"aws.amazon.com/neuron": 33}}, 2),
        ({"instance_types": ["g6.12xlarge"], "limits": {"nodes": 3, "nvidia.com/gpu": 40}}, 3),
        ({"instance_types": ["c7i.large"], "limits": {"nvidia.com/gpu": 40}}, None),
        ({"instance_types": ["c7i.large"], "limits": {"cpu": -4}}, None),
    ],
)
def test_limits_of_a_pool_as_nodes(fields: dict[str, Any], expected: int | None) -> None:
    given = strategy(**pools(pool(**fields))).karpenter
    assert given is not None
    of = given.node_pools[0]
    assert nodes_at_limit(of, [load().get(name) for name in of.instance_types]) == expected


def test_a_network_that_is_wide_enough() -> None:
    assert wider("10.0.64.0/20", 300, "10.0.64.0/24") == "10.0.64.0/19"
    assert wider("10.0.64.0/20", 4091, "10.0.64.0/24") == "10.0.0.0/16"
    assert wider("10.0.64.0/20", 4092, "10.0.64.0/24") is None


def test_a_group_without_zone_takes_no_address() -> None:
    given = document(group("trn1.32xlarge"), network={"zones": ["usw2-az2", "usw2-az3"]})
    assert [code for code, _ in shown_codes(given)] == ["GROUP_NO_ZONE"]


# --- facts


def test_services_with_endpoints_hold_what_nodes_need() -> None:
    known, endpoints = facts.endpoint_services(), facts.eks()["interface_endpoints"]
    required = endpoints["required"]
    needed = {*endpoints["nodes"], *required["nodes"], *required["karpenter_queue"], *required["karpenter_images"]}
    for section in (endpoints["addons"], required["addons"]):
        needed |= {service for services in section.values() for service in services}
    assert needed <= set(known)
    assert list(known) == sorted(known)
    assert set(required["nodes"]) <= set(endpoints["nodes"])
    assert datetime.date.fromisoformat(facts.eks()["public_access_cidrs"]["as_of"])


def test_addresses_of_pods_are_unknown_if_the_catalogue_lacks_them() -> None:
    kind = load().get("m7i.xlarge")
    assert pod_addresses(kind, efa=False, custom_networking=False)
    lacking = dataclasses.replace(kind, ipv4_per_interface=None)
    assert pod_addresses(lacking, efa=False, custom_networking=False) is None
