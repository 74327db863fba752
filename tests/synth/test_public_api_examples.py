"""The examples in docstrings of constructs, stacks and manifests run, and "Creates:" lists the created resources.

Each example runs in a separate app, with the names of ``_prepared`` for objects that a reader already has.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from helpers.paths import ROOT, SHIPPED, SPECIAL
from helpers.public_api import PUBLIC, Definition, definition, definitions, is_construct, members
from helpers.strategies import document, resolved_of
from helpers.terraform_modules import stack_documents

PACKAGES = [each for each in PUBLIC if re.match(r"eks_hardware\.(constructs|stacks|kubernetes)\b", each)]

NAMES = [f"{package}.{name}" for package in PACKAGES for name, _ in definitions(package)]

ADOPTION = ROOT / "examples" / "adopted-cluster" / "research.yaml"

# All resource types of strategies: the "Creates:" section of a construct lists exactly these.
STRATEGIES = [*sorted(SPECIAL.glob("*.yaml")), SHIPPED / "mixed-hardware.yaml"]

_SECTION = re.compile(r"^Creates: (.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
_DATA_SOURCE = re.compile(r"data source ``(\w+)``")
_TYPE = re.compile(r"``((?:aws|helm|terraform)_\w+)``")
_CLASS = re.compile(r":class:`(\w+)`")


def _objects() -> Iterator[tuple[str, str, Any]]:
    """Return package, name and object of every public class and function."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                yield package, name, found


def _exported() -> dict[str, Any]:
    """Return every public name of these packages, as after ``from ... import ...``."""
    from eks_hardware import resolve as resolved
    from eks_hardware.iam_policies import document as policies

    functions = {name: getattr(module, name) for module in (policies, resolved) for name in module.__all__}
    return {**functions, **{name: each for _, name, each in _objects()}}


def _prepared(folder: Path) -> dict[str, Callable[[Mapping[str, Any]], Any]]:
    """Return the reader's existing objects: an app, a stack with a provider, a strategy, and a cluster."""
    from eks_hardware import _cdk, adoption
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.iam import Role
    from eks_hardware.constructs.network import NetworkRef

    def stack(names: Mapping[str, Any]) -> Any:
        made = _cdk.TerraformStack(names["app"], "theirs")
        _cdk.AwsProvider(made, "aws", region="us-west-2")
        if names["_helm"]:
            _cdk.HelmProvider(made, "helm")
        return made

    pool = {"name": "cpu", "instance_types": ["c7i.4xlarge"], "limits": {"cpu": 64}}
    return {
        "app": lambda _: _cdk.App(outdir=str(folder)),
        "stack": stack,
        "strategy": lambda _: Strategy.model_validate(
            document(name="research", karpenter={"node_pools": [pool]}, kubernetes={"delivery": "helm"})
        ),
        "resolved": lambda names: resolve(names["strategy"]),
        "network": lambda _: NetworkRef.from_existing(
            vpc_id="vpc-0123456789abcdef0",
            private_subnet_ids={f"usw2-az{number}": f"subnet-0000000000000000{number}" for number in (1, 2)},
        ),
        "cluster": lambda names: ClusterRef.from_existing(names["stack"], "existing-cluster", name="shared"),
        "role": lambda names: Role(names["stack"], "existing-role", name="theirs", assume_role_policy="{}"),
        "adoption": lambda _: adoption.load_adoption(ADOPTION),
    }


def _examples(found: Any) -> Iterator[tuple[str, str]]:
    """Yield name and docstring of a class and its members, or of a function."""
    yield found.__name__, inspect.getdoc(found) or ""
    if inspect.isclass(found):
        for name, member in vars(found).items():
            inner = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(inner):
                yield f"{found.__name__}.{name}", inspect.getdoc(inner) or ""


class Ran(NamedTuple):
    """Result of an example.

    Attributes:
        said: the error.
        made: types of the resources in each kind of construct, by its name; ``""`` for all.
        data: types of the data sources.
        paths: type and path of every resource.
    """

    said: str
    made: Mapping[str, set[str]]
    data: set[str]
    paths: Sequence[str]


def _run(found: Any, folder: Path) -> Ran:
    said: list[str] = []
    made: dict[str, set[str]] = defaultdict(set)
    data: set[str] = set()
    paths: list[str] = []
    for number, (name, text) in enumerate(_examples(found)):
        parsed = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        if not parsed.examples:
            continue
        prepared = _prepared(folder / str(number))
        source = "\n".join(each.source for each in parsed.examples)
        wanted = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)} | {"app"}
        needs = {"resolved": ["strategy"], "stack": ["app"], "cluster": ["stack"], "role": ["stack"]}
        for _ in needs:
            wanted |= {each for name in wanted for each in needs.get(name, ())}
        names = {**_exported(), "_helm": "cluster_helm_provider(" not in source}
        for each in prepared:
            if each in wanted:
                names[each] = prepared[each](names)
        parsed.globs = names
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(parsed, out=said.append, clear_globs=False)
        app = names["app"]
        if not runner.failures and app.node.children:
            try:
                app.synth()
            except RuntimeError as error:
                said.append(f"{name}: {error}")
        _note(app, folder / str(number), made, data)
        paths += _paths(app)
    return Ran("".join(said), made, data, paths)


