"""The price tables that are built from a copy of AWS's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.catalogue import build_ec2_shop
from eks_hardware.data import FOLDER


def offer(type_name: str, on_demand: float, price: float) -> dict[str, str]:
    return {"Instance Type": type_name, "OnDemand:PricePerUnit": f"{on_demand:.10f}", "price": f"{price:.10f}"}


def ebs(**more: float) -> dict[str, Any]:
    names = {name: name for kind in build_ec2_shop._VOLUMES.values() for name in kind.values()}
    prices = {name: index / 8 for index, name in enumerate(names, start=1)} | more
    return {name: {"price": f"{price:.10f}"} for name, price in prices.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a checkout with one region, three types in it, and one that is not used."""
    (tmp_path / "ec2").mkdir()
    (tmp_path / "ebs").mkdir()

    def write(name: str, content: Any) -> None:
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")

    write("ec2/us-east-1-ondemand.json", {"manifest": {"hawkFilePublicationDate": "2027-01-02T03:04:05Z"}})
    for term, factor in (("1y", 0.7), ("3y", 0.5)):
        offers = [offer(name, 1.0, factor) for name in ("g5.xlarge", "m7i.large", "t3.medium", "zz9.plural")]
        write(f"ec2/us-east-1-reservedinstance-{term}.json", {"regions": {"US East": dict(enumerate(offers))}})
    offers = [offer("g5.xlarge", 1.2, 0.8), offer("p5.4xlarge", 6.0, 4.0)]
    write("ec2/us-west-1-reservedinstance-1y.json", {"regions": {"US West": dict(enumerate(offers))}})
    regions = {"US East (N. Virginia)": ebs(), "US East (Boston)": ebs(), "EU (Ireland)": {}}
    write("ebs/ebs.json", {"manifest": {"hawkFilePublicationDate": "2026-07-18T00:00:00Z"}, "regions": regions})
    return tmp_path


def test_tables(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    build_ec2_shop.main(folder, out=tmp_path)
    reserved = json.loads((tmp_path / "prices" / "commitments.json").read_text(encoding="utf-8"))
    assert reserved["sources"]["ec2.shop-2027-01-02"]["as_of"] == "2027-01-02"
    names = ("g5.xlarge", "m7i.large", "p5.4xlarge")
    assert {name: reserved["types"][name]["ec2.shop-2027-01-02"] for name in names} == {
        "g5.xlarge": {
            "on_demand": {"us-east-1": 1.0},
            "reserved-1y": {"us-east-1": 0.7, "us-west-1": 0.8},
            "reserved-3y": {"us-east-1": 0.5},
        },
        "m7i.large": {
            "on_demand": {"us-east-1": 1.0},
            "reserved-1y": {"us-east-1": 0.7},
            "reserved-3y": {"us-east-1": 0.5},
        },
        "p5.4xlarge": {"on_demand": {"us-west-1": 6.0}, "reserved-1y": {"us-west-1": 4.0}},
    }
    volumes = json.loads((tmp_path / "prices" / "volumes.json").read_text(encoding="utf-8"))
    assert volumes["as_of"] == "2026-07-18"
    assert set(volumes["regions"]) == {"us-east-1"}
    assert volumes["regions"]["us-east-1"]["gp3"] == {"gib_month": 0.125, "iops_month": 0.25, "gibps_month": 0.375}


def test_a_row_is_a_line() -> None:
    for name in ("commitments", "volumes", "spot"):
        text = (FOLDER / "prices" / f"{name}.json").read_text(encoding="utf-8")
        rows = json.loads(text).get("types") or json.loads(text)["regions"]
        assert sum(line.startswith('  "') for line in text.splitlines()) == len(rows)
