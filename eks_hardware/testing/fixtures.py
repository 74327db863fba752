"""Pytest fixtures.

Load them in your outermost ``conftest.py``::

    pytest_plugins = ["eks_hardware.testing.fixtures"]

and list your strategies in ``pytest.ini`` (or ``[tool.pytest.ini_options]``)::

    [pytest]
    eks_hardware_strategies = strategies

They are not registered as an entry point: every pytest run with the package installed would then load them, and names
such as ``stack`` would be in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_hardware.testing.template import Template

if TYPE_CHECKING:
    from eks_hardware._cdk import TerraformStack
    from eks_hardware.stacks import Extension

__all__ = ["STRATEGIES", "stack", "strategy_extension", "strategy_files", "synthesize", "synthesized_strategies"]

STRATEGIES = "eks_hardware_strategies"
"""Name of the option that lists files and folders, relative to the file with the option."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option."""
    parser.addini(STRATEGIES, "strategy files, and folders of them, for the fixture synthesized_strategies", "paths")


@pytest.fixture(scope="session")
def strategy_files(pytestconfig: pytest.Config) -> Sequence[Path]:
    """Return the files and folders of the option ``eks_hardware_strategies``; override it to use others."""
    return tuple(pytestconfig.getini(STRATEGIES))


@pytest.fixture(scope="session")
def strategy_extension() -> Extension | None:
    """Return the extension of every strategy, by default none; override it with the one in your ``main.py``."""
    return None


@pytest.fixture(scope="session")
def synthesized_strategies(
    strategy_files: Sequence[Path], strategy_extension: Extension | None, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Template]:
    """Return the template of every strategy's stacks, by stack name, synthesized once per run as by ``cdktf synth``.

    A strategy with a separate stack for its charts has two: ``research`` and ``research-kubernetes``.
    """
    from eks_hardware.resolve import resolve
    from eks_hardware.validation import validate
    from eks_hardware.validation.terminal import as_text

    if not strategy_files:
        pytest.fail(
            f"no strategies are set; set {STRATEGIES} in pytest.ini, or override the fixture strategy_files",
            pytrace=False,
        )
    validation = validate(strategy_files)
    if validation.errors:
        pytest.fail(as_text(validation.errors), pytrace=False)
    # This import starts Node.
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    outdir = tmp_path_factory.mktemp("cdktf.out")
    app = App(outdir=str(outdir))
    names = [
        stack.node.id
        for each, _ in validation.strategies
        for stack in strategy_stacks(app, resolve(each.strategy), extension=strategy_extension)
    ]
    app.synth()
    return {name: Template.from_json(outdir / "stacks" / name / "cdk.tf.json") for name in names}


@pytest.fixture
def synthesize(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Template]:
    """Return a function that synthesizes a strategy from sections: ``synthesize(node_groups=[...], karpenter={...})``.

    ``version``, ``name``, ``region`` and a system group have defaults. Nothing is installed on the cluster unless
    ``kubernetes`` has ``delivery: helm``. Errors in the strategy fail the test, each with its code.
    """

    def synthesized(**sections: Any) -> Template:
        from eks_hardware.models import Strategy
        from eks_hardware.resolve import resolve
        from eks_hardware.rules import check

        system = {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}}
        defaults: dict[str, object] = {"version": 1, "name": "demo", "region": "us-west-2", "node_groups": [system]}
        sections["kubernetes"] = {"delivery": "manifests", **sections.get("kubernetes", {})}
        strategy = Strategy.model_validate(defaults | sections)
        errors = [str(finding) for finding in check(strategy) if finding.severity.value == "error"]
        if errors:
            pytest.fail("\n".join(errors), pytrace=False)
        # This import starts Node.
        from eks_hardware._cdk import App
        from eks_hardware.stacks.hardware_stack import HardwareStack

        app = App(outdir=str(tmp_path_factory.mktemp("cdktf.out")))
        return Template.of(HardwareStack(app, resolved=resolve(strategy)))

    return synthesized


@pytest.fixture
def stack(tmp_path: Path) -> TerraformStack:
    """Return a stack with only the AWS provider; add constructs to it, and check ``Template.of(stack)``."""
    from eks_hardware import facts
    from eks_hardware._cdk import App, AwsProvider, TerraformStack

    stack = TerraformStack(App(outdir=str(tmp_path)), "stack")
    AwsProvider(stack, "aws", region="us-west-2")
    # The binding pins its own release of the provider, which may differ from the installed release.
    versions = facts.eks()["provider_versions"]
    wanted = {"source": "hashicorp/aws", "version": f">= {versions['lowest']}, < {versions['below']}"}
    stack.add_override("terraform.required_providers.aws", wanted)
    return stack
