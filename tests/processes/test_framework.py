"""The switch to CDK Terrain, with stub packages for the two frameworks; tests/cdktn uses the real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eks_hardware._framework import SWITCH, on_terrain
from eks_hardware.installed_from import install_command
from helpers.paths import ROOT, SHIPPED

# Each name has a module that contains its own name, because generated code imports its siblings.
_ROOT = "NAME = __name__\nclass App: ...\n"
_PROVIDER = "NAME = __name__\n"
_RESOURCE = "from .base import KIND\nclass Bucket: ...\n"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Return both frameworks, each with a provider."""
    for framework, provider in (("cdktf", "cdktf_cdktf_provider_aws"), ("cdktn", "cdktn_provider_aws")):
        files = {
            f"{framework}/__init__.py": _ROOT,
            f"{framework}/_jsii/__init__.py": "from .. import NAME\n",
            f"{provider}/__init__.py": f"import {framework}\n{_PROVIDER}",
            f"{provider}/bucket/__init__.py": _RESOURCE,
            f"{provider}/bucket/base.py": f"KIND = {provider!r}\n",
            f"{provider}/broken.py": "import no_such_dependency\n",
        }
        for name, text in files.items():
            file = tmp_path / "packages" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return tmp_path / "packages"


def _python(packages: Path, framework: str, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        SWITCH: framework,
        **variables,
    }
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def _printed(packages: Path, framework: str, code: str) -> str:
    done = _python(packages, framework, code)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("cdktf", "cdktn"),
        ("cdktf.testing", "cdktn.testing"),
        ("cdktf_cdktf_provider_aws", "cdktn_provider_aws"),
        ("cdktf_cdktf_provider_aws.s3_bucket", "cdktn_provider_aws.s3_bucket"),
        ("cdktf_cdktf_provider_kubernetes", "cdktn_provider_kubernetes"),
        ("cdktf_local_exec", None),
        ("cdktn", None),
        ("constructs", None),
        ("mine.cdktf", None),
    ],
)
def test_what_a_module_is_called_in_cdk_terrain(name: str, real: str | None) -> None:
    assert on_terrain(name) == real


@pytest.mark.parametrize(
    ("framework", "imported"), [("", "cdktf"), ("cdktf", "cdktf"), ("cdktn", "cdktn"), (" cdktn ", "cdktn")]
)
def test_the_framework_is_the_one_that_is_chosen(packages: Path, framework: str, imported: str) -> None:
    code = (
        "import eks_hardware._framework as switch, cdktf\n"
        "from cdktf_cdktf_provider_aws.bucket import KIND\n"
        "switch.check()\n"
        "print(cdktf.NAME, KIND)"
    )
    provider = {"cdktf": "cdktf_cdktf_provider_aws", "cdktn": "cdktn_provider_aws"}[imported]
    assert _printed(packages, framework, code) == f"{imported} {provider}"


def test_both_names_are_the_same_module(packages: Path) -> None:
    """Each class exists once, under any name and import order."""
    code = """
import eks_hardware, sys
from cdktf import App
import cdktn, cdktf
import cdktn_provider_aws.bucket, cdktf_cdktf_provider_aws.bucket
import cdktf_cdktf_provider_aws as aws
assert cdktf is cdktn and App is cdktn.App
assert aws is cdktn_provider_aws and aws.bucket is cdktf_cdktf_provider_aws.bucket is cdktn_provider_aws.bucket
for name, real in {"cdktf": "cdktn", "cdktf_cdktf_provider_aws.bucket": "cdktn_provider_aws.bucket"}.items():
    assert sys.modules[name] is sys.modules[real]
    assert (sys.modules[name].__name__, sys.modules[name].__spec__.name) == (real, real)
import cdktf._jsii  # its relative import would warn with the alias's spec
print(cdktf._jsii.NAME)
"""
    assert _printed(packages, "cdktn", code) == "cdktn"


def test_modules_that_fail_say_why(packages: Path) -> None:
    for module, lacking in (("broken", "no_such_dependency"), ("nothing", "cdktn_provider_aws.nothing")):
        done = _python(packages, "cdktn", f"import eks_hardware, cdktf_cdktf_provider_aws.{module}")
        assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: No module named {lacking!r}"


CHECK = "import eks_hardware._framework as switch; switch.check()"


