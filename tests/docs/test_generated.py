"""The committed reference pages match the current schema and command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from docs.hooks.reference import cli_page, commands, field_anchor, models_page, strategy_page
from eks_hardware.models import Strategy
from helpers import cli
from helpers.paths import ROOT

PAGES: dict[str, Callable[[], str]] = {
    "strategy": cache(strategy_page),
    "cli": cache(cli_page),
    "models": cache(models_page),
}
SCHEMA = Strategy.model_json_schema()
COMMANDS = commands()


@pytest.mark.parametrize("name", PAGES)
def test_page_is_up_to_date(name: str, request: pytest.FixtureRequest) -> None:
    file = ROOT / "docs" / "reference" / f"{name}.md"
    if request.config.getoption("--update-golden"):
        file.write_text(PAGES[name](), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == PAGES[name]()


@cache
def _rows() -> dict[str, tuple[str, str]]:
    """Return name and text of every field of the page, by anchor."""
    found = re.findall(r'^\| <a id="field-(.+)"></a>`(.+?)` \| (.*) \|$', PAGES["strategy"](), re.MULTILINE)
    rows = {anchor: (name, text) for anchor, name, text in found}
    assert len(rows) == len(found), "duplicate anchor"
    return rows


@pytest.mark.parametrize("definition", ["", *SCHEMA["$defs"]])
def test_every_field_of_the_schema_has_a_row(definition: str) -> None:
    rows = _rows()
    fields: dict[str, Any] = (SCHEMA["$defs"][definition] if definition else SCHEMA)["properties"]
    sections = {anchor.rpartition(".")[0] for anchor in rows}
    of_the_definition = [
        section
        for section in sections
        if {name for anchor, (name, _) in rows.items() if anchor.rpartition(".")[0] == section} == set(fields)
    ]
    assert of_the_definition
    for section in of_the_definition:
        for name in fields:
            _, text = rows[field_anchor(section, name).removeprefix("field-")]
            meaning, _, kind = text.partition("<br>")
            assert meaning, f"{section}.{name} has no description"
            assert kind, f"{section}.{name} has no type"


def test_a_field_says_type_bounds_and_default() -> None:
    rows = dict(re.findall(r'^\| <a id="(field-.+?)"></a>.*<br>(.*) \|$', PAGES["strategy"](), re.MULTILINE))
    assert rows["field-version"] == "`1` · **required**"
    assert rows["field-network.cidr"].endswith("default `10.0.0.0/16`")
    assert rows["field-node_groups.capacity"] == (
        "one of `on-demand`, `spot`, `reserved`, `capacity-block` · default `on-demand`"
    )
    assert rows["field-node_groups.reservation"] == "[map](#node_groupsreservation)"
    assert rows["field-node_groups.efa"] == "`true`, `false` · default `false`"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_what_the_page_has(name: str) -> None:
    section = PAGES["cli"]().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    on_the_page = set(re.findall(r"(?m)`(--[a-z-]+)(?=[^|]*\|)", section))
    options = {option for each in COMMANDS[name].params for option in (*each.opts, *each.secondary_opts)}
    assert {each for each in options if each.startswith("--")} <= on_the_page
    done = cli.run(*name.split(), "--help", COLUMNS="400")
    assert done.code == 0
    listed = set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", done.out))
    assert listed - {"--help"} <= on_the_page


def test_every_command_of_the_help_is_on_the_page() -> None:
    listed = re.findall(r"(?m)^  ([a-z][a-z-]*) ", cli.run("--help").out.partition("Commands:")[2])
    assert listed == [name for name in COMMANDS if " " not in name]
