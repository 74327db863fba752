"""The report page in a real browser: it makes no requests and is readable in light mode, dark mode and on a phone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware.html_report import Report, report_of, report_page
from eks_hardware.models import Strategy
from eks_hardware.rules import check
from eks_hardware.validation import load_strategy
from helpers.browser import visit
from helpers.paths import ROOT, SHIPPED, SPECIAL
from helpers.strategies import TODAY, document, group, pool

WIDTHS = (1280, 768, 390)
# On either side of the width at which rows become blocks.
SCREEN_READER = (1280, 390)
IMAGES = ROOT / "docs" / "images"
_SCRIPT = Path(__file__).with_name("look.mjs")
_MARKUP = (
    """"'></p><script>window.scripted = 1</script><img src="https://example.com/x" onerror="window.scripted = 1">"""
)


def _hostile() -> Strategy:
    """Put markup into every text field of a strategy."""
    return Strategy.model_validate(
        document(
            group("g6.xlarge", name="gpu", user_data={"containerd": {"config": _MARKUP}}),
            name="hostile",
            description=f"{_MARKUP} & {_MARKUP}",
            cluster={"creator_is_admin": True, "endpoint": {"public_cidrs": ["0.0.0.0/0"]}},
            ignore=[{"code": "ENDPOINT_OPEN", "path": "cluster", "reason": _MARKUP}],
        )
    )


def _crowded() -> Strategy:
    """Return a strategy with the maximum of zones, twenty groups, ten pools, and names of maximum length."""
    zones = [f"use1-az{number}" for number in range(1, 7)]
    types = ["p5.48xlarge", "g6.xlarge", "m7i.xlarge", "c7i.4xlarge"]
    groups = [
        group(
            types[index % len(types)],
            name=f"group-{index:02}-".ljust(63, "mw"[index % 2]),
            zones=zones[index % 4 : index % 4 + 1 + index % 3],
            taints=[{"key": f"example.com/{'k' * 50}", "value": "v" * 63, "effect": "NoSchedule"}],
        )
        for index in range(19)
    ]
    pools = [pool(f"pool-{index}-".ljust(63, "w"), zones=zones[index : index + 1]) for index in range(4)]
    return Strategy.model_validate(
        document(
            *groups,
            name="crowded",
            region="us-east-1",
            network={"zones": zones},
            karpenter={"node_pools": pools},
        )
    )


def _reports() -> dict[str, Report]:
    strategies = {
        "mixed-hardware": load_strategy(SHIPPED / "mixed-hardware.yaml").strategy,
        "storage": load_strategy(SPECIAL / "storage.yaml").strategy,
        "hostile": _hostile(),
        "crowded": _crowded(),
    }
    return {
        name: report_of(strategy, check(strategy, today=TODAY), version="1.2.3", today=TODAY)
        for name, strategy in strategies.items()
    }


REPORTS = _reports()


class Look(NamedTuple):
    """One page at one width in one color scheme."""

    name: str
    width: int
    scheme: str

    def __str__(self) -> str:
        return "-".join(map(str, self))


LOOKS = [Look(name, width, scheme) for name in REPORTS for width in WIDTHS for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[Look, dict[str, Any]]:
    """Return the browser's results for every page; ``--update-golden`` also takes the screenshots of the docs."""
    folder = tmp_path_factory.mktemp("pages")
    files = {name: folder / f"{name}.html" for name in REPORTS}
    for name, report in REPORTS.items():
        files[name].write_text(report_page(report), encoding="utf-8")
    shots = [
        {
            "file": str(files["mixed-hardware"]),
            "out": str(IMAGES / f"report-{part}{scheme}.png"),
            "width": 1280,
            "height": height,
            "scheme": scheme,
        }
        for scheme in ("light", "dark")
        for part, height in (("", 1840), ("top-", 875))
    ]
    wanted = {
        "widths": WIDTHS,
        "screenReader": SCREEN_READER,
        "pages": [{"name": name, "file": str(file)} for name, file in files.items()],
        "shots": shots if request.config.getoption("--update-golden") else [],
    }
    looks = visit(_SCRIPT, **wanted)
    return {Look(each["name"], each["width"], each["scheme"]): each for each in looks}


@pytest.fixture(params=LOOKS, ids=str)
def look(request: pytest.FixtureRequest, seen: dict[Look, dict[str, Any]]) -> dict[str, Any]:
    return seen[request.param]


def test_nothing_is_fetched_and_nothing_runs(look: dict[str, Any]) -> None:
    assert look["requests"] == []
    assert look["console"] == []
    assert look["dialogs"] == []
    assert look["scripted"] is False


def test_the_page_is_no_wider_than_the_screen(look: dict[str, Any]) -> None:
    assert look["wider"] == []
    assert look["scroll"] <= look["width"]


def test_every_text_and_sign_stands_out(look: dict[str, Any]) -> None:
    assert look["faint"]["counted"] > 100
    assert look["faint"]["low"] == []


def test_the_drawing_names_every_group_and_pool(look: dict[str, Any]) -> None:
    report = REPORTS[look["name"]]
    names = {each.name for each in (*report.resolved.node_groups, *report.resolved.node_pools)}
    assert names <= set(look["drawn"]["names"])
    text = re.sub(r"\s", "", look["text"])
    assert [name for name in names if name not in text] == []


def test_zones_are_columns_where_there_is_room(look: dict[str, Any]) -> None:
    zones = len(REPORTS[look["name"]].resolved.network.zone_ids)
    room = look["width"] == 1280 or (look["width"] == 768 and zones == 3)
    assert look["drawn"]["columns"] == (zones if room else 0)


def test_nothing_in_the_drawing_lies_over_anything_else(look: dict[str, Any]) -> None:
    assert look["drawn"]["faults"] == []


def test_a_wider_font_fits_as_well(look: dict[str, Any]) -> None:
    assert look["wide"]["faults"] == []


def test_folds_open_and_close_with_the_keyboard(look: dict[str, Any]) -> None:
    keyboard = look["keyboard"]
    assert keyboard["reached"]["outline"] > 0
    assert (keyboard["reached"]["open"], keyboard["opened"], keyboard["closed"]) == (False, True, True)


@pytest.mark.parametrize("width", SCREEN_READER)
@pytest.mark.parametrize("name", REPORTS)
def test_a_screen_reader_finds_tables_headings_and_the_drawing(
    name: str, width: int, seen: dict[Look, dict[str, Any]]
) -> None:
    """Also on a phone, where rows are blocks."""
    roles = seen[Look(name, width, "light")]["roles"]
    assert roles["table"] > 2
    assert roles["columnheader"] > roles["table"]
    assert roles["rowheader"] > 10
    assert roles["heading"] >= 5
    assert roles["image"] + roles.get("img", 0) >= 1


def test_hostile_text_is_shown_as_it_is(seen: dict[Look, dict[str, Any]]) -> None:
    for look, each in seen.items():
        if look.name == "hostile":
            assert each["title"].startswith("hostile")
            assert each["text"].count(_MARKUP) >= 3


def test_the_screenshots_are_there_and_small() -> None:
    for scheme in ("light", "dark"):
        image = IMAGES / f"report-{scheme}.png"
        assert image.read_bytes().startswith(b"\x89PNG")
        assert image.stat().st_size < 300_000
