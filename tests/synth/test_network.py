"""The network: zones, subnets, routes, endpoints, security groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

from eks_hardware.testing import Absent, AnyOrder, Contains, Matches, Template

if TYPE_CHECKING:
    from eks_hardware._cdk import TerraformStack

Templates = Mapping[str, Template]
Synthesize = Callable[..., Template]

ANYWHERE = ("0.0.0.0/0", "::/0")


def _name(reference: str) -> str:
    """Return the address in ``${aws_subnet.x.id}``."""
    return reference.strip("${}").rpartition(".")[0]


def _zone_of_table(template: Template) -> dict[str, str]:
    """Return the zone of the subnet for each route table of private subnets."""
    private = template.resources("aws_subnet", {"tags": {"kubernetes.io/role/internal-elb": "1"}})
    return {
        _name(body["route_table_id"]): private[_name(body["subnet_id"])]["availability_zone_id"]
        for body in template.resources("aws_route_table_association").values()
        if _name(body["subnet_id"]) in private
    }


def _nat_zone_of_zone(template: Template) -> dict[str, str]:
    """Return the zone of the NAT gateway that the private subnets of each zone use."""
    subnets, gateways = template.resources("aws_subnet"), template.resources("aws_nat_gateway")
    tables = _zone_of_table(template)
    found = {}
    for route in template.resources("aws_route", {"nat_gateway_id": Matches("")}).values():
        gateway = gateways[_name(route["nat_gateway_id"])]
        found[tables[_name(route["route_table_id"])]] = subnets[_name(gateway["subnet_id"])]["availability_zone_id"]
    return found


def test_subnets_are_placed_by_zone_id(strategy_name: str, templates: Templates) -> None:
    for subnet in templates[strategy_name].resources("aws_subnet").values():
        assert set(subnet) == {"availability_zone_id", "cidr_block", "map_public_ip_on_launch", "tags", "vpc_id"}
        assert subnet["map_public_ip_on_launch"] is False


def test_every_zone_has_a_tagged_subnet_of_each_role(templates: Templates) -> None:
    template = templates["mixed-hardware"]
    roles = {
        "private": {"karpenter.sh/discovery": "mixed-hardware", "kubernetes.io/role/internal-elb": "1"},
        "public": {"kubernetes.io/role/elb": "1"},
        "control-plane": {},
    }
    zones = {"usw2-az1", "usw2-az2", "usw2-az3"}
    # The control plane always has two zones: EKS refuses to change them.
    expected = [(zone, role) for zone in zones for role in roles if (zone, role) != ("usw2-az3", "control-plane")]
    template.count("aws_subnet", len(expected))
    for zone, role in expected:
        for tags in [roles[role]]:
            subnet = template.resource(
                "aws_subnet", {"availability_zone_id": zone}, address_contains=f"network_{role}-{zone}"
            )
            assert subnet["tags"] == {"Name": f"mixed-hardware-{role}-{zone}", **tags}


def test_control_plane_and_load_balancers_share_no_subnet_with_an_excluded_zone(templates: Templates) -> None:
    # trap: aws-samples/amazon-eks-scaling-with-keda-and-karpenter#2
    template = templates["private-network"]
    assert template.resources("aws_subnet", {"availability_zone_id": "use1-az3"})
    for reference in template.only("aws_eks_cluster")["vpc_config"]["subnet_ids"]:
        assert template.resources("aws_subnet")[_name(reference)]["availability_zone_id"] != "use1-az3"


def test_nothing_is_open_to_the_internet(strategy_name: str, templates: Templates) -> None:
    template = templates[strategy_name]
    for rule in template.resources("aws_vpc_security_group_ingress_rule").values():
        assert rule.get("cidr_ipv4") not in ANYWHERE
        assert rule.get("cidr_ipv6") not in ANYWHERE
    for type_ in ("aws_security_group", "aws_default_security_group"):
        for group in template.resources(type_).values():
            assert "ingress" not in group
            assert "egress" not in group
    template.count("aws_security_group_rule", 0)


def test_the_default_security_group_is_emptied(strategy_name: str, templates: Templates) -> None:
    template = templates[strategy_name]
    template.count("aws_default_security_group", len(template.resources("aws_vpc")))
    for group in template.resources("aws_default_security_group").values():
        assert set(group) == {"tags", "vpc_id"}


def test_no_security_group_carries_a_cluster_tag(strategy_name: str, templates: Templates) -> None:
    """A node can have only one such group, and EKS tags its own."""
    # trap: terraform-aws-modules/terraform-aws-eks#1810
    template = templates[strategy_name]
    keys = [key for group in template.resources("aws_security_group").values() for key in group["tags"]]
    keys += [tag["key"] for tag in template.resources("aws_ec2_tag").values()]
    assert not [key for key in keys if key.startswith("kubernetes.io/cluster/")]


def test_exactly_one_security_group_is_tagged_for_discovery(strategy_name: str, templates: Templates) -> None:
    """Karpenter attaches all groups with the tag to its nodes: the cluster's is enough."""
    # trap: terraform-aws-modules/terraform-aws-eks#1810
    template = templates[strategy_name]
    karpenter = any("/platform/karpenter/" in path for path in template.addresses().values())
    tagged = {"resource_id": Contains(".cluster_security_group_id}"), "key": "karpenter.sh/discovery"}
    template.count("aws_ec2_tag", karpenter, {**tagged, "value": strategy_name})
    template.has_no("aws_ec2_tag", {"resource_id": Contains("aws_security_group.")})
    template.has_no("aws_security_group", {"tags": {"karpenter.sh/discovery": Matches("")}})


