"""Measures how much the tests notice: changes one thing in the code at a time, and runs the tests of that line.

``make mutants`` takes a fixed sample of small changes (mutations.py) in a copy of the tree below .build/mutants. First
it notes which test file runs which line. Then a mutant is tried:

1. in a copy of a process in which the unit tests are collected: the changed functions get their new code, and the test
   files that run the line are run until one fails;
2. where that finds nothing, or where the change is outside a function: in a process of its own, with the changed file;
3. last, and first for constructs: what the strategies synthesize to (tests/synth).

Outcomes are kept in .build/mutants/outcomes.json, so that an interrupted run goes on. A mutant that nothing notices is
listed, unless equivalent.yaml says why nothing can notice it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from mutations import Mutant, modules, mutants, source  # noqa: E402

BUILD = ROOT / ".build" / "mutants"
TREE = BUILD / "tree"
# Where mutants are looked for, and how many of every 20 come from there.
TARGETS: Mapping[str, int] = {
    "eks_hardware/resolve": 6,
    "eks_hardware/rules": 6,
    "eks_hardware/cost": 2,
    "eks_hardware/aws_names.py": 1,
    "eks_hardware/resolve/zones.py": 1,
    "constructs": 4,
}
# Unit tests that run this code; those of commands, pages and the advisor would only say the same more slowly.
UNIT = tuple(
    f"tests/unit/{name}"
    for name in (
        "cost",
        "explain",
        "iam_policies",
        "kubernetes",
        "models",
        "resolve",
        "rules",
        "validation",
        "test_adoption.py",
        "test_aws_names.py",
        "test_corpus.py",
        "test_quotas.py",
        "test_strategies.py",
    )
)
# Those that look at what is synthesized; they share one run of main.py.
SYNTH = tuple(
    f"tests/synth/test_{name}.py"
    for name in (
        "golden",
        "stack",
        "cluster",
        "network",
        "node_groups",
        "karpenter",
        "efa",
        "storage",
        "delivery",
        "service_roles",
        "explicit_edges",
        "extend",
    )
)
SEED = 14
_FIRST_SECONDS, _FRESH_SECONDS = 120, 600


def sample(count: int, seed: int = SEED) -> list[Mutant]:
    """A fixed sample of mutants."""
    chosen: dict[str, Mutant] = {}
    for target, share in TARGETS.items():
        every = [each for file in modules(ROOT, (target,)) for each in mutants(ROOT, file) if each.key not in chosen]
        wanted = min(len(every), round(count * share / sum(TARGETS.values())))
        for each in random.Random(f"{seed} {target}").sample(every, wanted):
            chosen[each.key] = each
    return list(chosen.values())


def copy_tree(tests: Sequence[str]) -> None:
    """Copy what Git would commit; links stay links. Which test runs which line is noted anew where anything changed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    shutil.rmtree(TREE, ignore_errors=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name, follow_symlinks=False)
    files = (file.read_bytes() for file in sorted(TREE.rglob("*.py")))
    digest = hashlib.sha256(b"".join([repr(tests).encode(), *files])).hexdigest()
    if not (BUILD / "digest").is_file() or (BUILD / "digest").read_text() != digest:
        (BUILD / "lines.json").unlink(missing_ok=True)
        (BUILD / "digest").write_text(digest)
    for name in ("node_modules", ".venv"):
        if not (TREE / name).exists():
            (TREE / name).symlink_to(ROOT / name)


def environment() -> dict[str, str]:
    """Where the copy is what Python finds."""
    return {**os.environ, "PYTHONPATH": str(TREE), "EKS_HARDWARE_PROPERTY_COUNT": "20"}


