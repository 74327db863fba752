"""The lazily loaded provider package has the same result as the unmodified package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.answers import Answer, contents, packages
from helpers.paths import ROOT
from helpers.running import Run, run_app


def test_lazy_and_eager_give_the_same_bytes(lazy_run: Run, eager_run: Run) -> None:
    assert (eager_run.code, eager_run.err) == (0, "")
    eager, lazy = eager_run.stacks(), lazy_run.stacks()
    assert eager == {name: lazy[name] for name in eager}
    # A sub-module is loaded or not: the strategies of the eager run use all that any strategy uses.
    assert modules_used(eager) == modules_used(lazy)


def modules_used(stacks: Mapping[str, bytes]) -> set[tuple[str, str]]:
    """Return kind and type of everything that a provider's sub-modules create."""
    documents = [json.loads(each) for each in stacks.values()]
    kinds = ("data", "provider", "resource")
    return {(kind, type_) for each in documents for kind in kinds for type_ in each.get(kind, ())}


def test_only_what_is_used_is_loaded(lazy_run: Run) -> None:
    """The provider has 2,210 sub-modules; a sub-module that imports others would show here."""
    loaded = [name for name in lazy_run.modules if name.startswith("cdktf_cdktf_provider_aws.")]
    assert "cdktf_cdktf_provider_aws.eks_cluster" in loaded
    assert len(loaded) < 150


def test_a_resource_is_found_from_the_root() -> None:
    """As examples on the internet write it."""
    import cdktf_cdktf_provider_aws as aws

    assert aws.s3_bucket.S3Bucket.TF_RESOURCE_TYPE == "aws_s3_bucket"


def test_constructs_is_the_library_and_ours_have_one_name(lazy_run: Run) -> None:
    """Also from the repository root, which has a folder called constructs (docs/adr/0001)."""
    folders = {folder.name for folder in (ROOT / "constructs").iterdir() if folder.is_dir()}
    below = {name.split(".")[1] for name in lazy_run.modules if name.startswith("constructs.")}
    assert "_jsii" in below
    assert not below & folders
    assert "eks_hardware.constructs.network" in lazy_run.modules
    assert not {"config", "stacks"} & {name.split(".")[0] for name in lazy_run.modules}


# --- Node

HOOK = ROOT / "eks_hardware" / "lazy_providers.js"


@pytest.fixture
def node_modules(tmp_path: Path) -> Path:
    """Create packages that print which of their files was loaded, and a copy of the hook, in a folder with spaces."""
    folder = tmp_path / "a folder" / "node_modules"
    for name, files in {
        "@cdktf/provider-aws": ("index", "lazy-index"),
        "@cdktf/provider-old": ("index",),
        "other": ("index", "lazy-index"),
    }.items():
        (folder / name / "lib").mkdir(parents=True)
        (folder / name / "package.json").write_text(json.dumps({"name": name, "main": "lib/index.js"}))
        for each in files:
            (folder / name / "lib" / f"{each}.js").write_text(f"module.exports = {json.dumps(each)};")
    shutil.copy(HOOK, folder)
    return folder


def _loaded_by_node(folder: Path, package: str, **variables: str) -> str:
    """Return the loaded package in the child of a Node process, such as jsii's kernel."""
    code = f"process.stdout.write(String(require({json.dumps(package)})))"
    parent = (
        "process.stdout.write(require('child_process').execFileSync("
        f"process.execPath, ['--input-type=commonjs', '--eval', {json.dumps(code)}]))"
    )
    options = f'--max-old-space-size=512 --require "{folder / HOOK.name}"'
    environment = {**os.environ, "NODE_OPTIONS": options, **variables}
    done = subprocess.run(
        ["node", "--eval", parent], cwd=folder.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("package", "file"),
    [("@cdktf/provider-aws", "lazy-index"), ("@cdktf/provider-old", "index"), ("other", "index")],
)
def test_node_loads_the_lazy_index_of_providers(node_modules: Path, package: str, file: str) -> None:
    assert _loaded_by_node(node_modules, package) == file


def test_node_loads_the_whole_when_it_is_switched_off(node_modules: Path) -> None:
    assert _loaded_by_node(node_modules, "@cdktf/provider-aws", EKS_HARDWARE_EAGER_PROVIDERS="1") == "index"


