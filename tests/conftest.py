"""Fixtures that all tests share: golden files, and stacks that are synthesized once for each worker."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.paths import GOLDEN, ROOT, SHIPPED, SPECIAL
from helpers.template import Template

if TYPE_CHECKING:
    from eks_hardware._cdk import TerraformStack

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
def templates(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Template]:
    """Every strategy of config/strategies and tests/synth/strategies, synthesized the way ``main.py`` does."""
    from eks_hardware._cdk import App
    from eks_hardware.stacks.app import strategies
    from eks_hardware.stacks.hardware_stack import HardwareStack

    outdir = tmp_path_factory.mktemp("cdktf.out")
    app = App(outdir=str(outdir))
    named = os.pathsep.join(map(str, (SHIPPED, SPECIAL)))
    names = [HardwareStack(app, resolved=each).node.id for each, _ in strategies({"EKS_HARDWARE_STRATEGIES": named})]
    app.synth()
    return {name: Template.from_json(outdir / "stacks" / name / "cdk.tf.json") for name in names}


@pytest.fixture
def stack(tmp_path: Path) -> TerraformStack:
    """Another team's stack: nothing but a provider."""
    from eks_hardware._cdk import App, AwsProvider, TerraformStack

    stack = TerraformStack(App(outdir=str(tmp_path)), "theirs")
    AwsProvider(stack, "aws", region="us-west-2")
    return stack


@pytest.fixture
def synthesize(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Template]:
    """Synthesize a strategy that is written as a map; ``name``, ``region`` and a system group are filled in.

    Nothing is installed on the cluster unless ``kubernetes`` says ``delivery: helm``.
    """

    def synthesized(**content: Any) -> Template:
        from eks_hardware._cdk import App
        from eks_hardware.config.models import Strategy
        from eks_hardware.config.resolve import resolve
        from eks_hardware.config.rules import check
        from eks_hardware.stacks.hardware_stack import HardwareStack

        system = {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}}
        defaults: dict[str, Any] = {"version": 1, "name": "demo", "region": "us-west-2", "node_groups": [system]}
        content["kubernetes"] = {"delivery": "manifests", **content.get("kubernetes", {})}
        strategy = Strategy.model_validate(defaults | content)
        assert not [str(finding) for finding in check(strategy) if finding.severity.value == "error"]
        app = App(outdir=str(tmp_path_factory.mktemp("cdktf.out")))
        return Template.of(HardwareStack(app, resolved=resolve(strategy)))

    return synthesized