@pytest.mark.parametrize(
    ("framework", "lacking", "code", "message"),
    [
        ("terrain", "", CHECK, "EKS_HARDWARE_FRAMEWORK must be cdktf or cdktn, got 'terrain'; correct or unset it"),
        ("CDKTN", "", CHECK, "EKS_HARDWARE_FRAMEWORK must be cdktf or cdktn, got 'CDKTN'; correct or unset it"),
        (
            "cdktn",
            "cdktn",
            "import eks_hardware, cdktf",
            f"EKS_HARDWARE_FRAMEWORK=cdktn needs cdktn, which is not installed: {install_command('cdktn')}",
        ),
        (
            "cdktn",
            "cdktn_provider_aws",
            "import eks_hardware, cdktf_cdktf_provider_aws.bucket",
            "EKS_HARDWARE_FRAMEWORK=cdktn needs cdktn_provider_aws, which is not installed: "
            f"{install_command('cdktn')}",
        ),
        (
            "cdktn",
            "",
            "import eks_hardware, cdktf_cdktf_provider_google_beta.x",
            "EKS_HARDWARE_FRAMEWORK=cdktn needs cdktn_provider_google_beta, which is not installed: "
            "pip install cdktn-provider-google-beta",
        ),
        (
            "cdktn",
            "",
            f"import cdktf; {CHECK}",
            "cdktf was imported before eks_hardware, so EKS_HARDWARE_FRAMEWORK=cdktn has no effect; "
            "import eks_hardware first, or import from cdktn instead of cdktf",
        ),
        (
            "",
            "",
            f"import eks_hardware, os; os.environ['EKS_HARDWARE_FRAMEWORK'] = 'cdktn'; {CHECK}",
            "EKS_HARDWARE_FRAMEWORK=cdktn was set after eks_hardware was imported; set it before the import",
        ),
        (
            "cdktf",
            "",
            f"import cdktn; {CHECK}",
            "this app imports cdktn, which cannot be mixed with cdktf; "
            "set EKS_HARDWARE_FRAMEWORK=cdktn for eks_hardware",
        ),
    ],
)
def test_what_cannot_work_is_reported_in_one_sentence(
    packages: Path, framework: str, lacking: str, code: str, message: str
) -> None:
    if lacking:
        (packages / lacking).rename(packages / "elsewhere")
    done = _python(packages, framework, code)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"eks_hardware._framework.FrameworkError: {message}"


def test_cdk_for_terraform_may_be_uninstalled(packages: Path) -> None:
    """This environment has it, so only the separate path is searched."""
    (packages / "cdktf").rename(packages / "elsewhere")
    code = f"import eks_hardware, sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; {CHECK}"
    assert _printed(packages, "cdktn", f"{code}; import cdktf; print(cdktf.NAME)") == "cdktn"
    done = _python(packages, "", code)
    assert done.stderr.splitlines()[-1].endswith(
        "cdktf is not installed; install it, or set EKS_HARDWARE_FRAMEWORK=cdktn to use cdktn"
    )


def test_a_provider_of_cdk_terrain_in_an_app_of_cdktf_is_left_alone(packages: Path) -> None:
    """This order works, the reverse does not."""
    code = f"import cdktf, cdktn_provider_aws, sys; {CHECK}; print(cdktf.NAME, 'cdktn' in sys.modules)"
    assert _printed(packages, "cdktf", code) == "cdktf True"


def test_the_hook_is_installed_once_and_only_when_it_is_asked_for(packages: Path) -> None:
    code = (
        "import eks_hardware, sys, eks_hardware._framework as switch\n"
        "switch.install()\n"
        "print(sum(type(finder).__name__ == '_AliasFinder' for finder in sys.meta_path))"
    )
    assert [_printed(packages, framework, code) for framework in ("", "cdktf", "terrain", "cdktn")] == list("0001")


def test_commands_that_need_no_framework_do_not_look_at_the_switch(packages: Path) -> None:
    for framework in ("cdktn", "terrain"):
        code = (
            "import sys\n"
            "from eks_hardware.cli import main\n"
            f"sys.argv = ['eks-hardware', 'validate', {str(SHIPPED / 'development.yaml')!r}]\n"
            "try:\n"
            "    main()\n"
            "finally:\n"
            "    assert not {'cdktf', 'cdktn', 'jsii'} & set(sys.modules)"
        )
        done = _python(packages, framework, code)
        assert done.returncode == 0, done.stderr


def test_the_app_says_it_in_one_line(packages: Path) -> None:
    """On stderr, which the CDKTF command line shows."""
    (packages / "cdktn").rename(packages / "elsewhere")
    for framework, line in (
        ("terrain", "error: EKS_HARDWARE_FRAMEWORK must be cdktf or cdktn, got 'terrain'; correct or unset it\n"),
        (
            "cdktn",
            f"error: EKS_HARDWARE_FRAMEWORK=cdktn needs cdktn, which is not installed: {install_command('cdktn')}\n",
        ),
    ):
        code = "import runpy; runpy.run_module('eks_hardware', run_name='__main__')"
        done = _python(packages, framework, code, EKS_HARDWARE_STRATEGIES=str(SHIPPED / "development.yaml"))
        assert (done.returncode, done.stderr) == (1, line)
