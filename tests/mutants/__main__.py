"""Mutation tests: change one thing in the code at a time, and run the tests.

``make mutants`` uses a fixed sample of small changes (mutations.py). It makes each change in a copy of the tree in
.build/mutants and runs tests until one fails. It starts with the tests of the module, continues with all unit tests
that run this code, and ends with the tests of the synthesized stacks. It runs one process per processor.

Outcomes are saved in .build/mutants/outcomes.json, so an interrupted run continues; survivors are tried again. The
result lists each mutant that no test detects, unless equivalent.yaml says why no test can.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

from mutations import Mutant, modules, mutants, source  # noqa: E402

from helpers.paths import repository_files  # noqa: E402

BUILD = ROOT / ".build" / "mutants"
# Code to mutate, and its share of every 20 mutants.
TARGETS: Mapping[str, int] = {
    "eks_hardware/resolve": 6,
    "eks_hardware/rules": 6,
    "eks_hardware/cost": 2,
    "eks_hardware/aws_names.py": 1,
    "eks_hardware/resolve/zones.py": 1,
    "constructs": 4,
}
# Property tests that run this code.
PROPERTIES = tuple(
    f"tests/properties/test_{name}.py"
    for name in (
        "aws_names",
        "cidrs",
        "corpus",
        "rules_explained",
        "rules_needs",
        "rules_user_data",
        "user_data",
        "write",
        "zones",
    )
)
# Unit tests that run this code; those of commands, pages and the advisor would only be slower.
UNIT = (
    tuple(
        f"tests/unit/{name}"
        for name in (
            "cost",
            "resolve",
            "rules",
            "models",
            "explain",
            "validation",
            "kubernetes",
            "iam_policies",
            "test_adoption.py",
            "test_aws_names.py",
            "test_quotas.py",
            "test_strategies.py",
        )
    )
    + PROPERTIES
)
# Tests of synthesized stacks; they share one run of main.py.
SYNTH = tuple(
    f"tests/synth/test_{name}.py"
    for name in (
        "golden",
        "node_groups",
        "network",
        "cluster",
        "stack",
        "karpenter",
        "efa",
        "storage",
        "delivery",
        "service_roles",
        "explicit_edges",
        "change_a_setting",
        "adoption",
        "adopted_node_group",
        "extend",
    )
)
# The tests that are most likely to detect a mutant, by its folder or module.
NEAREST: Mapping[str, Sequence[str]] = {
    "eks_hardware/resolve": ("tests/unit/resolve", "tests/unit/test_strategies.py"),
    "eks_hardware/rules": ("tests/unit/rules", "tests/properties/test_corpus.py"),
    "eks_hardware/cost": ("tests/unit/cost",),
    "eks_hardware/aws_names.py": ("tests/unit/test_aws_names.py",),
    "constructs": SYNTH,
}
SEED = 14
_SECONDS = 900


def sample(count: int, seed: int = SEED) -> list[Mutant]:
    """Return a fixed sample of mutants.

    The mutants are chosen by the hashes of their keys, so that a change of the code changes the sample only there.
    """
    chosen: list[Mutant] = []
    taken: set[str] = set()
    for target, share in TARGETS.items():
        every = {each.key: each for file in modules(ROOT, (target,)) for each in mutants(ROOT, file)}
        wanted = round(count * share / sum(TARGETS.values()))
        keys = sorted(every.keys() - taken, key=lambda key: hashlib.sha256(f"{seed} {key}".encode()).digest())[:wanted]
        taken.update(keys)
        chosen += [every[key] for key in keys]
    return chosen


def copy_tree(tree: Path) -> None:
    """Copy the files that Git would commit; links stay links.

    Modules of the sample are written without comments, like mutants, so that only the mutation differs.
    """
    shutil.rmtree(tree, ignore_errors=True)
    for name in repository_files():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    for name in modules(tree, tuple(TARGETS)):
        (tree / name).write_text(ast.unparse(ast.parse((ROOT / name).read_text(encoding="utf-8"))), encoding="utf-8")
    for name in ("node_modules", ".venv"):
        (tree / name).symlink_to(ROOT / name)


def run_tests(tree: Path, tests: Sequence[str]) -> str:
    """Return the first test that fails in a copy of the tree, or an empty string if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "EKS_HARDWARE_PROPERTY_COUNT": "20"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"exit code {done.returncode}"


def try_mutant(tree: Path, mutant: Mutant) -> str:
    """Return the first test that detects a mutant."""
    file = tree / mutant.file
    before = file.read_text(encoding="utf-8")
    file.write_text(source(tree, mutant), encoding="utf-8")
    try:
        return next(filter(None, (run_tests(tree, tests) for tests in _stages(mutant))), "")
    finally:
        file.write_text(before, encoding="utf-8")


def _stages(mutant: Mutant) -> Iterator[Sequence[str]]:
    nearest = NEAREST[max((each for each in NEAREST if mutant.file.startswith(each)), key=len)]
    yield nearest
    yield [each for each in UNIT if each not in nearest]
    if nearest is not SYNTH:
        yield SYNTH


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description="count the code changes that the tests detect")
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--only", default="", help="a regular expression for the path of a module")
    parser.add_argument("--fresh", action="store_true", help="ignore the outcomes of an earlier run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(argv)
    BUILD.mkdir(parents=True, exist_ok=True)
    outcomes_file = BUILD / "outcomes.json"
    outcomes: dict[str, str] = {}
    if outcomes_file.is_file() and not given.fresh:
        outcomes = {key: test for key, test in json.loads(outcomes_file.read_text()).items() if test}
    equivalent: dict[str, str] = yaml.safe_load((HERE / "equivalent.yaml").read_text(encoding="utf-8")) or {}
    chosen = [each for each in sample(given.count) if re.search(given.only, each.file) and each.key not in equivalent]
    trees: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for number in range(given.jobs):
        copy_tree(BUILD / f"tree-{number}")
        trees.put(BUILD / f"tree-{number}")
    # A failing test would make every mutant look detected.
    if failed := run_tests(BUILD / "tree-0", [*UNIT, *SYNTH]):
        raise SystemExit(f"a test fails without any mutation: {failed}")

    def attempt(mutant: Mutant) -> tuple[Mutant, str]:
        tree = trees.get()
        try:
            return mutant, try_mutant(tree, mutant)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(given.jobs) as pool:
        for mutant, test in pool.map(attempt, [each for each in chosen if each.key not in outcomes]):
            outcomes[mutant.key] = test
            outcomes_file.write_text(json.dumps(outcomes, indent=1, sort_keys=True))
            print(f"{test or 'LIVES'}: {mutant}", flush=True)
    return print_report(chosen, outcomes, len(equivalent))


def print_report(chosen: Sequence[Mutant], outcomes: Mapping[str, str], equivalent: int) -> int:
    """Print the survivors and the counts; return 1 if fewer than 95% died."""
    alive = [each for each in chosen if not outcomes.get(each.key)]
    print("\nsurvivors:" if alive else "\nno survivors", *sorted(map(str, alive)), sep="\n")
    for folder, count in sorted(Counter(_target(each) for each in chosen).items()):
        print(f"{folder}: {count - sum(_target(each) == folder for each in alive)} of {count} died")
    print(f"{len(chosen) - len(alive)} of {len(chosen)} died; {equivalent} undetectable ones are left out")
    return 0 if len(alive) <= 0.05 * len(chosen) else 1


def _target(mutant: Mutant) -> str:
    return max((target for target in TARGETS if mutant.file.startswith(target)), key=len)


if __name__ == "__main__":
    sys.exit(main())