def _paths(app: Any) -> Iterator[str]:
    from eks_hardware import _cdk

    for node in app.node.find_all():
        if isinstance(node, _cdk.TerraformResource) and "/existing-" not in node.node.path:
            yield f"{node.terraform_resource_type} {node.node.path}"


def _note(app: Any, outdir: Path, made: dict[str, set[str]], data: set[str]) -> None:
    """Record the resources in each construct of a synthesized app."""
    public = {each for _, _, each in _objects() if inspect.isclass(each)}
    scopes = {node.node.path: type(node).__name__ for node in app.node.find_all() if type(node) in public}
    for each in stack_documents(outdir).values():
        data.update(each.get("data", ()))
        for type_, named in each.get("resource", {}).items():
            made[""].add(type_)
            paths = [Path(body["//"]["metadata"]["path"]) for body in named.values()]
            for scope in (each for path in paths for each in (path, *path.parents)):
                if name := scopes.get(scope.as_posix()):
                    made[name].add(type_)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Ran]:
    """Return every example, run once."""
    patch = pytest.MonkeyPatch()
    patch.chdir(ROOT)
    try:
        return {
            f"{package}.{name}": _run(found, tmp_path_factory.mktemp("example")) for package, name, found in _objects()
        }
    finally:
        patch.undo()


@pytest.fixture(scope="module")
def made(ran: Mapping[str, Ran], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, set[str]]:
    """Return the resources of each kind of construct, in examples and in strategies with all features."""
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    found: dict[str, set[str]] = defaultdict(set)
    for each in ran.values():
        for name, types in each.made.items():
            found[name] |= types
    outdir = tmp_path_factory.mktemp("cdktf.out")
    app = App(outdir=str(outdir))
    for file in STRATEGIES:
        strategy_stacks(app, resolved_of(file))
    app.synth()
    _note(app, outdir, found, set())
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(ran: Mapping[str, Ran], name: str) -> None:
    if ran[name].said:
        pytest.fail(ran[name].said, pytrace=False)


def _created(text: str) -> tuple[set[str], list[str]]:
    """Return the resource types under "Creates:", and the classes there, which include their own."""
    section = _SECTION.search(text)
    said = _DATA_SOURCE.sub("", section[1]) if section else ""
    return set(_TYPE.findall(said)), _CLASS.findall(said)


def _all_created(text: str, documents: Mapping[str, str]) -> set[str]:
    types, classes = _created(text)
    return types.union(*(_all_created(documents[each], documents) for each in classes))


@pytest.mark.parametrize("name", NAMES)
def test_it_creates_what_it_says(ran: Mapping[str, Ran], made: Mapping[str, set[str]], name: str) -> None:
    """All listed types are created, and no others."""
    package, _, short = name.rpartition(".")
    found = definition(package, short)
    assert found is not None
    documents = {each: ast.get_docstring(node) or "" for each, node in _every_definition()}
    # The resources of a function are mixed with others in its example.
    there = made[short] if is_construct(found) else ran[name].made[""]
    assert _created(documents[short])[0] - there == set()
    if is_construct(found):
        assert there - _all_created(documents[short], documents) == set()
    for text in (documents[short], *(ast.get_docstring(each) or "" for each in _methods(found))):
        section = _SECTION.search(text)
        for data in _DATA_SOURCE.findall(section[1] if section else ""):
            assert data in ran[name].data or data == "terraform_remote_state"


def _every_definition() -> Iterator[tuple[str, Definition]]:
    for package in PACKAGES:
        yield from definitions(package)


def _methods(found: Definition) -> Iterator[ast.FunctionDef]:
    if isinstance(found, ast.ClassDef):
        yield from members(found)


def test_ids_and_addresses_stay(ran: Mapping[str, Ran], golden: Callable[[str, str], None]) -> None:
    """Addresses of constructs that are used alone; tests/golden/<strategy>/addresses.txt has those of whole strategies.

    A construct's id is part of its resources' addresses: changing it moves other teams' state.
    """
    lines = []
    for package in PACKAGES:
        for name, found in definitions(package):
            if is_construct(found) and package not in ("eks_hardware.constructs.platform", "eks_hardware.stacks"):
                lines += [name, *(f"  {each}" for each in ran[f"{package}.{name}"].paths)]
    golden("public_addresses.txt", "\n".join([*lines, ""]))
