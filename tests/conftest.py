"""Fixtures shared by all tests: golden files, and stacks that are synthesized once per run."""

from __future__ import annotations

import dataclasses
import difflib
import gc
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from eks_hardware._startup import short_lived
from eks_hardware.testing import Template
from helpers import answers
from helpers.paths import GOLDEN, ROOT, SHIPPED, SPECIAL, TESTS
from helpers.running import NOTING, Run, run_app
from helpers.shared import Once, once_in, shared_root

pytest_plugins = ["eks_hardware.testing.fixtures"]

# Node reads it when it starts, at the first import of the framework.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
# Terraform and its provider spend a tenth of their time on freeing memory, which a test run does not need.
os.environ.setdefault("GOGC", "400")

# A shell that starts the tests in the background makes them ignore SIGINT. Every process that they start inherits that,
# and tests of interrupted commands would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Python collects garbage after 700 new objects. With many permanent modules and tables, that takes a third of the
# tests' time.
gc.set_threshold(100_000, 50, 1_000)

_SHOWN_LINES = 80
_INSTALLED = ("real charts", "stand-ins", "real controllers", "webhooks without a controller")
# Order of files and folders for the workers: the longest first, because a long file at the end makes the other
# workers wait. Deployments mostly wait, so they alternate with files that keep a processor busy.
_ORDER = (
    "deploy/test_options.py",
    "types",
    "deploy/test_diff_replaces.py",
    "synth/test_corpus_good.py",
    "deploy/test_mixed_hardware.py",
    "deploy/test_adoption.py",
    "package",
    "examples",
    "security",
    "cdktn",
    "browser",
    "synth",
    "processes/test_faults.py",
    "cluster",
    "deploy",
    "docs",
    "kubernetes",
    "properties",
    "processes",
    "unit/test_layout.py",
    "unit/cli/test_recommend.py",
    "unit/cli",
    "unit/advisor",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden with the current output")
    tools = "pyright, Terraform, checkov and the check of prose"
    parser.addoption("--fresh", action="store_true", help=f"run {tools} again")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--fresh"):
        os.environ[answers.FRESH] = "1"
    short_lived()  # Python's garbage collector takes a tenth of the time


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the charts that tests installed, and the controllers that ran: which were real."""
    reports = [each for found in terminalreporter.stats.values() for each in found]
    said = {pair for each in reports for pair in getattr(each, "user_properties", ()) if pair[0] in _INSTALLED}
    for name, value in sorted(said):
        terminalreporter.write_line(f"{name} in tests/cluster: {value or 'none'}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with an argument ``shipped_name`` or ``strategy_name`` once per strategy file."""
    folders = {"shipped_name": [SHIPPED], "strategy_name": [SHIPPED, SPECIAL]}
    for argument, places in folders.items():
        if argument in metafunc.fixturenames:
            files = (file for place in places for file in place.glob("*.yaml"))
            metafunc.parametrize(argument, sorted(file.stem for file in files))


@pytest.fixture(scope="session", autouse=True)
def _no_question_about_the_address() -> Iterator[None]:
    """Let ``init`` and ``recommend`` detect an address without the network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eks_hardware.cli.cluster_settings.caller_address", lambda: "93.184.216.34")
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with a file in tests/golden; ``--update-golden`` writes it instead."""

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort files in the order above; the order within a file stays the same."""

    @cache
    def rank(file: Path) -> int:
        name = file.relative_to(TESTS).as_posix()
        places = (place for place, start in enumerate(_ORDER) if name == start or name.startswith(f"{start}/"))
        return next(places, len(_ORDER))

    items.sort(key=lambda item: rank(item.path))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Do not search for unreferenced objects at the end: pytest and Python do, and each search takes a second."""
    gc.freeze()


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Create a folder once for all workers: ``once("name", make)``."""
    return once_in(shared_root(tmp_path_factory))


@pytest.fixture(scope="session")
def lazy_run(once: Once) -> Run:
    """Run ``main.py`` for all strategies in config/strategies and tests/synth/strategies, like ``cdktf synth``."""

    def make(folder: Path) -> None:
        folder.mkdir()
        run = run_app(folder / "cdktf.out", "-c", NOTING, "main.py", str(folder / "modules.json"))
        run.save(folder / "run.json")

    folder = once("main", make)
    modules = tuple(json.loads((folder / "modules.json").read_text(encoding="utf-8")))
    return dataclasses.replace(Run.load(folder / "run.json"), modules=modules)


@pytest.fixture(scope="session")
def templates(lazy_run: Run) -> Mapping[str, Template]:
    """Return all strategies in config/strategies and tests/synth/strategies, synthesized like ``cdktf synth``."""
    assert lazy_run.code == 0, lazy_run.err
    files = (lazy_run.outdir / "stacks").glob("*/cdk.tf.json")
    return {file.parent.name: Template.from_json(file) for file in files}
