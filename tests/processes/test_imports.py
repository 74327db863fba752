"""Modules that importing a package, or running a command, loads."""

from __future__ import annotations

import os
import subprocess
import sys

from helpers.paths import ROOT


def output_of(code: str, *arguments: str, **variables: str) -> str:
    """Return the output of a successful process, which prints nothing else except warnings about strategies."""
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr or "1 warning; see `eks-hardware validate" in done.stderr
    return done.stdout


def test_names_that_are_imported_late_are_those_that_are_exported() -> None:
    """``eks_hardware.stacks`` imports names on first use: type checkers see the same names."""
    code = (
        "import sys, eks_hardware.stacks as stacks\n"
        "assert not {'cdktf', 'constructs', 'jsii'} & set(sys.modules), sys.modules\n"
        "stacks.Extension, stacks.main, stacks.strategies\n"
        "assert not {'cdktf', 'constructs', 'jsii'} & set(sys.modules), sys.modules\n"
        "late = ' '.join(stacks._MODULES.values()).split()\n"
        "print(sorted(late) == stacks.__all__, set(stacks.__all__) <= set(dir(stacks)))\n"
        "try: stacks.nonsense\n"
        "except AttributeError as error: print(error)"
    )
    assert output_of(code).splitlines() == ["True True", "module 'eks_hardware.stacks' has no attribute 'nonsense'"]


def test_diff_does_not_import_the_framework_without_node() -> None:
    code = (
        "import sys; from eks_hardware.cli import app; app(sys.argv[1:], standalone_mode=False);"
        "print(sorted({'cdktf', 'constructs', 'jsii', 'boto3', 'moto'} & set(sys.modules)))"
    )
    assert output_of(code, "diff", "mixed-hardware", "gpu-training", PATH="").splitlines()[-1] == "[]"


def test_loading_the_catalogue_imports_neither_what_is_heavy_nor_figures_of_performance() -> None:
    code = (
        "import sys; from eks_hardware.catalogue import load; load().get('p5.48xlarge');"
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'pydantic', 'yaml', 'cdktf', 'jsii', 'boto3', 'botocore', 'moto', 'rich', 'click'}),"
        "*(f'eks_hardware.catalogue.{name}' in sys.modules for name in ('store', 'performance')))"
    )
    assert output_of(code) == "[] True False\n"


def test_the_testing_helpers_load_neither_pytest_nor_node() -> None:
    code = (
        "import sys, eks_hardware.testing;"
        "print(sorted({'pytest', 'cdktf', 'jsii', 'constructs', 'pydantic'} & set(sys.modules)))"
    )
    assert output_of(code) == "[]\n"
