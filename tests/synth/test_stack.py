"""The stack of a strategy: backend, provider, outputs, IAM settings, names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

import pytest

from eks_hardware.testing import Absent, Contains, Template
from helpers.paths import SHIPPED, SPECIAL

Templates = Mapping[str, Template]
Synthesize = Callable[..., Template]

# Maximum length and allowed characters of names, by resource type and argument.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html and the API reference of each service
NAMES = {
    ("aws_cloudwatch_event_rule", "name"): (64, r"[.\w-]+"),
    ("aws_cloudwatch_event_rule", "description"): (512, r".*"),
    ("aws_cloudwatch_log_group", "name"): (512, r"[\w./#-]+"),
    ("aws_eks_cluster", "name"): (100, r"[0-9A-Za-z][\w-]*"),
    ("aws_eks_node_group", "node_group_name"): (63, r"[0-9A-Za-z][\w-]*"),
    ("aws_iam_instance_profile", "name"): (128, r"[\w+=,.@-]+"),
    ("aws_iam_policy", "name"): (128, r"[\w+=,.@-]+"),
    ("aws_iam_policy", "description"): (1000, r"[ -~]*"),
    ("aws_iam_role", "name"): (64, r"[\w+=,.@-]+"),
    ("aws_iam_role", "description"): (1000, r"[ -~]*"),
    ("aws_iam_role_policy", "name"): (128, r"[\w+=,.@-]+"),
    ("aws_kms_alias", "name"): (256, r"alias/[\w/-]+"),
    ("aws_kms_key", "description"): (8192, r".*"),
    ("aws_launch_template", "name"): (128, r"[\w().\-/]{3,}"),
    ("aws_launch_template", "description"): (255, r"[ -~]*"),
    ("aws_placement_group", "name"): (255, r"[ -~]+"),
    ("aws_security_group", "name"): (255, r"(?!sg-)[\w .:/()#,@\[\]+=&;{}!$*-]+"),
    ("aws_security_group", "description"): (255, r"[\w .:/()#,@\[\]+=&;{}!$*-]+"),
    ("aws_sqs_queue", "name"): (80, r"[\w-]+"),
    ("aws_vpc_security_group_egress_rule", "description"): (255, r"[\w .:/()#,@\[\]+=&;{}!$*-]+"),
    ("aws_vpc_security_group_ingress_rule", "description"): (255, r"[\w .:/()#,@\[\]+=&;{}!$*-]+"),
}

CLUSTER = "c" * 99 + "_"
GROUP = "g" * 63


def test_a_stack_is_called_like_its_file(templates: Templates) -> None:
    """`cdktf deploy mixed-hardware` deploys config/strategies/mixed-hardware.yaml."""
    assert set(templates) == {file.stem for folder in (SHIPPED, SPECIAL) for file in folder.glob("*.yaml")}
    for name, template in templates.items():
        assert all(path.startswith(f"{name}/") for path in template.addresses().values())
        assert template.only("aws_eks_cluster")["name"] == name


def test_addresses_do_not_depend_on_the_name(synthesize: Synthesize) -> None:
    """A copy of a strategy with another name has the same addresses, so a state can be moved."""
    one, other = (set(synthesize(name=name, karpenter={}).addresses()) for name in ("one", "other"))
    assert one == other


def test_addresses_do_not_depend_on_the_order_of_groups(synthesize: Synthesize) -> None:
    groups = [
        {"name": name, "instance_types": ["m7i.xlarge"], "scaling": {"min": 1, "max": 2}} for name in ("a", "b", "c")
    ]
    one, other = (synthesize(node_groups=each) for each in (groups, groups[::-1]))
    assert one.addresses() == other.addresses()
    for type_ in ("aws_eks_node_group", "aws_launch_template"):
        assert one.resources(type_) == other.resources(type_)


def test_state_is_local_at_a_place_that_is_the_same_on_every_machine(shipped_name: str, templates: Templates) -> None:
    """Terraform runs in cdktf.out/stacks/<name>."""
    assert templates[shipped_name].terraform["backend"] == {
        "local": {"path": f"../../../terraform.{shipped_name}.tfstate"}
    }


def test_state_in_s3_is_locked_and_encrypted(templates: Templates) -> None:
    assert templates["cluster-options"].terraform["backend"] == {
        "s3": {
            "bucket": "acme-terraform",
            "key": "clusters/options.tfstate",
            "region": "eu-central-1",
            "encrypt": True,
            "kms_key_id": "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890ab",
            "use_lockfile": True,
            "assume_role": {"role_arn": "arn:aws:iam::111122223333:role/state"},
        }
    }


def test_state_in_s3_has_defaults(synthesize: Synthesize) -> None:
    backend = synthesize(backend={"type": "s3", "bucket": "acme-terraform", "lock": False}).terraform["backend"]
    assert backend == {
        "s3": {"bucket": "acme-terraform", "key": "eks-hardware/demo.tfstate", "region": "us-west-2", "encrypt": True}
    }


def test_state_in_hcp_terraform(templates: Templates) -> None:
    assert templates["account-options"].terraform["backend"] == {
        "remote": {
            "hostname": "app.terraform.io",
            "organization": "acme",
            "workspaces": {"name": "account-options"},
        }
    }


@pytest.mark.parametrize(
    ("strategy", "version"),
    [
        ("mixed-hardware", ">= 5.100.0, < 7.0.0"),
        ("cluster-options", ">= 6.23.0, < 7.0.0"),  # control_plane_tier
        ("account-options", ">= 6.0.0, < 7.0.0"),  # as the strategy says
    ],
)
def test_the_provider_range(templates: Templates, strategy: str, version: str) -> None:
    assert templates[strategy].terraform["required_providers"]["aws"] == {"source": "hashicorp/aws", "version": version}


def test_deletion_protection_raises_the_provider_range(synthesize: Synthesize) -> None:
    template = synthesize(cluster={"deletion_protection": False})
    assert template.terraform["required_providers"]["aws"]["version"] == ">= 6.9.0, < 7.0.0"
    assert template.only("aws_eks_cluster")["deletion_protection"] is False


def test_the_provider_of_a_shipped_strategy(shipped_name: str, templates: Templates) -> None:
    (provider,) = templates[shipped_name].providers("aws")
    assert set(provider) == {"region", "default_tags"}
    assert provider["default_tags"] == [{"tags": {"eks-hardware/strategy": shipped_name}}]


def test_the_provider_takes_the_account_into_account(templates: Templates) -> None:
    assert templates["account-options"].providers("aws") == [
        {
            "region": "us-west-2",
            "profile": "acme",
            "allowed_account_ids": ["111122223333"],
            "assume_role": [
                {
                    "role_arn": "arn:aws:iam::111122223333:role/deploy",
                    "external_id": "ticket-1",
                    "session_name": "eks-hardware",
                }
            ],
            "default_tags": [
                {
                    "tags": {
                        "eks-hardware/strategy": "account-options",
                        "cost-center": "1234",
                        "environment": "test",
                    }
                }
            ],
        }
    ]


def test_every_role_has_path_and_boundary(templates: Templates) -> None:
    template = templates["account-options"]
    roles = template.resources("aws_iam_role")
    assert len(roles) == 6
    for role in roles.values():
        assert role["path"] == "/acme/eks/"
        assert role["permissions_boundary"] == "arn:aws:iam::111122223333:policy/boundary"
    for managed in template.resources("aws_iam_policy").values():
        assert managed["path"] == "/acme/eks/"
    templates["mixed-hardware"].has_no("aws_iam_role", {"permissions_boundary": Contains("")})
    templates["mixed-hardware"].count("aws_iam_role", 6, {"path": "/", "permissions_boundary": Absent})


def test_outputs(templates: Templates) -> None:
    template = templates["mixed-hardware"]
    cluster, vpc = template.address("aws_eks_cluster"), template.address("aws_vpc")
    controller, node = (
        template.address("aws_iam_role", {"name": f"mixed-hardware-us-west-2-karpenter-{each}"})
        for each in ("controller", "node")
    )
    assert template.outputs == {
        "region": "us-west-2",
        "cluster_name": f"${{{cluster}.name}}",
        "cluster_endpoint": f"${{{cluster}.endpoint}}",
        "cluster_security_group_id": f"${{{cluster}.vpc_config[0].cluster_security_group_id}}",
        "vpc_id": f"${{{vpc}.id}}",
        "configure_kubectl": "aws eks update-kubeconfig --region us-west-2 --name mixed-hardware",
        "karpenter_controller_role_arn": f"${{{controller}.arn}}",
        "karpenter_node_role_name": f"${{{node}.name}}",
        "karpenter_interruption_queue": f"${{{template.address('aws_sqs_queue')}.name}}",
    }


def test_there_is_one_look_up_of_the_account(strategy_name: str, templates: Templates) -> None:
    assert len(templates[strategy_name].data("aws_caller_identity")) <= 1


def test_no_reference_is_left_unresolved(strategy_name: str, templates: Templates) -> None:
    assert "TfToken" not in json.dumps(templates[strategy_name].document)
    assert "TOKEN." not in json.dumps(templates[strategy_name].document)


def test_the_longest_names_fit(synthesize: Synthesize) -> None:
    template = synthesize(
        name=CLUSTER,
        region="ap-northeast-1",
        cluster={"addons": {each: {} for each in ("aws-ebs-csi-driver", "amazon-cloudwatch-observability")}},
        network={"zones": 2, "private": True, "flow_logs": {}},
        node_groups=[
            {"name": GROUP, "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}},
            {"name": GROUP[:-1] + "h", "instance_types": ["p5.48xlarge"], "efa": True, "scaling": {"max": 3}},
        ],
        karpenter={},
    )
    checked = set()
    seen: dict[tuple[str, str], set[str]] = {}
    for address, body in template.resources().items():
        type_ = address.rpartition(".")[0]
        for argument in ("name", "node_group_name", "description"):
            value = body.get(argument)
            if value is None or (type_, argument) not in NAMES:
                assert value is None, f"{address}: add {type_}.{argument} to NAMES"
                continue
            limit, pattern = NAMES[type_, argument]
            assert len(value) <= limit, f"{address}: {argument} has {len(value)} characters"
            assert re.fullmatch(pattern, value), f"{address}: {value}"
            checked.add((type_, argument))
            if argument != "description":
                assert value not in seen.setdefault((type_, argument), set()), f"{value} twice"
                seen[type_, argument].add(value)
        for value in body.get("tags", {}).values():
            assert len(value) <= 256
        for interface in body.get("network_interfaces", ()):
            assert len(interface["description"]) <= 255
    assert checked == set(NAMES)


def test_no_name_is_a_prefix(strategy_name: str, templates: Templates) -> None:
    """A name that a provider generates from a prefix is longer than the prefix, and changes with each replacement."""
    # trap: terraform-aws-modules/terraform-aws-eks#2555
    for address, body in templates[strategy_name].resources().items():
        assert not [argument for argument in body if argument.endswith("name_prefix")], address


def test_the_longest_policies_fit(synthesize: Synthesize) -> None:
    """IAM allows 6,144 characters in a managed policy, without white space."""
    # trap: terraform-aws-modules/terraform-aws-eks#3512
    template = synthesize(name=CLUSTER, region="ap-northeast-1", karpenter={})
    for body in template.resources("aws_iam_policy").values():
        text = re.sub(r"\$\{data\.aws_caller_identity[^}]*\}", "1" * 12, body["policy"])
        text = re.sub(r"\$\{[^}]*\}", "a" * 120, text)
        assert len(text) <= 6144
