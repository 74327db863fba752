"""A plugin for pytest: after all tests are collected, each mutant gets a copy of the process that runs its tests.

Starting Python and collecting takes longer than the few tests that run a line.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import sys
import tempfile
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import coverage
import pytest
from mutations import Mutant, mutants, tree_of

_LINES = "lines.json"
_ROOT = Path.cwd()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Instead of running the tests."""
    outcome, seconds = Path(os.environ["MUTANTS_OUTCOME"]), int(os.environ["MUTANTS_SECONDS"])
    jobs = json.loads(Path(os.environ["MUTANTS_JOB"]).read_text())
    by_file: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in session.items:
        by_file[item.path.relative_to(_ROOT).as_posix()].append(item)
    lines_file = outcome.parent / _LINES
    if not lines_file.is_file():
        lines_file.write_text(json.dumps(_lines(session, by_file)))
    lines = json.loads(lines_file.read_text())
    costs = lines.pop("seconds")
    every: dict[str, list[Mutant]] = {}
    found = []
    for number, job in enumerate(jobs):
        file = job["file"]
        every.setdefault(file, mutants(_ROOT, file))
        mutant = next(each for each in every[file] if each.index == job["index"])
        tests = sorted(lines.get(file, {}).get(str(mutant.line), ()), key=lambda each: costs[each])
        items = [item for each in tests if each in by_file for item in by_file[each]]
        test = _forked(functools.partial(_try, session, mutant, items), seconds) if items else ""
        found.append(test)
        print(f"{number + 1}/{len(jobs)} {test or 'lives'}: {mutant}", file=sys.stderr, flush=True)
        outcome.write_text(json.dumps(found + [""] * (len(jobs) - len(found))))
    outcome.write_text(json.dumps(found))
    return True


def _lines(session: pytest.Session, by_file: dict[str, list[pytest.Item]]) -> dict[str, object]:
    """The test files that run each line of each module, and how many seconds each takes."""
    lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    seconds = {}
    for file, items in by_file.items():
        began = time.perf_counter()
        said = _forked(functools.partial(_covered, session, items), 900)
        seconds[file] = time.perf_counter() - began
        if not said.startswith("{"):
            raise RuntimeError(f"{file}: {said}")
        for module, numbers in json.loads(said).items():
            for number in numbers:
                lines[module][number].append(file)
        print(f"{file}: {seconds[file]:.1f} s", file=sys.stderr, flush=True)
    return {**lines, "seconds": seconds}


def _covered(session: pytest.Session, items: list[pytest.Item]) -> str:
    measured = coverage.Coverage(
        data_file=None, include=[f"{_ROOT}/eks_hardware/*", f"{_ROOT}/constructs/*"], config_file=False
    )
    _forget()
    measured.start()
    _run(session, items, stop=False)
    measured.stop()
    data = measured.get_data()
    files = {file: Path(file).resolve() for file in data.measured_files()}
    return json.dumps(
        {path.relative_to(_ROOT).as_posix(): data.lines(file) for file, path in files.items() if _ROOT in path.parents}
    )


def _try(session: pytest.Session, mutant: Mutant, items: list[pytest.Item]) -> str:
    """The first test that fails with a mutant."""
    _forget()
    if not _patch(mutant):
        return ""
    return _run(session, items, stop=True)


def _run(session: pytest.Session, items: list[pytest.Item], *, stop: bool) -> str:
    for index, item in enumerate(items):
        following = items[index + 1] if index + 1 < len(items) else None
        reports: list[pytest.TestReport] = []
        collector = _Collector(reports)
        session.config.pluginmanager.register(collector)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        session.config.pluginmanager.unregister(collector)
        if stop and any(each.failed for each in reports):
            return str(item.nodeid)
    return ""


class _Collector:
    def __init__(self, reports: list[pytest.TestReport]) -> None:
        self._reports = reports

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)


def _forked(work: Callable[[], str], seconds: int) -> str:
    """What work says in a copy of this process; ``timeout`` where it takes too long, ``crash`` where it ends."""
    with tempfile.NamedTemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            code = 1
            try:
                Path(answer.name).write_text(work())
                code = 0
            except BaseException as error:
                Path(answer.name).write_text(f"crash: {error!r}")
            finally:
                os._exit(code)
        end = time.monotonic() + seconds
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "timeout"
            time.sleep(0.01)
        return Path(answer.name).read_text() or ("crash" if status else "")


def _forget() -> None:
    """Empty the caches of functions: they hold what the unchanged code gave."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and _is_ours(getattr(each, "__module__", "") or ""):
            each.cache_clear()


def _is_ours(module: str) -> bool:
    return module.startswith(("eks_hardware", "helpers", "tests"))


def _patch(mutant: Mutant) -> bool:
    """Give the changed functions of a module their new code; whether there are any."""
    file = (_ROOT / mutant.file).resolve()
    new = {_name(each): each for each in _codes(compile(*tree_of(_ROOT, mutant), "exec"))}
    changed = False
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and Path(each.__code__.co_filename).resolve() == file:
            code = new.get(_name(each.__code__))
            if code and code.co_freevars == each.__code__.co_freevars and code != each.__code__:
                each.__code__ = code
                changed = True
    return changed


def _name(code: types.CodeType) -> tuple[str, int]:
    return getattr(code, "co_qualname", code.co_name), code.co_firstlineno


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes(each)
