"""``eks-hardware prices`` and ``eks-hardware prices refresh``."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import build
from helpers import cli


def test_lists_every_source_oldest_first() -> None:
    said = cli.run("prices", COLUMNS="300").out
    days = [int(each) for each in re.findall(r" \d{4}(?:-\d{2}){1,2} +(\d+) ", said)]
    assert days == sorted(days, reverse=True)
    for file in (facts.on_demand_prices, facts.spot_prices, facts.capacity_block_prices, facts.commitment_prices):
        assert all(each["source"][:60] in said for each in file()["sources"].values())


def test_is_a_table_of_80_columns() -> None:
    lines = cli.run("prices", COLUMNS="80").out.splitlines()
    assert lines[0].split() == ["Prices", "Date", "Days", "ago", "Source"]
    assert max(map(len, lines)) <= 80
    assert any(re.match(r"KMS key GovCloud +\d{4}-\d\d-\d\d +\d+  \S", line) for line in lines)
    wide = cli.run("prices", COLUMNS="300").out.splitlines()
    assert len(wide) == len(set(wide))


def test_json_has_the_sources_of_the_table() -> None:
    document = json.loads(cli.run("prices", "--json").out)
    assert document == json.loads(cli.run("prices", "--format", "json").out)
    assert document["version"] == 1
    rows = [[each["prices"], each["as_of"], str(each["days_ago"]), each["source"]] for each in document["sources"]]
    printed = " ".join(cli.run("prices", COLUMNS="1000").out.split())
    assert printed == " ".join(["Prices", "Date", "Days", "ago", "Source", *(cell for row in rows for cell in row)])


class _Session:
    """A boto3 session in one region, whose account may not read the rates of Savings Plans."""

    region_name = "us-west-2"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def client(self, service: str, region_name: str) -> _Session:
        self.asked.append(f"{service} {region_name}")
        return self

    def describe_savings_plans_offering_rates(self, **_: object) -> None:
        answer = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
        raise import_module("botocore.exceptions").ClientError(answer, "DescribeSavingsPlansOfferingRates")

    def get_paginator(self, name: str) -> _Session:
        self.asked.append(name)
        return self

    def paginate(self, **_: object) -> list[dict[str, Any]]:
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": "50"}}
        product = {
            "product": {"attributes": {"instanceType": "p5.48xlarge"}},
            "terms": {"OnDemand": {"t": {"priceDimensions": {"d": dimension}}}},
        }
        return [{"PriceList": [json.dumps(product)], "SpotPriceHistory": []}]


def test_refresh_asks_only_for_prices_of_the_named_regions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = _Session()
    monkeypatch.setattr(import_module("boto3"), "Session", lambda: session)
    asked = ("prices", "refresh", "--region", "us-west-2", "--output", str(tmp_path))
    code, out, err = cli.run(*asked)
    assert (code, out) == (0, f"Wrote prices/on_demand.json to {tmp_path}\n")
    assert "warning: prices of Savings Plans were not read: An error occurred (AccessDenied" in err
    table = json.loads((tmp_path / "prices" / "on_demand.json").read_text(encoding="utf-8"))
    (key,) = [each for each in table["sources"] if each.startswith("aws-")]
    assert table["types"]["p5.48xlarge"][key] == {"us-west-2": 50.0}
    assert {each.split()[0] for each in session.asked} == {
        "pricing",
        "get_products",
        "savingsplans",
        "ec2",
        "describe_spot_price_history",
    }
    assert cli.run(*asked, "--check").out == "The catalogue is up to date.\n"


def test_refresh_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise import_module("botocore.exceptions").NoCredentialsError

    monkeypatch.setattr(build, "prices_from_aws", refused)
    found = cli.run("prices", "refresh", "--region", "us-west-2")
    assert (found.code, found.out) == (2, "")
    assert "the request to AWS failed: Unable to locate credentials" in found.err
