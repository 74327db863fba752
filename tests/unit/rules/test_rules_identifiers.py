"""Rules about names of other regions and accounts: a strategy that breaks each, and a similar one that does not."""

from __future__ import annotations

from typing import Any

from helpers.cases import in_one_test
from helpers.rules import Case, rules_of, shown_codes, warnings_of
from helpers.sections import cluster
from helpers.strategies import SYSTEM, group

ACCOUNT = "111122223333"
CERTIFICATE = "arn:aws:acm:{}:111122223333:certificate/0123"
IMAGE = "602401143452.dkr.ecr.{}.amazonaws.com/eks/coredns"
ROLE = "arn:aws:iam::{}:role/reader"
CHART = "kubernetes.charts.aws-load-balancer-controller.values"
COREDNS = "cluster.addons.coredns.configuration"
GPU = "node_groups[gpu]"


def balancer(**values: Any) -> dict[str, Any]:
    return {"kubernetes": {"charts": {"aws-load-balancer-controller": {"values": values}}}}


def coredns_with(**configuration: Any) -> dict[str, Any]:
    return cluster(addons={"coredns": {"configuration": configuration}})


def in_user_data(text: str) -> dict[str, Any]:
    return {"node_groups": [SYSTEM, group("g6.xlarge", user_data={"kubelet": {"flags": [f"--node-labels={text}"]}})]}


def from_group(region: str, account: str = ACCOUNT) -> dict[str, Any]:
    arn = f"arn:aws:resource-groups:{region}:{account}:group/gpus"
    reservation = {"resource_group_arn": arn, "zone": "usw2-az1"}
    reserved = group("p5.48xlarge", capacity="reserved", reservation=reservation)
    return {"node_groups": [SYSTEM, reserved], "aws": {"account_id": ACCOUNT}}


def with_role_of(account: str) -> dict[str, Any]:
    role = {"example.com/role": ROLE.format(account)}
    return balancer(serviceAccount={"annotations": role}) | {"aws": {"account_id": ACCOUNT}}


def with_web_identity(annotation: str) -> dict[str, Any]:
    return balancer(serviceAccount={"annotations": {annotation: ROLE.format(ACCOUNT)}})


def in_china(host: str) -> dict[str, Any]:
    return balancer(args=[host]) | {"region": "cn-north-1"}


def bucket(name: str) -> tuple[str, dict[str, Any]]:
    return f"storage.s3_buckets[{name}].name", {"storage": {"s3_buckets": [{"name": name}]}}


def in_account(**sections: Any) -> dict[str, Any]:
    return sections | {"aws": {"account_id": ACCOUNT}}


def argument(bad: str, good: str) -> Case:
    """Return the case of an argument that names another region."""
    return Case("IDENTIFIER_REGION", f"{CHART}.args[0]", balancer(args=[bad]), balancer(args=[good]))


def with_admin(account: str) -> dict[str, Any]:
    return in_account(**cluster(admins=[ROLE.format(account)]))


def with_entry(account: str) -> dict[str, Any]:
    entry = {"name": "ci", "principal_arn": ROLE.format(account), "kubernetes_groups": ["ci"]}
    return in_account(**cluster(access_entries=[entry]))


def with_key_of(account: str) -> dict[str, Any]:
    key = f"arn:aws:kms:us-west-2:{account}:key/1234abcd-12ab-44cd-96ef-1234567890ab"
    return in_account(**cluster(secrets_encryption={"kms_key_arn": key}))


