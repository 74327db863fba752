"""Quotas: the account's values compared with the strategy's needs and other usage."""

from __future__ import annotations

from typing import Any

from eks_hardware.doctor import quotas
from helpers.cases import in_one_test
from helpers.doctor import ACCOUNT, Answer, RefusedError, answering, look
from helpers.findings import codes
from helpers.strategies import group, pools

P, STANDARD, STANDARD_SPOT, VPCS = "L-417A185B", "L-1216C47A", "L-34B43A08", "L-F678F1CE"
ADDRESSES, NAT, CLUSTERS, GATEWAYS = "L-0263D0A3", "L-FE5A380F", "L-1194D53C", "L-A4707A72"
A100 = group("p4d.24xlarge", name="a100", scaling={"max": 4})  # 384 vCPUs, 960 during an update


def account_with_quotas(values: dict[str, float] | None = None, **answers: Answer) -> dict[str, Answer]:
    """Return an account with ample quotas and no running instances; ``values`` are quotas by code."""

    def quota(params: dict[str, Any]) -> dict[str, Any]:
        return {"Quota": {"QuotaCode": params["QuotaCode"], "Value": (values or {}).get(params["QuotaCode"], 1e6)}}

    nothing: dict[str, Answer] = {
        "servicequotas:GetServiceQuota": quota,
        "servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota": {"RequestedQuotas": []},
        "ec2:DescribeInstances": {"Reservations": []},
        "ec2:DescribeCapacityReservations": {"CapacityReservations": []},
        "ec2:DescribeVpcs": {"Vpcs": []},
        "ec2:DescribeInternetGateways": {"InternetGateways": []},
        "ec2:DescribeAddresses": {"Addresses": []},
        "ec2:DescribeNatGateways": {"NatGateways": []},
        "ec2:DescribeSubnets": {"Subnets": []},
        "eks:ListClusters": {"clusters": []},
    }
    return {**nothing, **{name.replace("__", ":").replace("_", "-"): each for name, each in answers.items()}}


def test_enough() -> None:
    assert codes(look(quotas, answering(account_with_quotas()), A100).findings) == []


def test_too_low_names_the_group_and_what_to_ask_for() -> None:
    # trap: aws/karpenter-provider-aws#3372
    outcome = look(quotas, answering(account_with_quotas({P: 383})), A100)
    assert codes(outcome.findings) == [("QUOTA_TOO_LOW", "node_groups[a100].scaling.max")]
    (finding,) = outcome.findings
    # Two more nodes in each of three zones during an update.
    assert finding.command == (
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-417A185B "
        f"--desired-value {(4 + 2 * 3) * 96} --region us-west-2"
    )
    assert finding.position
    assert finding.position.line


def test_just_enough_but_not_while_groups_are_updated() -> None:
    outcome = look(quotas, answering(account_with_quotas({P: 384})), A100)
    assert codes(outcome.findings) == [("QUOTA_UPDATE", "node_groups[a100].scaling.max")]
    assert [each.severity.value for each in outcome.findings] == ["warning"]
    minimal = {**A100, "update": {"strategy": "minimal"}}
    assert codes(look(quotas, answering(account_with_quotas({P: 384})), minimal).findings) == []


def test_default_where_nothing_is_applied() -> None:
    answers = account_with_quotas(
        servicequotas__GetServiceQuota=RefusedError("NoSuchResourceException"),
        servicequotas__GetAWSDefaultServiceQuota=lambda _: {"Quota": {"Value": 0.0}},
    )
    found = {code for code, _ in codes(look(quotas, answering(answers), A100).findings)}
    assert found == {"QUOTA_TOO_LOW"}


def test_open_request_is_shown_and_not_made_twice() -> None:
    request = {"Id": "abc", "Status": "CASE_OPENED", "DesiredValue": 768.0}
    answers = account_with_quotas(
        {P: 0}, servicequotas__ListRequestedServiceQuotaChangeHistoryByQuota={"RequestedQuotas": [request]}
    )
    (finding,) = look(quotas, answering(answers), A100).findings
    assert "768" in finding.message
    assert finding.command == (
        "aws service-quotas get-requested-service-quota-change --request-id abc --region us-west-2"
    )


