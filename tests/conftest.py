"""Fixtures that all tests share: golden files, and stacks that are synthesized once for each worker."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from eks_hardware.testing import Template
from helpers.paths import GOLDEN, ROOT, SHIPPED, SPECIAL

pytest_plugins = ["eks_hardware.testing.fixtures"]

# Read when Node starts, which is with the first import of the framework.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

_SHOWN_LINES = 80


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden with what comes out now")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests that ask for ``shipped_name`` or ``strategy_name`` one run for each strategy file."""
    folders = {"shipped_name": [SHIPPED], "strategy_name": [SHIPPED, SPECIAL]}
    for argument, places in folders.items():
        if argument in metafunc.fixturenames:
            files = (file for place in places for file in place.glob("*.yaml"))
            metafunc.parametrize(argument, sorted(file.stem for file in files))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with a file below tests/golden; ``--update-golden`` writes it instead."""

    def check(name: str, text: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return
        before = file.read_text(encoding="utf-8") if file.is_file() else ""
        if before == text:
            return
        lines = list(
            difflib.unified_diff(
                before.splitlines(), text.splitlines(), str(file.relative_to(ROOT)), "now", lineterm=""
            )
        )
        more = [f"... and {len(lines) - _SHOWN_LINES} more lines"] if len(lines) > _SHOWN_LINES else []
        test = request.node.nodeid.partition("[")[0]
        hint = f"after an intended change: .venv/bin/python -m pytest {test} --update-golden"
        pytest.fail("\n".join([*lines[:_SHOWN_LINES], *more, hint]), pytrace=False)

    return check


@pytest.fixture(scope="session")
def strategy_files() -> Sequence[Path]:
    """The strategies that ship, and those for what no shipped one uses."""
    return SHIPPED, SPECIAL


@pytest.fixture(scope="session")
def templates(synthesized_strategies: Mapping[str, Template]) -> Mapping[str, Template]:
    """Every strategy of config/strategies and tests/synth/strategies, synthesized as ``cdktf synth`` does."""
    return synthesized_strategies