def test_s3_has_a_gateway_endpoint_on_every_route_table(strategy_name: str, templates: Templates) -> None:
    template = templates[strategy_name]
    if not template.resources("aws_vpc"):
        template.count("aws_vpc_endpoint", 0)
        return
    endpoint = template.resource(
        "aws_vpc_endpoint", {"service_name": Matches(r"\.s3$"), "vpc_endpoint_type": "Gateway"}
    )
    assert {_name(table) for table in endpoint["route_table_ids"]} == set(template.resources("aws_route_table"))


def test_a_single_nat_gateway_serves_every_zone(templates: Templates) -> None:
    template = templates["mixed-hardware"]
    template.count("aws_nat_gateway", 1)
    template.count("aws_eip", 1)
    assert _nat_zone_of_zone(template) == dict.fromkeys(("usw2-az1", "usw2-az2", "usw2-az3"), "usw2-az1")


def test_a_nat_gateway_in_each_zone_serves_that_zone(templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-vpc#117
    template = templates["gpu-inference"]
    template.count("aws_nat_gateway", 3)
    assert _nat_zone_of_zone(template) == {zone: zone for zone in ("usw2-az1", "usw2-az2", "usw2-az3")}


def test_a_nat_gateway_is_reachable_before_it_is_made(templates: Templates) -> None:
    template = templates["gpu-inference"]
    for address in template.resources("aws_nat_gateway"):
        before = template.dependencies(address)
        assert template.address("aws_internet_gateway") in before
        assert template.address("aws_route", {"gateway_id": Matches("")}) in before
        assert any(
            each.startswith("aws_route_table_association.platform_network_association-public") for each in before
        )


def test_pods_leave_through_the_nat_gateway_of_their_zone(templates: Templates) -> None:
    template = templates["pod-network"]
    subnets = template.resources("aws_subnet")
    by_table: dict[str, set[str]] = {}
    for body in template.resources("aws_route_table_association").values():
        by_table.setdefault(body["route_table_id"], set()).add(
            subnets[_name(body["subnet_id"])]["availability_zone_id"]
        )
    pods = template.resources("aws_subnet", {"cidr_block": Matches(r"^100\.64\.")})
    assert len(pods) == 2
    address = ""
    for address in pods:
        table = template.resource("aws_route_table_association", {"subnet_id": f"${{{address}.id}}"})["route_table_id"]
        assert by_table[table] == {pods[address]["availability_zone_id"]}
        template.has("aws_route", {"route_table_id": table, "nat_gateway_id": Matches("")})
    # A subnet of the second network can be created only after the VPC has that network.
    assert template.address("aws_vpc_ipv4_cidr_block_association") in template.dependencies(address)


def test_a_private_network_has_no_way_out(templates: Templates) -> None:
    template = templates["private-network"]
    for type_ in ("aws_internet_gateway", "aws_nat_gateway", "aws_eip", "aws_route"):
        template.count(type_, 0)
    template.has_no("aws_subnet", {"tags": {"kubernetes.io/role/elb": Matches("")}})


def test_a_private_network_reaches_aws_through_endpoints(templates: Templates) -> None:
    template = templates["private-network"]
    for service in ("ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts", "sqs", "ssm", "logs"):
        template.has(
            "aws_vpc_endpoint",
            {
                "service_name": f"com.amazonaws.us-east-1.{service}",
                "vpc_endpoint_type": "Interface",
                "private_dns_enabled": True,
                "subnet_ids": [Matches("private-use1-az2"), Matches("private-use1-az3"), Matches("private-use1-az6")],
            },
        )
    template.has("aws_vpc_endpoint", {"service_name": "com.amazonaws.us-east-1.dynamodb"})
    group = template.address("aws_security_group", address_contains="endpoint")
    rules = template.resources("aws_vpc_security_group_ingress_rule", {"security_group_id": f"${{{group}.id}}"})
    assert {rule["cidr_ipv4"] for rule in rules.values()} == {"10.8.0.0/18", "100.64.0.0/16"}
    assert {(rule["ip_protocol"], rule["from_port"], rule["to_port"]) for rule in rules.values()} == {("tcp", 443, 443)}


def test_flow_logs(templates: Templates) -> None:
    template = templates["private-network"]
    template.has("aws_cloudwatch_log_group", {"name": "/aws/vpc/private-network/flow-logs", "retention_in_days": 14})
    template.has("aws_flow_log", {"traffic_type": "ALL", "log_destination_type": "cloud-watch-logs"})
    trust = template.resource("aws_iam_role", address_contains="flow-log")["assume_role_policy"]
    assert json.loads(trust)["Statement"][0]["Condition"]["StringEquals"]["aws:SourceAccount"]
    for name in ("storage", "mixed-hardware", "development"):
        templates[name].has("aws_flow_log", {"traffic_type": "REJECT"})
        templates[name].has(
            "aws_cloudwatch_log_group", {"name": f"/aws/vpc/{name}/flow-logs", "retention_in_days": 365}
        )


def test_flow_logs_can_be_switched_off(synthesize: Synthesize) -> None:
    synthesize(network={"flow_logs": {"enabled": False}}).count("aws_flow_log", 0)


def test_in_an_existing_vpc_only_tags_are_made(templates: Templates) -> None:
    template = templates["existing-network"]
    made = {address for address, path in template.addresses().items() if "/platform/network/" in path}
    assert made == set(template.resources("aws_ec2_tag", {"resource_id": Matches("^subnet-")}))
    tags = {
        (body["resource_id"][-1], body["key"], body["value"]) for body in map(template.resources().get, made) if body
    }
    assert tags == {
        (subnet, key, value)
        for subnet in "ab"
        for key, value in (("karpenter.sh/discovery", "existing-network"), ("kubernetes.io/role/internal-elb", "1"))
    }
    template.has("aws_eks_cluster", {"vpc_config": {"subnet_ids": AnyOrder(Matches("1a$"), Matches("1c$"))}})
    assert template.outputs["vpc_id"] == "vpc-0123456789abcdef0"


def test_adding_a_zone_moves_nothing(synthesize: Synthesize) -> None:
    # trap: terraform-aws-modules/terraform-aws-vpc#117
    zones = ["usw2-az3", "usw2-az1", "usw2-az2"]
    fewer, more = (synthesize(network={"zones": zones[:count]}).resources() for count in (2, 3))
    assert set(fewer) < set(more)
    for address, body in fewer.items():
        if address.startswith(("aws_subnet.", "aws_route", "aws_nat_gateway.", "aws_eip.")):
            assert more[address] == body


def test_a_network_alone(stack: TerraformStack) -> None:
    from eks_hardware.constructs.network import Network
    from eks_hardware.models import NetworkSpec as NetworkConfig

    network = Network.from_config(
        stack, "network", config=NetworkConfig(zones=2), cluster_name="theirs", region="us-west-2"
    )
    template = Template.of(stack)
    template.count(
        "aws_vpc", 1, {"cidr_block": "10.0.0.0/16", "enable_dns_support": True, "enable_dns_hostnames": True}
    )
    template.has("aws_subnet", {"tags": {"karpenter.sh/discovery": "theirs"}})
    template.count("aws_eks_cluster", 0)
    assert sorted(network.ref.private_subnet_ids) == ["usw2-az1", "usw2-az2"]
    assert not network.ref.pod_subnet_ids


def test_warnings_about_a_network_alone_are_annotations(stack: TerraformStack) -> None:
    from eks_hardware.constructs.network import Network
    from eks_hardware.models import NetworkSpec as NetworkConfig

    config = NetworkConfig(cidr="11.0.0.0/16", zones=2)
    network = Network.from_config(stack, "network", config=config, cluster_name="theirs", region="us-west-2")
    (warning,) = (str(each.data) for each in network.node.metadata if each.type.endswith("warn"))
    assert warning.startswith("NETWORK_CIDR_PUBLIC")


def test_rules_apply_to_a_network_alone(stack: TerraformStack) -> None:
    from eks_hardware.constructs.network import Network
    from eks_hardware.models import NetworkSpec as NetworkConfig

    wrong = NetworkConfig(zones=("usw2-az1", "use1-az2"))
    with pytest.raises(ValueError, match=r"ZONE_UNKNOWN stack/network: network\.zones\[1\]: must be a zone of"):
        Network.from_config(stack, "network", config=wrong, cluster_name="theirs", region="us-west-2")


def test_a_network_that_exists_already() -> None:
    from eks_hardware.constructs.network import NetworkRef

    private = {"usw2-az1": "subnet-1", "usw2-az2": "subnet-2"}
    ref = NetworkRef.from_existing(vpc_id="vpc-1", private_subnet_ids=private)
    assert ref.control_plane_subnet_ids == private
    assert not ref.egress
    other = NetworkRef.from_existing(
        vpc_id="vpc-1", private_subnet_ids=private, control_plane_subnet_ids={"usw2-az3": "subnet-3"}
    )
    assert other.control_plane_subnet_ids == {"usw2-az3": "subnet-3"}


@pytest.mark.parametrize(
    ("nat", "gateways", "public"), [("none", 0, 2), ("single", 1, 2), ("one-per-zone", 2, 2)], ids=str
)
def test_nat_modes(synthesize: Synthesize, nat: str, gateways: int, public: int) -> None:
    template = synthesize(network={"zones": 2, "nat_gateways": nat})
    template.count("aws_nat_gateway", gateways)
    template.count("aws_subnet", public, {"tags": {"kubernetes.io/role/elb": "1"}})
    template.count("aws_route", 2 if gateways else 0, {"nat_gateway_id": Contains("${aws_nat_gateway.")})
    template.has("aws_vpc_endpoint", {"service_name": "com.amazonaws.us-west-2.s3"})
    template.count("aws_vpc_endpoint", 0 if gateways else 1, {"service_name": Matches(r"ecr\.api$")})
    template.has("aws_route", {"gateway_id": Matches("internet"), "nat_gateway_id": Absent})


def test_china_has_its_own_endpoint_names_and_service_principal(synthesize: Synthesize) -> None:
    template = synthesize(region="cn-north-1", network={"zones": 2, "nat_gateways": "none"})
    names = {each["service_name"] for each in template.resources("aws_vpc_endpoint").values()}
    assert {"cn.com.amazonaws.cn-north-1.ecr.api", "cn.com.amazonaws.cn-north-1.sts"} <= names
    assert {"com.amazonaws.cn-north-1.s3", "com.amazonaws.cn-north-1.logs"} <= names
    template.has("aws_iam_role", {"assume_role_policy": Contains('"Service":"ec2.amazonaws.com.cn"')})
    arns = [each["policy_arn"] for each in template.resources("aws_iam_role_policy_attachment").values()]
    assert [arn for arn in arns if not arn.startswith(("arn:aws-cn:", "${"))] == []