OTHER_ACCOUNT = "444455556666"
ANNOTATION = f"{CHART}.serviceAccount.annotations[example.com/role]"
WEB_IDENTITY = "eks.amazonaws.com/role-arn"
# The place of a secret, the values with it, and similar ones without.
SECRETS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("adminPassword", {"adminPassword": "hunter2"}, {"adminPassword": ""}),
    ("auth.clientSecret", {"auth": {"clientSecret": "a1"}}, {"auth": {"existingSecret": "auth"}}),
    (
        "env[0].value",
        {"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]},
        {"env": [{"name": "PASSWORD_FILE", "value": "/run/secret"}]},
    ),
    ("db.api_key", {"db": {"api_key": "a1"}}, {"db": {"passwordKey": "password"}}),
]
CASES = [
    Case(
        "RESERVATION_REGION",
        f"{GPU}.reservation.resource_group_arn",
        from_group("us-east-1"),
        from_group("us-west-2"),
    ),
    Case(
        "RESERVATION_REGION",
        f"{GPU}.reservation.resource_group_arn",
        from_group("us-west-2", "444455556666"),
        from_group("us-west-2"),
    ),
    Case("IDENTIFIER_ACCOUNT", ANNOTATION, with_role_of("444455556666"), with_role_of(ACCOUNT)),
    Case(
        "IDENTIFIER_REGION",
        f"{CHART}.args[0]",
        balancer(args=[f"--certificate={CERTIFICATE.format('eu-west-1')}"]),
        balancer(args=[f"--certificate={CERTIFICATE.format('us-west-2')}"]),
    ),
    Case(
        "IDENTIFIER_REGION",
        f"{COREDNS}.nodeSelector[topology.kubernetes.io/zone]",
        coredns_with(nodeSelector={"topology.kubernetes.io/zone": "us-east-1a"}),
        coredns_with(nodeSelector={"topology.kubernetes.io/zone": "us-west-2a"}),
    ),
    Case(
        "IDENTIFIER_REGION",
        f"{COREDNS}.nodeSelector[topology.k8s.aws/zone-id]",
        coredns_with(nodeSelector={"topology.k8s.aws/zone-id": "use1-az1"}),
        coredns_with(nodeSelector={"topology.k8s.aws/zone-id": "usw2-az1"}),
    ),
    Case(
        "IDENTIFIER_REGION",
        f"{CHART}.args[0]",
        balancer(args=["--endpoint=https://sqs.us-east-1.amazonaws.com/1/queue"]),
        balancer(args=["--endpoint=https://sqs.us-west-2.amazonaws.com/1/queue"]),
    ),
    Case(
        "IDENTIFIER_REGION",
        f"{GPU}.user_data.kubelet.flags[0]",
        in_user_data("site=us-east-1a"),
        in_user_data("site=us-west-2a"),
    ),
    Case(
        "IDENTIFIER_REGION",
        f"{CHART}.args[0]",
        balancer(args=["arn:aws-cn:s3:::models"]),
        balancer(args=["arn:aws:s3:::models"]),
    ),
    Case("IDENTIFIER_REGION", *bucket("models--use1-az4--x-s3"), bucket("models--usw2-az1--x-s3")[1]),
    Case("IDENTIFIER_REGION", *bucket("models-eu-west-1"), bucket("models-us-west-2")[1]),
    Case(
        "IDENTIFIER_REGION",
        f"{CHART}.image.repository",
        balancer(image={"repository": IMAGE.format("us-east-1")}) | {"network": {"private": True}},
        balancer(image={"repository": IMAGE.format("us-west-2")}) | {"network": {"private": True}},
    ),
    Case(
        "IDENTIFIER_REGION",
        f"{CHART}.image.repository",
        balancer(image={"repository": "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/controller"}),
        balancer(image={"repository": "111122223333.dkr.ecr.eu-west-1.amazonaws.com/controller"}),
    ),
    Case(
        "IDENTIFIER_REGION",
        f"{CHART}.env[0].value",
        balancer(env=[{"name": "AWS_REGION", "value": "eu-west-1"}]),
        balancer(env=[{"name": "AWS_REGION", "value": "us-west-2"}, {"name": "HOME_OF", "value": "eu-west-1"}]),
    ),
    argument("--region=eu-west-1", "--region=us-west-2"),
    argument('{"agent": {"region": "eu-west-1"}}', '{"agent": {"region": "us-west-2"}}'),
    argument("db.abc123.eu-west-1.rds.amazonaws.com:5432", "db.abc123.us-west-2.rds.amazonaws.com:5432"),
    argument("https://ABC.gr7.eu-west-1.eks.amazonaws.com", "https://s3.amazonaws.com"),
    argument("eks.eu-west-1.api.aws", "eks.us-west-2.api.aws"),
    argument("ip-10-0-0-1.eu-west-1.compute.internal", "ip-10-0-0-1.us-west-2.compute.internal"),
    argument("com.amazonaws.eu-west-1.s3", "com.amazonaws.us-west-2.s3"),
    argument(".us-west-2.amazonaws.com.cn", ".us-west-2.amazonaws.com"),
    argument("https://sts.amazonaws.com.cn", "https://sts.amazonaws.com"),
    argument("api.us-iso-east-1.c2s.ic.gov", "api.us-west-2.amazonaws.com"),
    Case(
        "IDENTIFIER_REGION",
        f"{CHART}.args[0]",
        in_china("111122223333.dkr.ecr.cn-north-1.amazonaws.com/a"),
        in_china("111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/a and eks.amazonaws.com/nodegroup"),
    ),
    Case(
        "IDENTIFIER_REGION",
        "cluster.addons.vpc-cni.configuration.eniConfig.subnets.eu-west-1a",
        cluster(addons={"vpc-cni": {"configuration": {"eniConfig": {"subnets": {"eu-west-1a": {"id": "subnet-1"}}}}}}),
        cluster(addons={"vpc-cni": {"configuration": {"eniConfig": {"subnets": {"us-west-2a": {"id": "subnet-1"}}}}}}),
    ),
    Case(
        "IRSA_NO_PROVIDER",
        f"{CHART}.serviceAccount.annotations[{WEB_IDENTITY}]",
        with_web_identity(WEB_IDENTITY),
        with_web_identity("example.com/role"),
    ),
    *(Case("VALUE_SECRET", f"{CHART}.{path}", balancer(**wrong), balancer(**right)) for path, wrong, right in SECRETS),
    argument("zone=us-east-1-bos-1a", "zone=us-west-2-lax-1a, node-pool-1b"),
    Case("IDENTIFIER_ACCOUNT", "cluster.admins[0]", with_admin(OTHER_ACCOUNT), with_admin(ACCOUNT)),
    Case(
        "IDENTIFIER_ACCOUNT",
        "cluster.access_entries[ci].principal_arn",
        with_entry(OTHER_ACCOUNT),
        with_entry(ACCOUNT),
    ),
    Case(
        "IDENTIFIER_ACCOUNT",
        "cluster.secrets_encryption.kms_key_arn",
        with_key_of(OTHER_ACCOUNT),
        with_key_of(ACCOUNT),
    ),
    Case(
        "IDENTIFIER_ACCOUNT",
        f"{CHART}.args[0]",
        in_account(**balancer(args=[CERTIFICATE.format("us-west-2").replace(ACCOUNT, OTHER_ACCOUNT)])),
        in_account(**balancer(args=["arn:aws:s3:::models", "arn:aws:iam::aws:policy/AdministratorAccess"])),
    ),
]


@in_one_test("case", CASES)
def test_rule(case: Case) -> None:
    """The case's other findings are about its network or hardware, not about names."""
    codes = rules_of("identifiers")
    assert [path for code, path in shown_codes(case.bad) if code == case.code] == [case.path]
    assert not codes & {code for code, _ in shown_codes(case.good)}


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("identifiers")
    assert warnings_of("identifiers") == {"IDENTIFIER_REGION", "IDENTIFIER_ACCOUNT", "IRSA_NO_PROVIDER", "VALUE_SECRET"}


def test_an_image_of_another_region_can_be_pulled_through_the_internet() -> None:
    found = shown_codes(balancer(image={"repository": IMAGE.format("us-east-1")}))
    assert "IDENTIFIER_REGION" not in {code for code, _ in found}


def test_the_key_says_that_a_word_is_a_region() -> None:
    (path,) = [path for code, path in shown_codes(balancer(awsRegion="us-east-1")) if code == "IDENTIFIER_REGION"]
    assert path == f"{CHART}.awsRegion"
    assert "IDENTIFIER_REGION" not in {code for code, _ in shown_codes(balancer(comment="us-east-1"))}