def unit(wanted: Sequence[Mutant], tests: Sequence[str]) -> dict[str, str]:
    """Try mutants in copies of a process that has collected the unit tests; those that are noticed, with the test."""
    job, outcome = BUILD / "job.json", BUILD / "unit.json"
    job.write_text(json.dumps([{"file": each.file, "line": each.line, "index": each.index} for each in wanted]))
    outcome.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "forked_plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
    subprocess.run(
        [*command, *tests],
        cwd=TREE,
        env={
            **environment(),
            "PYTHONPATH": os.pathsep.join([str(TREE), str(HERE)]),
            "MUTANTS_JOB": str(job),
            "MUTANTS_OUTCOME": str(outcome),
            "MUTANTS_SECONDS": str(_FIRST_SECONDS),
        },
        stdout=(BUILD / "unit.log").open("w"),
        check=False,
    )
    found: list[str] = json.loads(outcome.read_text())
    return {each.key: test for each, test in zip(wanted, found, strict=True) if test}


def fresh(mutant: Mutant, files: Sequence[str]) -> str:
    """The first test that notices a mutant in a process of its own."""
    if not files:
        return ""
    target = TREE / mutant.file
    before = target.read_bytes()
    target.write_text(source(ROOT, mutant), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files],
            cwd=TREE,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=_FRESH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        target.write_bytes(before)
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"exit code {done.returncode}"


def files_of(mutant: Mutant) -> list[str]:
    """The unit test files that run the line of a mutant, or its module where no function does."""
    lines: dict[str, list[str]] = json.loads((BUILD / "lines.json").read_text()).get(mutant.file, {})
    return lines.get(str(mutant.line)) or sorted({file for files in lines.values() for file in files})


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description="how many changes of the code do tests notice?")
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--only", default="", help="a regular expression for the path of a module")
    parser.add_argument(
        "--tests", nargs="+", default=UNIT, help="unit tests to try first, and the only ones with --quick"
    )
    parser.add_argument("--fresh", action="store_true", help="forget the outcomes of an earlier run")
    parser.add_argument("--quick", action="store_true", help="leave out processes of their own, and constructs")
    given = parser.parse_args(argv)
    outcomes_file = BUILD / "outcomes.json"
    BUILD.mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, str] = {}
    if outcomes_file.is_file() and not given.fresh:
        # What survived is tried again: a test may have come.
        outcomes = {key: test for key, test in json.loads(outcomes_file.read_text()).items() if test}
    equivalent: dict[str, str] = yaml.safe_load((HERE / "equivalent.yaml").read_text(encoding="utf-8")) or {}
    copy_tree(given.tests)
    chosen = [each for each in sample(given.count) if re.search(given.only, each.file) and each.key not in equivalent]
    if given.quick:
        chosen = [each for each in chosen if not each.file.startswith("constructs/")]
    open_ = [each for each in chosen if each.key not in outcomes]

    def keep(found: Mapping[str, str]) -> None:
        outcomes.update(found)
        outcomes_file.write_text(json.dumps(outcomes, indent=1, sort_keys=True))

    keep(unit([each for each in open_ if not each.file.startswith("constructs/")], given.tests))
    for each in open_ if not given.quick else ():
        if each.key not in outcomes:
            ours = [] if each.file.startswith("constructs/") else files_of(each)
            keep({each.key: fresh(each, ours) or fresh(each, SYNTH)})
            print(f"{'died' if outcomes[each.key] else 'LIVES'} {each}", flush=True)
    return report(chosen, outcomes, len(equivalent))


def report(chosen: Sequence[Mutant], outcomes: Mapping[str, str], equivalent: int) -> int:
    """Print what survived, and the figure; 1 where fewer than 95 % died."""
    alive = [each for each in chosen if not outcomes.get(each.key)]
    for each in sorted(alive, key=str):
        print(each)
    for folder, count in sorted(Counter(_folder(each) for each in chosen).items()):
        print(f"{folder}: {count - sum(_folder(each) == folder for each in alive)} of {count} died")
    print(f"{len(chosen) - len(alive)} of {len(chosen)} died; {equivalent} that nothing can notice are left out")
    return 0 if len(alive) <= 0.05 * len(chosen) else 1


def _folder(mutant: Mutant) -> str:
    return max((target for target in TARGETS if mutant.file.startswith(target)), key=len)


if __name__ == "__main__":
    sys.exit(main())
