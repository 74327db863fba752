"""Programs in guides, run as written in another team's project."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import runpy
import shutil
import traceback
from pathlib import Path

import pytest

from eks_hardware.testing import Template
from helpers.paths import ROOT, SHIPPED


def blocks(guide: str, language: str = "python") -> list[str]:
    """Return the code blocks of a guide, in order."""
    text = (ROOT / "docs" / "guides" / f"{guide}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run_program(folder: Path, program: str) -> tuple[int, str]:
    """Run a program from a folder like ``python main.py``; return its exit code and stderr.

    It runs in this process, because starting Python and Node takes longer than the program. tests/package and
    tests/examples run programs in separate processes.
    """
    (folder / "main.py").write_text(program, encoding="utf-8")
    from cdktf import App

    with contextlib.redirect_stderr(io.StringIO()) as stderr, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # Node has already read CDKTF_OUTDIR.
        patch.setattr(App, "__init__", functools.partialmethod(App.__init__, outdir=str(folder / "out")))
        patch.syspath_prepend(str(folder))
        patch.setattr("sys.argv", ["main.py"])
        try:
            runpy.run_path("main.py", run_name="__main__")
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except Exception:
            traceback.print_exc()
            code = 1
    return code, stderr.getvalue()


def run_with_strategy(folder: Path, program: str, added: str = "") -> tuple[int, str]:
    """Run a ``main.py`` with mixed-hardware and additions as its strategy; return its exit code and stderr."""
    (folder / "strategies").mkdir(exist_ok=True)
    strategy = folder / "strategies" / "mixed-hardware.yaml"
    shutil.copy(SHIPPED / strategy.name, strategy)
    with strategy.open("a", encoding="utf-8") as file:
        file.write(added)
    return run_program(folder, program)


def stacks_of_program(folder: Path, program: str, added: str = "") -> dict[str, Template]:
    """Run a valid ``main.py``; return its stacks by name."""
    code, said = run_with_strategy(folder, program, added)
    assert code == 0, said
    assert said == ""
    files = (folder / "out" / "stacks").glob("*/cdk.tf.json")
    return {file.parent.name: Template.from_json(file) for file in files}
