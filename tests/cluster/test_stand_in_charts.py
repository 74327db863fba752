"""The folder of charts for ``install.sh`` on a local cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from eks_hardware.local.stand_in_charts import Chart, charts_folder

KARPENTER, KUEUE, OWN = Chart("karpenter", "1.14.1"), Chart("kueue", "0.18.3"), Chart("of-the-user", "2.0.0")


def test_given_charts_come_first_and_missing_ones_are_stand_ins(tmp_path: Path, tools: Mapping[str, Path]) -> None:
    given, folder = tmp_path / "given", tmp_path / "charts"
    given.mkdir()
    (given / KUEUE.archive).write_bytes(b"a chart")
    stand_ins = charts_folder((KARPENTER, KUEUE, OWN, OWN), folder, tools, given=given)
    assert stand_ins == (OWN,)
    assert {file.name for file in folder.iterdir()} == {
        "SHA256SUMS",
        *(each.archive for each in (KARPENTER, KUEUE, OWN)),
    }
    assert (folder / KUEUE.archive).read_bytes() == b"a chart"
    shown = subprocess.run(
        [tools["helm"], "template", folder / OWN.archive], check=True, capture_output=True, encoding="utf-8"
    )
    assert shown.stdout.strip() == "", "a chart that is not in the table has no objects"
