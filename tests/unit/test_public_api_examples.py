"""The docstring examples that need no Node run: models, rules, catalogue, resolved data, assertions.

``tests/synth/test_public_api_examples.py`` runs those of constructs, stacks and manifests.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from typing import Any

import pytest

from eks_hardware.catalogue import load
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.public_api import PUBLIC, definitions
from helpers.strategies import document, group

# All except those that the test of the same name in tests/synth runs, pytest's fixtures, which have no examples, and
# names that ``eks_hardware`` imports from the others.
PACKAGES = [
    each
    for each in PUBLIC
    if each != "eks_hardware" and not re.search(r"\.(constructs|stacks|kubernetes|fixtures)\b", each)
]


@pytest.fixture(scope="module")
def strategy() -> Strategy:
    """Return a strategy with a bit of everything."""
    system = {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}}
    reserved = {"id": "cr-0123456789abcdef0", "zone": "usw2-az1"}
    gpu = group("p5.48xlarge", name="h100", workload="training", efa=True, capacity="reserved", reservation=reserved)
    pool = {
        "name": "a10g",
        "instance_types": ["g5.xlarge"],
        "capacity": ["spot"],
        "limits": {"nvidia.com/gpu": 4},
        "gpu_sharing": {"time_slicing": {"replicas": 2}},
    }
    return Strategy.model_validate(
        document(
            name="research",
            node_groups=[system, gpu],
            cluster={"admins": ["arn:aws:iam::111122223333:role/admin"]},
            karpenter={"node_pools": [pool]},
            kubernetes={"delivery": "helm", "load_balancer_controller": True, "teams": [{"name": "research"}]},
            storage={"fsx_lustre": {}, "efs": {}, "s3_buckets": [{"name": "models"}]},
        )
    )


@pytest.fixture(scope="module")
def resolved(strategy: Strategy) -> ResolvedStrategy:
    return resolve(strategy)


@pytest.fixture
def names(strategy: Strategy, resolved: ResolvedStrategy) -> dict[str, Any]:
    """Return the names in a reader's program: every public name of the layer, a strategy, and its resolved data."""
    found: dict[str, Any] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        found |= {name: getattr(module, name) for name in module.__all__}
    return {**found, "strategy": strategy, "resolved": resolved}


def _run_examples(package: str, name: str, names: dict[str, Any]) -> None:
    module = importlib.import_module(package)
    found = getattr(module, name)
    own = {each: getattr(module, each) for each in module.__all__}
    said: list[str] = []
    texts = {name: inspect.getdoc(found) if inspect.isfunction(found) else found.__doc__}
    if inspect.isclass(found):
        members = vars(found).items()
        texts |= {each: member.__doc__ for each, member in members if inspect.isfunction(member) and each[0] != "_"}
    ran = 0
    for each, text in texts.items():
        examples = doctest.DocTestParser().get_doctest(inspect.cleandoc(text or ""), {}, each, None, 0)
        ran += len(examples.examples)
        examples.globs = {"load": load, **names, **own}
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    if said:
        pytest.fail("".join(said), pytrace=False)
    assert ran or not inspect.isclass(found)


@in_one_test("package", PACKAGES)
def test_the_examples_run(package: str, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name, _ in definitions(package):
        _run_examples(package, name, names)
