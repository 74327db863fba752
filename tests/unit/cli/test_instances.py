"""``eks-hardware instances`` and ``eks-hardware instances refresh``."""

from __future__ import annotations

import json
import os
from functools import cache, partial
from pathlib import Path

import pytest

from eks_hardware.catalogue import build, build_prices
from eks_hardware.data import FOLDER
from helpers import cli
from helpers.cases import in_one_test

run = partial(cli.run, "instances")

read_moto_once = cache(build.from_moto)


def test_table() -> None:
    code, out, err = run("--accelerator", "H100", "--region", "us-west-2")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["Type", "Accelerator", "vCPU", "GiB", "EFA", "Zones", "$/h"]
    assert lines[2] == "p5.48xlarge  8 x H100      192  2048   32  az1 az2 az3 az4  55.04"


@in_one_test(
    "filters",
    [
        ["--hardware", "other", "--region", "us-west-2"],
        ["--family", "p6e-gb200"],
        ["--accelerator", "rtx-pro-server-6000", "--region", "us-west-2"],
    ],
)
def test_table_fits_80_columns(filters: list[str]) -> None:
    _, out, _ = run(*filters)
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out


def test_withdrawn_types_are_marked() -> None:
    code, out, _ = run("--family", "p3")
    assert code == 0
    assert "p3.2xlarge †" in out
    assert "† withdrawn" in out


def test_json_of_a_region() -> None:
    code, out, _ = run("--family", "p5", "--efa", "--region", "us-west-2", "--format", "json")
    assert code == 0
    rows = json.loads(out)["instances"]
    assert [row["name"] for row in rows] == ["p5.48xlarge", "p5.4xlarge"]
    big = rows[0]
    assert big["efa_interfaces"][:3] == [[0, 0, "interface"], [0, 1, "efa-only"], [1, 0, "efa-only"]]
    assert big["ami_types"][0] == "AL2023_x86_64_NVIDIA"
    assert big["architecture"] == "x86_64"
    assert big["accelerator"]["label_name"] == "h100"
    assert big["zone_ids"] == ["usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4"]
    assert big["price"]["usd_per_hour"] == 55.04
    assert big["hardware"] == "nvidia-gpu"


def test_json_of_all_regions() -> None:
    _, out, _ = run("--family", "trn2u", "--format", "json")
    (row,) = json.loads(out)["instances"]
    assert list(row["zone_ids"]) == ["ap-south-2"]


@in_one_test(
    ("option", "value", "hint"),
    [
        ("--family", "g6z", "did you mean g6"),
        ("--region", "us-wst-2", "did you mean us-west-2"),
        ("--accelerator", "h10", "did you mean h100"),
        ("--hardware", "nvidia", "did you mean nvidia-gpu"),
        ("--hardware", "zzz", "known: nvidia-gpu, trainium"),
    ],
)
def test_unknown_filter_values(option: str, value: str, hint: str) -> None:
    code, out, err = run(option, value)
    assert (code, out) == (2, "")
    assert hint in err


def test_nothing_matches() -> None:
    assert run("--family", "inf2", "--efa") == (0, "No instance type matches all filters.\n", "")
    assert run("--family", "inf2", "--efa", "--format", "json") == (0, '{\n  "version": 1,\n  "instances": []\n}\n', "")


def test_a_family_that_ec2_does_not_list_is_named_as_such() -> None:
    for family in ("trn3", "p6e-gb300", "u7inh-32tb"):
        code, _, err = run("--family", family)
        assert (code, "did you mean" in err) == (2, False)
        assert "ask AWS" in err


def test_refresh_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "from_moto", read_moto_once)
    assert run("refresh", "--check") == (0, "The catalogue is up to date.\n", "")


def test_refresh_writes_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "from_moto", read_moto_once)
    code, _, err = run("refresh", "--check", "--output", str(tmp_path))
    assert code == 1
    assert "out of date: catalogue/instances.json, catalogue/offerings.json" in err
    assert list(tmp_path.iterdir()) == []
    assert run("refresh", "--output", str(tmp_path))[0] == 0
    for name in ("catalogue/instances.json", "catalogue/offerings.json"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_refresh_from_aws_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    code, out, err = run("refresh", "--from", "aws", "--check")
    assert (code, out) == (2, "")
    assert "the request to AWS failed" in err


@in_one_test(
    ("row", "says"),
    [
        (
            "p5e.48xlarge,us-west-2,nan,",
            "the price of p5e.48xlarge in us-west-2 must be a number of at least 0, got nan",
        ),
        (
            "p5e.48xlarge,us-west-2,inf,",
            "the price of p5e.48xlarge in us-west-2 must be a number of at least 0, got inf",
        ),
        ("p5e.48xlarge,us-west-2,,-5", "the price of p5e.48xlarge in us-west-2 must be a number of at least 0, got -5"),
        ("p5e.48xlarge,us-west-2,abc,", "could not convert string to float: 'abc'"),
        ("p5e.48xlarge,us-west-2,0,", "must have prices of instance types in the catalogue, got none"),
    ],
)
def test_a_file_with_a_wrong_price_is_refused(row: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(f"InstanceType,Region,Price,SpotPrice\n{row}\n", encoding="utf-8")
    code, _, err = run("refresh", "--prices-from", str(file), "--output", str(tmp_path / "out"))
    assert code == 2
    assert says in " ".join(err.split())
    assert not (tmp_path / "out" / "prices").exists()


def test_a_figure_of_0_is_no_price(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    rows = "p5e.48xlarge,us-west-2,0,20.5\np5e.48xlarge,us-east-2,63.3,0\n"
    file.write_text(f"InstanceType,Region,Price,SpotPrice\n{rows}", encoding="utf-8")
    found = build_prices.read(file)
    assert found.on_demand == {"us-west-2": {}, "us-east-2": {"p5e.48xlarge": 63.3}}
    assert found.spot == {"us-west-2": {"p5e.48xlarge": [20.5]}, "us-east-2": {}}


def test_a_file_of_another_format_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text("{}", encoding="utf-8")
    assert "'PriceList or SpotPriceHistory' is missing" in " ".join(
        run("refresh", "--prices-from", str(file)).err.split()
    )


def test_refresh_imports_prices_from_files(tmp_path: Path) -> None:
    given, folder = tmp_path / "vms.csv", tmp_path / "catalogue"
    given.write_text("InstanceType,Region,Price,SpotPrice\ng7e.2xlarge,eu-central-1,4.1,1.7\n", encoding="utf-8")
    asked = ("refresh", "--prices-from", str(given), "--as-of", "2026-11-25", "--output", str(folder))
    code, out, _ = run(*asked)
    assert (code, out) == (0, f"Wrote prices/on_demand.json, prices/spot.json to {folder}\n")
    table = json.loads((folder / "prices" / "on_demand.json").read_text(encoding="utf-8"))
    assert table["sources"]["vms.csv-2026-11-25"] == {"as_of": "2026-11-25", "source": "vms.csv", "note": None}
    assert table["types"]["g7e.2xlarge"]["vms.csv-2026-11-25"] == {"eu-central-1": 4.1}
    assert run(*asked, "--check").out == "The catalogue is up to date.\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--prices-from", "nowhere.csv"), "nowhere.csv"),
        (("--prices-from", "x", "--as-of", "soon"), "--as-of: must be a date"),
    ],
)
def test_refresh_refuses_what_it_cannot_import(arguments: tuple[str, ...], says: str) -> None:
    code, out, err = run("refresh", *arguments)
    assert (code, out) == (2, "")
    assert says in err
