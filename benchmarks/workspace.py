"""The benchmark's folder, ``.build/bench``, with the TypeScript app and strategies of increasing size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measure import Command
from benchmarks.typescript_app import differences, main_source, stack_source

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".build" / "bench"
SHIPPED = ROOT / "config" / "strategies"
GROWTH = (1, 10, 100, 400)

_TYPESCRIPT = Path(__file__).parent / "typescript"


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of every measured command.

    Python keeps its bytecode, as in any pip installation, regardless of the machine's settings. This process's fast
    path is not passed on: ``NODE_OPTIONS`` contains its hook once the TypeScript app has been written.
    """
    ours = ("EKS_HARDWARE_", "PYTHON", "JSII_", "NODE_OPTIONS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return {
        **kept,
        "PYTHONPYCACHEPREFIX": str(FOLDER / "bytecode"),
        # Node 20 is past its end of life, and jsii warns about it on stderr each time.
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        **variables,
    }


def app(strategies: Path, name: str, **variables: str) -> Command:
    """Return the command for ``main.py`` with strategies; ``name`` is the output folder's name."""
    out = {"CDKTF_OUTDIR": str(_output(name))}
    return Command(
        (sys.executable, "main.py"), environment(EKS_HARDWARE_STRATEGIES=str(strategies), **out, **variables), ROOT
    )


def command(*arguments: str) -> Command:
    """Return the command for ``eks-hardware`` with arguments."""
    program = Path(sys.executable).with_name("eks-hardware")
    return Command((str(program), *arguments), environment(), ROOT)


def python(code: str) -> Command:
    """Return a command that runs Python code."""
    return Command((sys.executable, "-c", code), environment(), ROOT)


def profile(strategy: Path) -> Command:
    """Return the command for ``benchmarks/profile.py`` with a strategy."""
    return Command(
        (sys.executable, "-m", "benchmarks.profile", str(strategy), str(_output("profile"))), environment(), ROOT
    )


def _output(name: str) -> Path:
    folder = FOLDER / "out" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def documents(name: str) -> dict[str, dict[str, object]]:
    """Return the ``cdk.tf.json`` of every stack in an app's output, by stack."""
    files = sorted((FOLDER / "out" / name / "stacks").glob("*/cdk.tf.json"))
    return {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files}


# --- TypeScript


def typescript(name: str) -> Command:
    """Return the command for a compiled TypeScript app; see :func:`build_typescript`."""
    return Command(
        ("node", str(FOLDER / "typescript" / "dist" / f"{name}.js")),
        environment(CDKTF_OUTDIR=str(_output(f"typescript-{name}"))),
        FOLDER / "typescript",
    )


def build_typescript(apps: Mapping[str, Sequence[str]], ours: Mapping[str, Mapping[str, object]]) -> None:
    """Write and compile apps with the same resources as ours.

    Args:
        apps: the stacks of each app, by name.
        ours: our ``cdk.tf.json`` by stack.
    """
    folder = FOLDER / "typescript"
    (folder / "stacks").mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "package-lock.json", "tsconfig.json", ".npmrc"):
        content = (_TYPESCRIPT / file).read_text(encoding="utf-8")
        (folder / file).write_text(content, encoding="utf-8")
    for stack in {stack for stacks in apps.values() for stack in stacks}:
        (folder / "stacks" / f"{stack}.ts").write_text(stack_source(stack, ours[stack]), encoding="utf-8")
    for name, stacks in apps.items():
        (folder / f"{name}.ts").write_text(main_source(stacks), encoding="utf-8")
    stamp = folder / "node_modules" / ".installed"
    lock = (folder / "package-lock.json").read_text(encoding="utf-8")
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != lock:
        _run("npm", "ci", "--loglevel=error", folder=folder)
        stamp.write_text(lock, encoding="utf-8")
    _run("node_modules/.bin/tsc", *(f"{name}.ts" for name in apps), *_compiler_options(), folder=folder)


def same_as_ours(name: str, ours: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return the differences between a TypeScript app's output and ours."""
    theirs = documents(f"typescript-{name}")
    return [
        f"{stack}: {difference}"
        for stack in documents(name)
        for difference in differences(ours[stack], theirs.get(stack, {}))
    ]


def _compiler_options() -> list[str]:
    options = json.loads((_TYPESCRIPT / "tsconfig.json").read_text(encoding="utf-8"))["compilerOptions"]
    return [
        part for key, value in options.items() for part in (f"--{key}", str(value).lower() if value is True else value)
    ]


def _run(*arguments: str, folder: Path) -> None:
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


# --- growth


def copies_of(strategy: Path, count: int) -> Path:
    """Write copies of a strategy with different names, and return their folder."""
    folder = FOLDER / "copies"
    folder.mkdir(parents=True, exist_ok=True)
    text = strategy.read_text(encoding="utf-8")
    for number in range(count):
        named = text.replace(f"name: {strategy.stem}\n", f"name: copy-{number}\n", 1)
        (folder / f"copy-{number}.yaml").write_text(named, encoding="utf-8")
    return folder


def growth_strategy(groups: int) -> Path:
    """Write a strategy with a number of node groups in addition to the system group."""
    folder = FOLDER / "growth"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"growth-{groups}.yaml"
    lines = [
        "version: 1",
        f"name: growth-{groups}",
        "region: us-west-2",
        "node_groups:",
        "  - {name: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 3}}",
        *(f"  - {{name: cpu-{index}, instance_types: [m7i.xlarge], scaling: {{max: 2}}}}" for index in range(groups)),
        "",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def resources(name: str) -> int:
    """Return the number of resources and data sources in an app's output."""
    return sum(
        len(named)
        for document in documents(name).values()
        for section in ("resource", "data")
        for named in document.get(section, {}).values()  # type: ignore[attr-defined]
    )
