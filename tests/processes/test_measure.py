"""Times and memory of commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Command, medians, output, peak_megabytes, seconds, typical


def _python(code: str, folder: Path, codes: frozenset[int] = frozenset({0})) -> Command:
    return Command((sys.executable, "-c", code), dict(os.environ), folder, codes)


def test_time_is_that_of_the_whole_process(tmp_path: Path) -> None:
    assert seconds(_python("import time; time.sleep(0.2)", tmp_path)) >= 0.2


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    failing = "print('what went wrong'); raise SystemExit(3)"
    with pytest.raises(RuntimeError, match=r"exited with code 3:\nwhat went wrong"):
        seconds(_python(failing, tmp_path))
    assert output(_python(failing, tmp_path, frozenset({3}))) == "what went wrong\n"
    with pytest.raises(RuntimeError, match="exited with code 3"):
        peak_megabytes(_python(failing, tmp_path))


def test_commands_take_turns_and_the_first_turn_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def noting(name: str) -> Command:
        return _python(f"open('log', 'a').write({name!r})", tmp_path)

    times = medians({"a": noting("a"), "b": noting("b")}, runs=4, rare=frozenset({"b"}))
    assert log.read_text() == "ab" + "ab" + "a" + "ab" + "a"
    assert {name: len(each) for name, each in times.items()} == {"a": 4, "b": 2}
    assert set(typical(times)) == {"a", "b"}


def test_memory_is_that_of_all_processes_together(tmp_path: Path) -> None:
    hold = "block = bytearray(60_000_000); import time; time.sleep(1)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    alone = peak_megabytes(_python(hold, tmp_path))
    both = peak_megabytes(_python(f"{child.replace('run', 'Popen')}; {hold}", tmp_path))
    assert 60 < alone < 120
    assert both > alone + 55