def test_request_history_may_be_denied() -> None:
    denied = RefusedError("AccessDeniedException")
    answers = account_with_quotas({P: 0}, servicequotas__ListRequestedServiceQuotaChangeHistoryByQuota=denied)
    assert [code for code, _ in codes(look(quotas, answering(answers), A100).findings)] == ["QUOTA_TOO_LOW"]


def instances(*each: dict[str, Any]) -> dict[str, Any]:
    return {"Reservations": [{"Instances": list(each)}]}


def test_instances_of_others_count() -> None:
    running = instances({"InstanceType": "p5.48xlarge"}, {"InstanceType": "m7i.large"})
    outcome = look(quotas, answering(account_with_quotas({P: 600}, ec2__DescribeInstances=running)), group_minimal())
    assert codes(outcome.findings) == []
    outcome = look(quotas, answering(account_with_quotas({P: 575}, ec2__DescribeInstances=running)), group_minimal())
    assert codes(outcome.findings) == [("QUOTA_SHARED", "node_groups[a100].scaling.max")]
    assert outcome.findings[0].command.endswith("--desired-value 576 --region us-west-2")


def group_minimal() -> dict[str, Any]:
    return {**A100, "update": {"strategy": "minimal"}}


@in_one_test(
    "tag",
    [("kubernetes.io/cluster/demo", "owned"), ("eks:cluster-name", "demo"), ("aws:eks:cluster-name", "demo")],
)
def test_instances_of_this_cluster_do_not_count(tag: tuple[str, str]) -> None:
    tags = [{"Key": tag[0], "Value": tag[1]}]
    running = instances({"InstanceType": "p5.48xlarge", "Tags": tags})
    assert (
        codes(
            look(
                quotas, answering(account_with_quotas({P: 384}, ec2__DescribeInstances=running)), group_minimal()
            ).findings
        )
        == []
    )


def test_spot_and_on_demand_are_two_quotas() -> None:
    running = instances({"InstanceType": "m7i.48xlarge", "InstanceLifecycle": "spot"})
    spot = group("m7i.xlarge", name="batch", capacity="spot", scaling={"max": 2})
    answers = account_with_quotas({STANDARD: 500, STANDARD_SPOT: 199}, ec2__DescribeInstances=running)
    assert codes(look(quotas, answering(answers), spot).findings) == [
        ("QUOTA_SHARED", "node_groups[batch].scaling.max")
    ]


def reservation(**fields: Any) -> dict[str, Any]:
    return {
        "CapacityReservationId": "cr-0aaaaaaaaaaaaaaaa",
        "OwnerId": ACCOUNT,
        "InstanceType": "p5.48xlarge",
        "State": "active",
        "AvailableInstanceCount": 1,
        "TotalInstanceCount": 1,
        **fields,
    }


@in_one_test(
    ("fields", "counts"),
    [
        ({}, True),
        ({"OwnerId": "999999999999"}, False),
        ({"State": "cancelled"}, False),
        ({"ReservationType": "capacity-block"}, False),
        ({"AvailableInstanceCount": 0}, False),
    ],
)
def test_unused_reservations_of_the_account_count(fields: dict[str, Any], counts: bool) -> None:
    reserved = {"CapacityReservations": [reservation(**fields)]}
    answers = account_with_quotas({P: 500}, ec2__DescribeCapacityReservations=reserved)
    assert bool(codes(look(quotas, answering(answers), group_minimal()).findings)) is counts


def test_reservation_of_the_group_does_not_count_twice() -> None:
    given = {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "usw2-az1"}
    h100 = group("p5.48xlarge", name="h100", capacity="reserved", reservation=given, scaling={"max": 1})
    reserved = {"CapacityReservations": [reservation()]}
    answers = account_with_quotas({P: 192}, ec2__DescribeCapacityReservations=reserved)
    assert codes(look(quotas, answering(answers), h100).findings) == []


