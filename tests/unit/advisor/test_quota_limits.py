"""Quotas of the user's account: their files, and their place in the ranking."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.advisor.model import AccountQuotas, Recommendation
from eks_hardware.advisor.ranking.quota_file import read_quotas
from eks_hardware.advisor.recommend import recommend
from eks_hardware.findings import StrategyError
from eks_hardware.quotas import vcpu_quota_names
from helpers.advisor import asking, families
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.recommend_command import run
from helpers.shown import missing_lines

P, P_BLOCKS, P_SPOT = "L-417A185B", "L-DA6814F2", "L-C4BD4855"
G, G_SPOT, CPU = "L-DB2E81BA", "L-3819A6DF", "L-1216C47A"
TRAINING: Any = {
    "task": "training",
    "model": {"parameters": "8B"},
    "training_tokens": "300B",
    "within": "30d",
    "interruptible": True,
}
ONLY = ("p5.48xlarge", "g6e")


def aws_list(region: str, service: str = "ec2", **values: float | None) -> str:
    """Return the output of ``aws service-quotas list-service-quotas``; underscores of codes are hyphens."""
    # Members of the response: botocore 1.42, service-quotas/2019-06-24, ServiceQuota.
    rows = [
        {
            "ServiceCode": service,
            "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
            "QuotaArn": f"arn:aws:servicequotas:{region}:111122223333:{service}/{code.replace('_', '-')}",
            "QuotaCode": code.replace("_", "-"),
            "QuotaName": "a name",
            **({} if value is None else {"Value": value}),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
            "UsageMetric": {"MetricNamespace": "AWS/Usage", "MetricDimensions": {"Class": "P/OnDemand"}},
            "QuotaAppliedAtLevel": "ACCOUNT",
            "Description": "up to ${N} vCPUs",
        }
        for code, value in values.items()
    ]
    return json.dumps({"Quotas": rows}, indent=4)


def kept(folder: Path, text: str, name: str = "quotas.json") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def within(
    quotas: dict[str | None, dict[str, float]], *regions: str, only: tuple[str, ...] = ONLY, **said: Any
) -> Recommendation:
    request = replace(asking(*(regions or ("us-east-1",)), **(TRAINING | said)), quotas=AccountQuotas(by_region=quotas))
    return recommend(request, only=only)


def offers(found: Recommendation, family: str) -> set[tuple[str, str]]:
    return {(each.region, each.purchase) for each in found.candidates if each.fit.kind.family == family}


# --- the ranking


def test_a_plan_above_its_quota_is_rejected_with_what_it_needs() -> None:
    found = within({"us-east-1": {P: 192, G: 100_000}})
    assert families(found) == ["g6e"]
    (rejected,) = (each for each in found.rejections if each.family == "p5")
    assert (rejected.code, rejected.text) == (
        "QUOTA",
        "p5.48xlarge: 2 nodes need 384 vCPUs of L-417A185B (Running On-Demand P instances), "
        "but the quota in us-east-1 is 192; request an increase or choose Spot",
    )
    assert [note for note in found.notes if "would be first" in note] == [
        "without its quota, p5.48xlarge would be first: 2 nodes need 384 vCPUs of L-417A185B (Running On-Demand P "
        "instances), but the quota in us-east-1 is 192"
    ]
    exactly = within({"us-east-1": {P: 384, G: 100_000}})
    assert families(exactly)[0] == "p5"
    assert [note for note in exactly.notes if "quota" in note] == []


def test_the_same_type_in_another_region_is_named_with_its_region() -> None:
    """p5.48xlarge costs less in us-east-1; without the quota there, it is first in ap-northeast-1."""
    found = within({"us-east-1": {P: 0}, "ap-northeast-1": {P: 384}}, "us-east-1", "ap-northeast-1", only=("p5",))
    assert offers(found, "p5") == {("ap-northeast-1", "on-demand")}
    (note,) = (note for note in found.notes if "would be first" in note)
    assert note.startswith("without its quota, p5.48xlarge in us-east-1 would be first: ")


def test_spot_is_advised_only_if_it_may_be_within_its_quota() -> None:
    for more, fields, advice in (
        ({P_SPOT: 384}, {}, "request an increase or choose Spot"),
        ({P_SPOT: 383}, {}, "request an increase"),
        ({}, {"purchase": ["spot", "on-demand"]}, "request an increase"),
        ({P_SPOT: 0, P: 384}, {"purchase": ["spot"]}, "request an increase or choose On-Demand"),
    ):
        found = within({"us-east-1": {P: 0, P_SPOT: 0, **more}}, only=("p5.48xlarge",), **fields)
        assert [each.text.partition("; ")[2] for each in found.rejections] == [advice], (more, fields)
    chat = {"task": "inference", "model": {"name": "llama-3.1-8b"}}
    request = replace(asking("us-east-1", **chat), quotas=AccountQuotas(by_region={None: {G: 3}}))
    (alone,) = recommend(request, only=("g6e",)).rejections
    assert alone.text.endswith("is 3; request an increase"), "a server that answers at once should not be on Spot"


def test_a_limit_of_one_region_leaves_the_others() -> None:
    found = within({"us-east-1": {P: 0, G: 0}}, "us-east-1", "us-west-2", only=("p5.48xlarge",))
    assert offers(found, "p5") == {("us-west-2", "on-demand")}
    assert "no quotas are given for us-west-2, so plans there are not limited" in found.notes
    everywhere = within({None: {P: 383}}, "us-east-1", "us-west-2", only=("p5.48xlarge",))
    assert everywhere.candidates == ()
    assert [note for note in everywhere.notes if "no quotas" in note] == []


def test_each_purchasing_option_has_its_own_quota() -> None:
    zero = {P: 0.0, P_SPOT: 0.0, P_BLOCKS: 0.0}
    options = {"on-demand": P, "spot": P_SPOT, "reserved": P, "capacity-block": P_BLOCKS}
    for code in (P, P_SPOT, P_BLOCKS):
        found = within({None: zero | {code: 384.0}}, only=("p5.48xlarge",), purchase=[*options])
        expected = {("us-east-1", option) for option, counted in options.items() if counted == code}
        assert offers(found, "p5") == expected, code


def test_all_replicas_of_the_users_count() -> None:
    users = {"task": "inference", "model": {"name": "llama-3.1-8b"}, "users": 500}
    request = asking("us-east-1", **users)
    nodes = recommend(request, only=("g6e.xlarge",)).candidates[0].nodes
    assert nodes > 1
    for vcpus, fits in ((4 * nodes, True), (4 * nodes - 1, False)):
        limited = replace(request, quotas=AccountQuotas(by_region={None: {G: vcpus}}))
        assert bool(recommend(limited, only=("g6e.xlarge",)).candidates) is fits


def test_nothing_left_says_what_the_best_plan_needs() -> None:
    found = within({"us-east-1": {P: 192, G: 0}})
    assert found.candidates == ()
    plan = found.unreasonable
    assert plan
    assert plan.quota
    assert (plan.fit.kind.name, plan.nodes, plan.quota.code, plan.quota.needed) == ("p5.48xlarge", 2, P, 384)
    assert plan.text.startswith("it takes 2 x p5.48xlarge (")
    assert plan.text.endswith(
        " USD), which need 384 vCPUs of L-417A185B (Running On-Demand P instances); the quota in us-east-1 is 192"
    )
    assert plan.remedy == "a quota of 384 vCPUs for L-417A185B in us-east-1"
    assert {each.code for each in found.rejections if each.family in ("p5", "g6e")} == {"QUOTA"}
    tables = {"task": "training", "model": {"parameters": "1M", "architecture": "xgboost"}}
    request = replace(asking("us-east-1", **tables), quotas=AccountQuotas(by_region={None: {CPU: 7}}))
    together = [each for each in recommend(request, only=("c7*", "m7*")).rejections if each.code == "QUOTA"]
    assert len(together) == 1
    assert together[0].text.startswith("1 node needs 8 vCPUs of L-1216C47A (Running On-Demand Standard")


# --- files


def test_the_output_of_the_aws_cli_is_a_file_of_quotas(tmp_path: Path) -> None:
    east = kept(tmp_path, aws_list("us-east-1", L_417A185B=192.0, L_0263D0A3=5.0, L_DB2E81BA=None), "east.json")
    gov_text = aws_list("us-gov-west-1", L_417A185B=0.0).replace("arn:aws:", "arn:aws-us-gov:")
    gov = kept(tmp_path, gov_text, "gov.json")
    found = read_quotas([east, gov, east])
    assert found.by_region == {"us-east-1": {P: 192.0}, "us-gov-west-1": {P: 0.0}}
    assert (found.value(P, "us-east-1"), found.value(P, "eu-west-1"), found.value(None, "us-east-1")) == (
        192,
        None,
        None,
    )
    own = kept(tmp_path, f"{P}: 192\n{G_SPOT}: 8.0\n", "own.yaml")
    assert read_quotas([own, gov]).by_region == {None: {P: 192, G_SPOT: 8}, "us-gov-west-1": {P: 0}}


def test_every_quota_of_a_recommendation_can_be_given() -> None:
    names = vcpu_quota_names()
    assert {P, P_SPOT, P_BLOCKS, G, G_SPOT} <= set(names)
    assert names[P] == "Running On-Demand P instances"


WRONG: dict[str, tuple[str, str]] = {
    "text": ("QUOTAS\tTrue", 'error FILE_NOT_A_MAPPING: must be a mapping'),
    "cut off": ('{"Quotas": [', "error YAML_SYNTAX"),
    "nothing": ("", "the file is empty; write the output of `aws service-quotas list-service-quotas --service-code"),
    "no quotas": ('{"Quotas": []}', "Quotas: must have vCPU quotas of EC2 instances, got none; write the output"),
    "another service": (aws_list("us-east-1", "eks", L_1194D53C=100), 'EC2 instances, got those of "eks"; write the'),
    "one quota": ('{"Quota": {"QuotaCode": "L-417A185B"}}', "quotas.Quota: must be a number, got a mapping"),
    "negative": (aws_list("us-east-1", L_417A185B=-3.0), "Quotas[0].Value: must be at least 0, got -3"),
    "not a number": (aws_list("us-east-1", L_417A185B=1.0).replace("1.0", '"many"'), "Value: must be a number, got"),
    "wrong ARN": (aws_list("us-east-1", L_417A185B=1.0).replace("arn:", "urn:"), "QuotaArn: must be the ARN of a"),
    "no ARN": ('{"Quotas": [{"QuotaCode": "L-417A185B", "Value": 1}]}', "required field QuotaArn is missing"),
    "unknown code": ("L-417A185C: 5", 'vCPU quota of EC2 instances, got "L-417A185C"; did you mean L-417A185B?'),
    "code of a name": ("p5: 5", "list-service-quotas --service-code ec2 --output json` lists them"),
    "negative mapping": ("L-417A185B: -5", "quotas.L-417A185B: must be at least 0, got -5"),
    "infinite": ("L-417A185B: .inf", "quotas.L-417A185B: must be a finite number"),
}  # fmt: skip


@in_one_test("name", WRONG)
def test_a_wrong_file_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    text, message = WRONG[name]
    with pytest.raises(StrategyError) as caught:
        read_quotas([kept(tmp_path, text)])
    said = str(caught.value)
    assert message in said
    assert "quotas.json" in said
    if text:
        assert all(finding.position and finding.position.line for finding in caught.value.findings)


def test_two_values_of_one_quota_are_refused(tmp_path: Path) -> None:
    files = [kept(tmp_path, aws_list("us-east-1", L_417A185B=value), f"{value}.json") for value in (96.0, 192.0)]
    with pytest.raises(StrategyError, match="different values for L-417A185B in us-east-1; remove one of them"):
        read_quotas(files)


# --- the command


def test_what_the_guide_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs" / "guides" / "recommend.md").read_text(encoding="utf-8")
    section = guide.partition("\n## Stay within your quotas\n")[2].partition("\n## ")[0]
    kept(tmp_path, aws_list("us-west-2", L_417A185B=96.0, L_DB2E81BA=16.0), "us-west-2.json")
    blocks = re.findall(r"(?s)```\w+\n(.+?)```", section)
    commands = [
        line.split() for line in re.findall(r"(?m)^\$ eks-hardware recommend (.+)", section.replace("\\\n", ""))
    ]
    shown = [block for block in blocks if "\n...\n" in block]
    assert len(commands) == len(shown) == 2
    for command, text in zip(commands, shown, strict=True):
        assert missing_lines(text.partition("--quotas us-west-2.json\n")[2] or text, run(*command).out) == []
    (own,) = (block for block in blocks if block.startswith("L-"))
    assert read_quotas([kept(tmp_path, own)]).by_region == {None: {P: 192, G: 96}}


def test_the_command_and_the_workload_file_read_quotas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path, aws_list("us-east-1", L_DB2E81BA=8.0), "east.json")
    workload = "{version: 1, region: us-east-1, task: inference, model: {name: gemma-2-9b}, only: [g6e, p5], quotas: X}"
    for number, said in enumerate(("east.json", "[east.json]", f"{{{G}: 8}}")):
        kept(tmp_path, workload.replace("X", said), f"{number}.yaml")
    kept(tmp_path, workload.replace("X", "none.json"), "none.yaml")
    monkeypatch.chdir(tmp_path.parent)
    folder = tmp_path.name
    ways: list[tuple[str, ...]] = [("--from", f"{folder}/{number}.yaml") for number in range(3)]
    ways += [("--from", f"{folder}/none.yaml", "--quotas", f"{folder}/east.json")]
    ways += [("--from", f"{folder}/2.yaml", "--context", "4096")]
    for options in ways:
        done = run(*options)
        assert "needs 4 of 8 vCPUs\n         in us-east-1" in done.out, (options, done)
    found = json.loads(run(*ways[0], "--json").out)
    assert [(each["family"], each["quota"]["code"], each["quota"]["account"]) for each in found["candidates"]] == [
        ("g6e", G, 8.0),
        ("p5", P, None),
    ]
    assert found["candidates"][0]["quota"]["needed"] == 4
    code, _, said = run("--from", f"{folder}/none.yaml")
    assert (code, "none.json: error FILE_UNREADABLE" in said) == (2, True)
    code, _, said = run("--from", f"{folder}/0.yaml", "--context", "1k", "--quotas", kept(tmp_path, "L-1: 1"))
    assert (code, "quotas.json:1:6: error FIELD_VALUE quotas.L-1: must be the code" in said) == (1, True)


def test_the_command_says_how_to_request_the_quota(tmp_path: Path) -> None:
    file = kept(tmp_path, f"{{{G}: 0, {P}: 0}}")
    options = ("--region", "us-east-1", "--quotas", file)
    workload = kept(tmp_path, "{version: 1, task: inference, model: {name: llama-3.1-8b}, only: [g6e]}", "w.yaml")
    code, out, _ = run("--from", workload, *options)
    assert code == 1
    assert out.endswith(
        "Nothing reasonable: it takes 1 x g6e.xlarge (1.86 USD per hour), which needs 4\n"
        "vCPUs of L-DB2E81BA (Running On-Demand G and VT instances); the quota in\n"
        "us-east-1 is 0.\n"
        "This command requests the quota:\n"
        "  aws service-quotas request-service-quota-increase --service-code ec2 \\\n"
        "    --quota-code L-DB2E81BA --desired-value 4 --region us-east-1\n"
        "--explain shows the quotas of other families."
    )
    explained = run("--from", workload, *options, "--explain").out
    assert "Not chosen\n  g6e  QUOTA: g6e.xlarge: 1 node needs 4 vCPUs of L-DB2E81BA" in explained
    plan = json.loads(run("--from", workload, *options, "--json").out)["unreasonable"]
    assert (plan["instance_type"], plan["nodes"], plan["hours"]) == ("g6e.xlarge", 1, None)
    assert plan["remedy"] == "a quota of 4 vCPUs for L-DB2E81BA in us-east-1"
