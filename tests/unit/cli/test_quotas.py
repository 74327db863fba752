"""The table of quotas: it fits its width, with every number from the JSON."""

from __future__ import annotations

import json

from eks_hardware.cli.output.quotas import quota_table, quotas_as_json
from helpers.cases import in_one_test
from helpers.strategies import SHIPPED, group, pools, shipped, strategy


@in_one_test("name", SHIPPED)
def test_fits_and_agrees(name: str) -> None:
    given = shipped(name)
    lines = quota_table(given, 80).splitlines()
    assert max(map(len, lines)) <= 80
    rows = json.loads(json.dumps(quotas_as_json(given)))
    assert (rows["strategy"], rows["region"]) == (name, given.region)
    for row in rows["quotas"]:
        (line,) = (line for line in lines if line.startswith(row["quota_code"]))
        shown = f"{row['needed']:,.0f}" if row["needed"] == int(row["needed"]) else f"{row['needed']:,.1f}"
        assert shown in line.split()
        assert line.endswith("*") == (row["default"] is not None and row["needed"] + row["surge"] > row["default"])


def test_long_names_and_unknown_defaults() -> None:
    name = "a-name-that-is-as-long-as-a-name-of-a-node-group-may-be-at-most"
    fast = group("m6i.xlarge", name=name, disk={"size_gib": 512, "type": "io2", "iops": 8000})
    block = {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "usw2-az1"}
    blackwell = group("p6-b200.48xlarge", name="b200", capacity="capacity-block", reservation=block)
    pool = {"name": "pool", "instance_families": ["m7i"], "limits": {"memory": "4Ti"}}
    given = strategy(fast, blackwell, **{"name": "c" * 100, **pools(pool)})
    table = quota_table(given, 80)
    assert [line for line in table.splitlines() if len(line) > 80] == [f"{'c' * 100},"], "names are whole"
    assert f"  {name}: " in table
    header = f"{'maximum':>9}{'+update':>9}{'default':>9}\n"
    assert [header in each for each in (table, quota_table(given, 120))] == [False, True]
    assert [row["quota_code"] for row in quotas_as_json(given)["quotas"]].count(None) == 1
    assert "?" in table