def test_capacity_block_was_counted_when_it_was_bought() -> None:
    given = {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "usw2-az1"}
    block = group("p5.48xlarge", name="h100", capacity="capacity-block", reservation=given, scaling={"max": 8})
    assert codes(look(quotas, answering(account_with_quotas({P: 0})), block).findings) == []


def things(key: str, count: int, **fields: Any) -> dict[str, Any]:
    return {key: [fields] * count}


OURS = [{"Key": "eks-hardware/strategy", "Value": "demo"}]


@in_one_test(
    ("code", "call", "key", "path"),
    [
        (VPCS, "ec2__DescribeVpcs", "Vpcs", "network"),
        (GATEWAYS, "ec2__DescribeInternetGateways", "InternetGateways", "network"),
        (ADDRESSES, "ec2__DescribeAddresses", "Addresses", "network.nat_gateways"),
    ],
)
def test_what_is_made_at_once_has_to_fit_beside_what_is_there(code: str, call: str, key: str, path: str) -> None:
    fits = account_with_quotas({code: 5}, **{call: things(key, 4)})
    assert codes(look(quotas, answering(fits)).findings) == []
    full = account_with_quotas({code: 5}, **{call: things(key, 5)})
    assert codes(look(quotas, answering(full)).findings) == [("QUOTA_EXHAUSTED", path)]
    ours = account_with_quotas({code: 5}, **{call: things(key, 5, Tags=OURS)})
    assert codes(look(quotas, answering(ours)).findings) == []


def test_nat_gateways_count_by_zone() -> None:
    subnets = {"Subnets": [{"SubnetId": "s1", "AvailabilityZoneId": "usw2-az1"}, {"SubnetId": "s2"}]}
    full = things("NatGateways", 5, SubnetId="s1")
    answers = account_with_quotas({NAT: 5}, ec2__DescribeNatGateways=full, ec2__DescribeSubnets=subnets)
    assert codes(look(quotas, answering(answers)).findings) == [("QUOTA_EXHAUSTED", "network.nat_gateways")]
    elsewhere = account_with_quotas(
        {NAT: 5}, ec2__DescribeNatGateways=things("NatGateways", 5, SubnetId="s2"), ec2__DescribeSubnets=subnets
    )
    assert codes(look(quotas, answering(elsewhere)).findings) == []


def test_clusters() -> None:
    full = account_with_quotas({CLUSTERS: 2}, eks__ListClusters={"clusters": ["one", "two"]})
    assert codes(look(quotas, answering(full)).findings) == [("QUOTA_EXHAUSTED", "name")]
    again = account_with_quotas({CLUSTERS: 2}, eks__ListClusters={"clusters": ["one", "demo"]})
    assert codes(look(quotas, answering(again)).findings) == []


def test_pool_is_named_at_its_limits() -> None:
    pool = {"name": "gpu", "instance_families": ["g6"], "capacity": ["spot"], "limits": {"nvidia.com/gpu": 4}}
    answers = account_with_quotas({"L-3819A6DF": 0})
    outcome = look(quotas, answering(answers), **pools(pool))
    assert codes(outcome.findings) == [("QUOTA_TOO_LOW", "karpenter.node_pools[gpu].limits")]


def test_denied() -> None:
    answers = account_with_quotas(servicequotas__GetServiceQuota=RefusedError("AccessDeniedException"))
    outcome = look(quotas, answering(answers), A100)
    assert [code for code, _ in codes(outcome.findings)] == ["CHECK_DENIED"]
    assert "servicequotas:GetServiceQuota" in outcome.findings[0].message


def test_usage_denied_leaves_the_comparison() -> None:
    answers = account_with_quotas({P: 0}, ec2__DescribeInstances=RefusedError("UnauthorizedOperation"))
    outcome = look(quotas, answering(answers), A100)
    assert sorted(code for code, _ in codes(outcome.findings)) == ["CHECK_DENIED", "QUOTA_TOO_LOW"]