def test_a_provider_that_cannot_be_read_is_left_alone(node_modules: Path) -> None:
    manifest = node_modules / "@cdktf" / "provider-aws" / "package.json"
    manifest.write_text(json.dumps({"main": "lib/index.js"}))
    assert _loaded_by_node(node_modules, "@cdktf/provider-aws") == "index"


# --- jsii's index of a provider


def _exits_early(folder: Path, **variables: str) -> bool:
    """Return whether a worker that writes an index finishes if its Node process must exit immediately."""
    (folder / "runtime-index-worker.js").write_text(
        "const { workerData } = require('worker_threads');"
        "setTimeout(() => require('fs').writeFileSync(workerData.packageDir + '/.jsii.runtime.v1.json', '{}'), 400);"
    )
    code = (
        "const { Worker } = require('worker_threads');"
        "const path = require('path');"
        "const workerData = { packageDir: process.cwd() };"
        "const worker = new Worker(path.resolve('runtime-index-worker.js'), { workerData });"
        "worker.on('online', () => process.exit(7));"
    )
    environment = {**os.environ, "NODE_OPTIONS": f'--require "{HOOK}"', **variables}
    done = subprocess.run(
        ["node", "--eval", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (7, "")
    return not (folder / ".jsii.runtime.v1.json").exists()


def test_node_stops_when_the_index_is_written(tmp_path: Path) -> None:
    assert not _exits_early(tmp_path)


def test_node_stops_as_ever_when_it_is_switched_off(tmp_path: Path) -> None:
    assert _exits_early(tmp_path, EKS_HARDWARE_EAGER_PROVIDERS="1")


def test_an_index_that_is_never_written_does_not_hold_node_up(tmp_path: Path) -> None:
    code = (
        "const { Worker } = require('worker_threads');"
        "new Worker('setInterval(() => {}, 1000)', { eval: true, workerData: { packageDir: process.cwd() } })"
        ".on('online', () => process.exit(0));"
    )
    environment = {**os.environ, "NODE_OPTIONS": f'--require "{HOOK}"'}
    done = subprocess.run(["node", "--eval", code], cwd=tmp_path, env=environment, timeout=120, check=False)
    assert done.returncode == 0


# Loads both providers. jsii gives Node 5 seconds to exit, and our hook gives it less; an index takes longer on a busy
# machine, which is not what the test is about.
_PATIENT = """
import subprocess, sys
from eks_hardware import _lazy_providers
_lazy_providers._NODE_HOOK = sys.argv[1]
wait = subprocess.Popen.wait
subprocess.Popen.wait = lambda process, timeout=None: wait(process, 120 if timeout == 5 else timeout)
import cdktf_cdktf_provider_aws.s3_bucket, cdktf_cdktf_provider_helm.release
"""


def test_the_first_run_leaves_an_index_of_every_package(tmp_path: Path) -> None:
    """jsii writes it in a thread that ends with the process: a fast app would never get one and would always be slow.

    Without it, every run parses the provider's 131 MB assembly: 1.2 GB instead of 0.2 GB, and twice the time.
    """
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    ours = [ROOT / "eks_hardware" / name for name in ("_lazy_providers.py", HOOK.name)]
    answer = Answer("jsii-index", [sys.version, node, *packages(), *contents([Path(__file__), *ours])])
    assert answer.get(lambda: _without_index(tmp_path)) == []


def _without_index(tmp_path: Path) -> list[str]:
    """Return the packages that have no index after a first run; a quarter of a minute."""
    code, limit = HOOK.read_text(encoding="utf-8"), "LONGEST_WAIT_MS = 4500;"
    assert limit in code
    patient = tmp_path / HOOK.name
    patient.write_text(code.replace(limit, "LONGEST_WAIT_MS = 110000;"), encoding="utf-8")
    cache = tmp_path / "cache"
    run = run_app(tmp_path / "cdktf.out", "-c", _PATIENT, str(patient), JSII_RUNTIME_PACKAGE_CACHE_ROOT=str(cache))
    assert (run.code, run.err) == (0, "")
    unpacked = {file.parent for file in cache.rglob(".jsii")}
    assert {"constructs", "cdktf", "provider-aws", "provider-helm"} <= {
        each.relative_to(cache).parts[-3] for each in unpacked
    }
    return [str(each) for each in unpacked if not list(each.glob(".jsii.runtime.v*.json"))]
