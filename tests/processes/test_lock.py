"""Concurrent processes that write one lock file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from eks_hardware.advisor.strategies import lock
from helpers.locking import entry
from helpers.paths import ROOT

_WRITER = """
import sys
from pathlib import Path
from eks_hardware.advisor.strategies import lock
path = Path(sys.argv[1])
(one,) = lock.read(path)
for number in range(150):
    entries = [one.model_copy(update={"path": f"node_groups[{sys.argv[2]}-{each}]"}) for each in range(number % 9 + 1)]
    lock.write(path, entries)
"""


def test_two_runs_at_once_never_make_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "demo.lock.json"
    source = tmp_path / "source.lock.json"
    lock.write(source, [entry()])
    lock.write(path, [entry()])
    script = _WRITER.replace("lock.read(path)", f"lock.read(Path({str(source)!r}))")
    runs = [subprocess.Popen([sys.executable, "-c", script, str(path), name], cwd=ROOT) for name in ("a", "b")]
    while any(run.poll() is None for run in runs):
        assert {each.path[:13] for each in lock.read(path)} <= {"node_groups[l", "node_groups[a", "node_groups[b"}
    assert [run.returncode for run in runs] == [0, 0]
    assert len({each.path[12] for each in lock.read(path)}) == 1
