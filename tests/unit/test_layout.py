"""The rules for all code: import names, allowed imports, short functions, and no data that is not read."""

from __future__ import annotations

import ast
import copy
import importlib
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from typing_extensions import is_typeddict

from helpers.facts import ABOUT_THE_FILE, FILES
from helpers.paths import ROOT
from helpers.source import python_files, text_of, tree_of, trees_with

CODE = ("constructs", "eks_hardware", "stacks")
# Measurements are read by benchmarks/, which compares them with the estimates.
READERS = (*CODE, "benchmarks")
"""Folders with code that reads data files."""
LINKS = ("config", "constructs", "stacks")
FRAMEWORK = re.compile(r"^(cdktf|cdktn|constructs|jsii|(cdktf_cdktf|cdktn)_provider_\w+)$")

LAYERS = (
    ("installed_from",),
    (
        "_framework",
        "_lazy_names",
        "_lazy_providers",
        "data",
        "units",
        "versions",
        "printable",
        "findings",
        "provider_mirror",
        "interrupts",
    ),
    ("atomic_files",),
    ("facts", "field_paths", "spellings", "suggestions"),
    ("_cdk", "_node", "aws_names", "catalogue", "iam_policies"),
    ("models", "software"),
    ("loader", "resolve"),
    ("cost", "quotas"),
    ("rules", "kubernetes"),
    ("section_checks",),
    ("adoption", "advisor", "explain"),
    ("validation", "diff", "workloads"),
    ("doctor", "html_report", "new_project"),
    ("orphans",),
    ("local",),
    ("cli", "constructs"),
    ("_startup",),
    ("stacks",),
    ("testing", "__main__"),
)
"""The packages and modules of ``eks_hardware``, from the bottom: each imports only from lower layers."""

# diff derives changes of resources from the synthesized stacks; a second description would only be a copy
# (docs/adr/0020). They are imported when they are called, so Node does not start for anything else.
# Models explain the errors of a program with the words of files.
UPWARDS = {
    ("eks_hardware.diff.synthesis", "eks_hardware.stacks.in_memory"),
    ("eks_hardware.models.base", "eks_hardware.loader.python_errors"),
}
"""The exceptions: a module, and its imports from a higher layer."""

# Syntax trees of all code would take a second. ruff gives each statement its own line, and each level four spaces.
IMPORT = re.compile(r"^ *(?:from (?!\.)(\S+) import (\([^)]*\)|.+)|import (.+))$", re.MULTILINE)
FOR_TYPES = re.compile(r"^( *)if TYPE_CHECKING:.*\n(?:\1 .*\n|\n)*", re.MULTILINE)
LONG_OR_DEEP = re.compile(
    r"^( *)(?:async )?def .*\n(?:(?!\1(?:(?:async )?def |class |@|\w+(?:: .+)? = )).*\n){60}|^ {24}", re.MULTILINE
)
"""Text that every function of more than 60 lines or more than 4 blocks contains, and some others do."""
BODIES = ("body", "orelse", "handlers", "finalbody", "cases")
"""Parts of a statement that contain statements."""

NAMED = re.compile(r"""(?<=\.)\w+|(?<=["'])[^"'\n]+(?=["'])""")
"""Texts and attributes; syntax trees of all code would take a second."""
HELPER = re.compile(r"^(?:async )?def (?!_|test_|pytest_)(\w+)", re.MULTILINE)
NOT_CALLED = re.compile(r"\bfixture\b")
"""Decorator of functions that pytest calls."""


def _relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def _statements(tree: ast.Module) -> list[ast.AST]:
    """Return the statements of a file at any depth. Faster than all nodes."""
    found: list[ast.AST] = [tree]
    for node in found:
        found += [below for part in BODIES for below in getattr(node, part, ())]
    return found


def _imports_in(text: str) -> tuple[str, ...]:
    """Return all imports in a text, absolute, with those in texts within it."""
    found: list[str] = []
    for module, imported, modules in IMPORT.findall(text):
        stated = re.sub("#.*", "", imported or modules).strip("()").split(",")
        names = [each.split()[0] for each in stated if each.strip()]
        # `from eks_hardware import constructs` imports a package, too.
        found += names if modules else (module, *(f"{module}.{name}" for name in names))
    return tuple(found)


@cache
def _imports(file: Path, *, types: bool = True) -> tuple[str, ...]:
    """Return all imports of a file, absolute; without ``types`` not those under ``if TYPE_CHECKING``."""
    return _imports_in(text_of(file) if types else FOR_TYPES.sub("", text_of(file)))


def _breaches(folders: tuple[str, ...], forbidden: str) -> list[str]:
    return [
        f"{_relative(file)} imports {name}"
        for file in python_files(*folders)
        for name in _imports(file)
        if re.match(forbidden, name)
    ]


