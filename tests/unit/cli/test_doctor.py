"""``eks-hardware doctor``: exit codes, text of 80 columns, JSON."""

from __future__ import annotations

import json
import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.doctor.aws import Aws
from helpers import cli
from helpers.cases import in_one_test
from helpers.doctor import ACCOUNT, CALLER, RefusedError, answering, no_aws_settings
from helpers.paths import ROOT
from helpers.strategies import group, write_document

run = partial(cli.run, "doctor")

DENIED = RefusedError("AccessDenied")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_document(Path("demo.yaml"), group("p4d.24xlarge", name="a100"))


def connects_to(monkeypatch: pytest.MonkeyPatch, aws: Aws) -> list[dict[str, Any]]:
    """Check that every connection is to this account; return the requested service."""
    asked: list[dict[str, Any]] = []

    def connect(region: str, **options: Any) -> Aws:
        asked.append({"region": region, **options})
        return aws

    monkeypatch.setattr("eks_hardware.doctor.run.connect", connect)
    return asked


def quota_answers(value: float) -> dict[str, Any]:
    nothing: dict[str, Any] = {"RequestedQuotas": []}
    return {
        "servicequotas:GetServiceQuota": {"Quota": {"Value": value}},
        "servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota": nothing,
    }


def test_only_warnings(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connects_to(monkeypatch, answering({}, otherwise=DENIED))
    code, out, err = run(file)
    assert (code, err) == (0, "")
    assert f"demo: account {ACCOUNT}, us-west-2" in out
    assert CALLER in out
    assert "0 errors, " in out.splitlines()[-1]


def test_an_accepted_warning_is_counted_and_not_shown(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connects_to(monkeypatch, answering({}, otherwise=DENIED))
    findings = json.loads(run(file, "--format", "json")[1])["findings"]
    accepted = next(each for each in findings if each["path"] != "aws")
    entry = {"code": accepted["code"], "path": accepted["path"], "reason": "another team checks it"}
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{text}\nignore: [{json.dumps(entry)}]\n", encoding="utf-8")
    code, out, err = run(file)
    assert (code, err) == (0, "")
    assert f"  {accepted['path']}: " not in out
    assert ", 1 ignored in " in out.splitlines()[-1]
    report = json.loads(run(file, "--format", "json")[1])
    assert report["warnings"] == len(findings) - 1
    assert [each["path"] for each in report["findings"] if each["ignored"] == entry["reason"]] == [accepted["path"]]


def test_every_warning_can_be_accepted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those about several fields, and about the account."""
    connects_to(monkeypatch, answering({}, otherwise=DENIED))
    findings = json.loads(run(file, "--format", "json")[1])["findings"]
    wanted = sorted({(each["code"], each["path"]) for each in findings})
    assert {path for _, path in wanted} > {"aws"}
    entries = [{"code": code, "path": path, "reason": "another team checks it"} for code, path in wanted]
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{text}\nignore: {json.dumps(entries)}\n", encoding="utf-8")
    report = json.loads(run(file, "--format", "json")[1])
    assert [each["path"] for each in report["findings"] if not each["ignored"]] == []


def test_errors_with_place_and_command(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connects_to(monkeypatch, answering(quota_answers(0), otherwise=DENIED))
    code, out, _ = run(file)
    assert code == 1
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    first = next(index for index, line in enumerate(lines) if line.startswith("  node_groups[a100].scaling.max: "))
    assert re.fullmatch(r"demo\.yaml:\d+:\d+: error QUOTA_TOO_LOW", lines[first - 1])
    finding = lines[first : lines.index("", first)]
    command = "\n".join(line.removeprefix("    ") for line in finding if line.startswith("    "))
    # The output can be pasted: a shell reads one command.
    assert " ".join(shlex.split(command.replace("\\\n", " "))) == (
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-417A185B "
        "--desired-value 960 --region us-west-2"
    )


def test_json(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connects_to(monkeypatch, answering(quota_answers(0), otherwise=DENIED))
    code, out, err = run(file, "--format", "json")
    assert (code, err) == (1, "")
    report = json.loads(out)
    assert (report["version"], report["account"], report["caller"]) == (1, ACCOUNT, CALLER)
    assert report["errors"] + report["warnings"] == len(report["findings"])
    assert [check["name"] for check in report["checks"]][:2] == ["account", "quotas"]
    (finding,) = (each for each in report["findings"] if "L-417A185B" in each["message"])
    assert finding["code"] == "QUOTA_TOO_LOW"
    assert finding["severity"] == "error"
    assert finding["check"] == "quotas"
    assert finding["file"] == "demo.yaml"
    assert finding["line"] > 1
    assert finding["command"].startswith("aws service-quotas ")


def test_profile_and_overlay(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overlays = Path("overlays")
    overlays.mkdir()
    (overlays / "mine.yaml").write_text("region: us-east-2\n", encoding="utf-8")
    asked = connects_to(monkeypatch, answering({}, otherwise=DENIED))
    assert run(file, "--overlay", "mine", "--profile", "production")[0] == 0
    assert asked == [{"region": "us-east-2", "profile": "production", "assume_role": None}]


def test_strategy_with_errors_asks_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = connects_to(monkeypatch, answering({}))
    file.write_text(file.read_text(encoding="utf-8").replace("p4d.24xlarge", "p4d.25xlarge"), encoding="utf-8")
    code, out, err = run(file)
    assert code == 1
    assert out == ""
    assert "INSTANCE_TYPE_UNKNOWN" in err
    assert asked == []


def test_file_that_is_not_there() -> None:
    code, _, err = run("no-such-strategy")
    assert code == 2
    assert '"no-such-strategy" is not a file or the name of a strategy (strategies: cpu-inference, ' in err


def test_folder_with_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EKS_HARDWARE_OVERLAY", raising=False)
    code, _, err = run(ROOT / "config" / "strategies")
    assert code == 2
    assert "name one" in err


def test_shipped_strategy_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = connects_to(monkeypatch, answering({}, otherwise=DENIED))
    code, out, _ = run("cpu-inference")
    assert code == 0
    assert out.startswith("cpu-inference: account ")
    assert asked[0]["region"] == "eu-west-1"


@in_one_test(
    ("environment", "word"),
    [
        ({}, "no AWS credentials"),
        ({"AWS_PROFILE": "nobody"}, "nobody"),
        (
            {
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
                "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
            },
            "no response from AWS",
        ),
    ],
)
def test_one_message_where_aws_cannot_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], word: str
) -> None:
    no_aws_settings(monkeypatch, tmp_path)
    monkeypatch.setattr("eks_hardware.doctor.aws._ATTEMPTS", 1)  # botocore waits between attempts
    code, out, err = run("development", NO_PROXY="127.0.0.1", no_proxy="127.0.0.1", COLUMNS="300", **environment)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert word in err