BELOW = [name for layer in LAYERS[:10] for name in layer if not name.startswith("_")]
"""The packages and modules below ``constructs``."""

_FRESH = f"""\
import importlib, importlib.util, json, pkgutil, sys
for name in {BELOW!r}:
    module = importlib.import_module(f'eks_hardware.{{name}}')
    for each in pkgutil.walk_packages(getattr(module, '__path__', []), f'eks_hardware.{{name}}.'):
        importlib.import_module(each.name)
loaded = list(sys.modules)
names = ('constructs', 'eks_hardware.constructs.network')
print(json.dumps([loaded, [importlib.util.find_spec(name).origin for name in names]]))
"""


@cache
def _fresh() -> tuple[list[str], list[str]]:
    """Return the modules that a new process has after it imports `BELOW`, and the files of two packages there.

    It runs like ``python main.py``: with the repository root first on the path.
    """
    done = subprocess.run(
        [sys.executable, "-c", _FRESH], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded, origins = json.loads(done.stdout)
    return loaded, origins


def test_constructs_is_no_package() -> None:
    """With an ``__init__.py`` it would hide the library of that name, and ``import cdktf`` would fail."""
    assert not (ROOT / "constructs" / "__init__.py").exists()


def test_constructs_is_the_library_from_the_root_too() -> None:
    origin, _ = _fresh()[1]
    assert origin.endswith("constructs/__init__.py")
    assert "site-packages" in origin


def test_ours_are_imported_under_the_umbrella() -> None:
    _, origin = _fresh()[1]
    assert Path(origin).resolve() == ROOT / "constructs" / "network" / "__init__.py"


def test_the_links_are_relative() -> None:
    assert {name: (ROOT / "eks_hardware" / name).readlink().as_posix() for name in LINKS} == {
        name: f"../{name}" for name in LINKS
    }


def test_a_checkout_without_links_says_so(tmp_path: Path) -> None:
    """Git writes a link as a small file if the file system has none."""
    package = tmp_path / "eks_hardware"
    package.mkdir()
    for name in ("__init__.py", "_framework.py", "_lazy_names.py", "_lazy_providers.py"):
        (package / name).write_bytes((ROOT / "eks_hardware" / name).read_bytes())
    (package / "constructs").write_text("../constructs", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "import eks_hardware"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: eks_hardware/constructs must be a symbolic link to constructs/")
    assert "git config core.symlinks true" in last


def test_nothing_of_ours_is_imported_without_the_umbrella() -> None:
    folders = [folder.name for folder in (ROOT / "constructs").iterdir() if folder.is_dir()]
    ours = rf"^(config|stacks)(\.|$)|^constructs\.({'|'.join(folders)})(\.|$)"
    suspected = re.compile(rf"^\s*(from|import)\s+({'|'.join(LINKS)})\b", re.MULTILINE)
    breaches = [
        f"{_relative(file)} imports {name}"
        for file in python_files(*CODE, "tests", "examples")
        if suspected.search(text_of(file))  # parsing every test takes seconds
        for node in _statements(tree_of(file))
        if isinstance(node, ast.Import | ast.ImportFrom)  # not the imports of a program that a test writes
        for name in _imports_in(ast.unparse(node))
        if re.match(ours, name)
    ]
    assert breaches == []


def test_every_folder_of_constructs_is_a_package() -> None:
    lacking = {file.parent for file in python_files("constructs") if not (file.parent / "__init__.py").exists()}
    assert {_relative(folder) for folder in lacking} <= {"constructs"}


def test_only_one_file_imports_the_framework() -> None:
    """Moving permanently to CDK Terrain changes this file (docs/guides/cdk-terrain.md)."""
    importing = {
        _relative(file)
        for file in [*python_files(*CODE, "examples"), ROOT / "main.py"]
        for name in _imports(file)
        if FRAMEWORK.match(name.split(".")[0])
    }
    theirs = {name for name in importing if name.startswith("examples/")}
    assert importing - theirs == {"eks_hardware/_cdk.py"}


def test_everything_imported_from_the_framework_is_exported() -> None:
    tree = tree_of(ROOT / "eks_hardware" / "_cdk.py")
    imported = [alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert len(imported) > 80
    assert [alias.name for alias in imported if alias.asname != alias.name] == []


def _unit(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _module(file: Path) -> str:
    parts = list(file.relative_to(ROOT).with_suffix("").parts)
    parts = parts if parts[0] == "eks_hardware" else ["eks_hardware", *parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _imported_modules(*, types: bool = False) -> dict[str, set[str]]:
    """Return each module's imports of our modules, at the top or later; without ``types`` not those for types."""
    files = {_module(file): file for file in python_files(*CODE)}
    return {
        module: {
            name for name in _imports(file, types=types) if name in files and not f"{module}.".startswith(f"{name}.")
        }
        for module, file in files.items()
    }


def test_every_package_has_a_layer() -> None:
    found = {_unit(_module(file)) for file in python_files(*CODE)} - {""}
    assert found == {name for layer in LAYERS for name in layer}


def test_imports_go_downwards() -> None:
    layer = {name: index for index, names in enumerate(LAYERS) for name in names}
    upwards = [
        f"{module} imports {name}"
        for module, names in _imported_modules().items()
        for name in sorted(names)
        if _unit(module) and _unit(name) != _unit(module) and layer[_unit(name)] >= layer[_unit(module)]
        if (module, name) not in UPWARDS
    ]
    assert upwards == []


OF_A_REQUEST = {"eks_hardware.advisor.measured.factors", "eks_hardware.advisor.ranking.policy"}
"""A request names the user's measurements and decision trees, for types only; both read requests."""


def test_no_modules_import_each_other() -> None:
    """Imports for types count, too, except those of a request."""
    graph = {module: set(names) for module, names in _imported_modules(types=True).items()}
    assert graph["eks_hardware.advisor.model"] >= OF_A_REQUEST
    graph["eks_hardware.advisor.model"] -= OF_A_REQUEST
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for name in sorted(graph[module]):
                visit(name, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_nothing_below_constructs_needs_framework_or_sdk() -> None:
    loaded, _ = _fresh()
    assert sum(name.startswith("eks_hardware.") for name in loaded) > 100
    assert {"boto3", "cdktf", "constructs", "jsii", "moto", "rich", "click"} & {*loaded} == set()


def test_constructs_see_data_and_manifests_only() -> None:
    allowed = "_cdk|adoption|aws_names|catalogue|constructs|facts|findings|iam_policies|kubernetes|models"
    allowed += "|resolve|section_checks|spellings|suggestions"
    assert _breaches(("constructs",), rf"^eks_hardware\.(?!({allowed})\b)") == []


def test_the_command_line_needs_no_node() -> None:
    """`eks-hardware validate` starts immediately. ``stacks.app`` and ``diff`` import the framework to synthesize."""
    found = _breaches(("eks_hardware",), r"^eks_hardware\.(constructs\b|stacks\.(?!app\b)|_cdk\b)")
    # Fixtures synthesize; only tests load them. The top of the package imports only for types.
    allowed = (
        "eks_hardware/testing/fixtures.py ",
        "eks_hardware/__init__.py ",
        "eks_hardware/diff/synthesis.py imports eks_hardware.stacks.in_memory",
    )
    assert [each for each in found if not each.startswith(allowed)] == []


def test_the_stacks_do_not_know_the_demo() -> None:
    """Another team's app deploys its own stacks; the emulator and its account belong to the demo."""
    assert _breaches(("constructs", "stacks"), r"^eks_hardware\.local\b") == []


def test_what_tests_use_is_used_by_nothing_else() -> None:
    others = tuple(f"eks_hardware/{name}" for layer in LAYERS for name in layer if name != "testing")
    assert _breaches(("constructs", "stacks", *others), r"^(eks_hardware\.testing|pytest)\b") == []
    importing = [_relative(file) for file in python_files("eks_hardware/testing") if "pytest" in _imports(file)]
    assert importing == ["eks_hardware/testing/fixtures.py"]


def test_constructs_read_neither_files_nor_environment() -> None:
    assert _breaches(("constructs",), r"^(os|io|pathlib|subprocess|shutil|tempfile|glob)(\.|$)") == []
    calls = [
        f"{_relative(file)}:{node.lineno} {node.func.id}"
        for file in python_files("constructs")
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("open", "exec", "eval")
    ]
    assert calls == []


def test_main_is_only_an_entry() -> None:
    text = (ROOT / "main.py").read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", '"""'))]
    assert len(code) <= 10


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return names, kinds and defaults of the parameters that a caller passes, without annotations."""
    arguments = copy.deepcopy(function.args)
    arguments.args = [each for each in arguments.args if each.arg != "draw"]  # Hypothesis passes it
    for each in ast.walk(arguments):
        if isinstance(each, ast.arg):
            each.annotation = None
    return ast.unparse(arguments)


NAMED_PATH = re.compile(
    r"`((?:[\w.-]+/)*[\w-]+\.(?:css|html|js|json|md|mjs|mod|py|toml|txt|yaml|yml)|(?:[\w.-]+/)+\w*)`"
)
# Files of the AWS provider, of users and of the build, and a layout that was rejected.
NOT_OURS = {
    "cdktf_cdktf_provider_aws/__init__.py",
    "lib/index.js",
    "lib/lazy-index.js",
    "config.json",
    "src/",
    ".build/answers",
}


def _endings() -> set[str]:
    """Return the paths of all files and folders, and every shorter way to name each: ``resolve/zones.py``."""
    folders = (*CODE, ".github", "benchmarks", "config", "docs", "examples", "tests")
    found = [*ROOT.glob("*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    parts = [path.relative_to(ROOT).parts for path in found]
    return {"/".join(each[start:]) for each in parts for start in range(len(each))}


def test_guide_and_decisions_name_files_that_exist() -> None:
    endings = _endings()
    for file in (ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / "docs" / "adr").glob("*.md")):
        named = set(NAMED_PATH.findall(file.read_text(encoding="utf-8"))) - NOT_OURS
        lacking = [path for path in named if path.rstrip("/") not in endings and not (ROOT / path).exists()]
        assert lacking == [], file.name
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tables = re.findall(r"^## (?:Where to find things|Follow a field)\n(.*?)(?=^## )", guide, re.DOTALL | re.MULTILINE)
    paths = [path for table in tables for path in NAMED_PATH.findall(table) if "/" in path]
    assert len(paths) > 40
    # A newcomer opens these from the root or from the package.
    assert [each for each in paths if not any((top / each).exists() for top in (ROOT, ROOT / "eks_hardware"))] == []


def test_functions_are_short_and_flat() -> None:
    """At most 60 lines with docstring and signature, and at most 4 blocks inside one another."""
    found = [
        f"{_relative(file)}: {function.name} has {lines} lines, {depth} deep"
        for file in python_files(*CODE)
        if LONG_OR_DEEP.search(text_of(file))
        for function in _statements(tree_of(file))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for lines, depth in [((function.end_lineno or 0) - function.lineno + 1, _depth(function))]
        if lines > 60 or depth > 4
    ]
    assert found == []


def _depth(node: ast.AST) -> int:
    """Return how many blocks a function has inside one another, counting ``elif`` with its ``if``."""
    deepest = 0
    for name in BODIES:
        value = getattr(node, name, ())
        for child in value:
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                continue
            is_elif = name == "orelse" and isinstance(node, ast.If) and len(value) == 1 and isinstance(child, ast.If)
            is_block = isinstance(child, (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)) and not is_elif
            deepest = max(deepest, is_block + _depth(child))
    return deepest


def test_helpers_of_the_same_name_have_the_same_parameters() -> None:
    """Otherwise a reader who knows one of them misreads the calls of the other."""
    names = {file: set(HELPER.findall(text_of(file))) for file in python_files("tests")}
    count = Counter(name for own in names.values() for name in own)
    signatures: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file, own in names.items():
        shared = {name for name in own if count[name] > 1}
        for node in (node for tree in trees_with(file, *(f"def {name}" for name in shared)) for node in tree.body):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name not in shared:
                continue
            if not any(NOT_CALLED.search(ast.unparse(each)) for each in node.decorator_list):
                signatures[node.name][_parameters(node)].append(_relative(file))
    assert signatures
    assert {name: dict(found) for name, found in signatures.items() if len(found) > 1} == {}


# --- data files


def _reads(code: str, name: str, section: str) -> bool:
    """Return whether code has ``name()["section"]``, or stores ``table = name()`` and has ``["section"]``."""
    if f'"{section}"' not in code:  # the patterns below take a second
        return False
    key = rf'\["{section}"\]'
    at_once = rf'\b{name}\([^()]*\)\[([^\]\n]*"{section}"|\w+\()'
    cited = rf"\b{name}\.cite\(\s*lambda file: (select\()?file{key}"
    return bool(
        re.search(at_once, code)
        or re.search(cited, code)
        or (re.search(rf"\b{name}\([^()]*\)\n", code) and re.search(key, code))
    )


def test_code_reads_every_section() -> None:
    code = [text_of(file) for file in python_files(*READERS)]
    readers = {name: [text for text in code if f"{name}(" in text or f"{name}.cite(" in text] for name in FILES}
    unread = {
        (name, section)
        for name, file in FILES.items()
        for section in file().keys() - ABOUT_THE_FILE
        if not any(_reads(text, name, section) for text in readers[name])
    }
    assert unread == set()


def test_code_names_every_key() -> None:
    """Keys that no code names are read by nothing, at any depth."""
    schemas = ROOT / "eks_hardware" / "facts" / "schemas"
    modules = [file for file in python_files(*READERS) if file.parent != schemas]
    named = {name for file in modules for name in NAMED.findall(text_of(file))}
    rows = {
        each
        for file in schemas.glob("*.py")
        for each in vars(importlib.import_module(f"eks_hardware.facts.schemas.{file.stem}")).values()
        if is_typeddict(each)
    }
    keys = {(row.__name__, key) for row in rows for key in row.__annotations__}
    read = named | ABOUT_THE_FILE
    assert {(row, key) for row, key in keys if key not in read} == set()
