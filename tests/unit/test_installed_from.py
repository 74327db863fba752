"""The source that eks-hardware was installed from, as a line of a requirements file and as a command."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest

import eks_hardware
from eks_hardware import installed_from
from eks_hardware.installed_from import Source, install_command, source
from helpers.cases import in_one_test

WHEEL = f"eks_hardware-{eks_hardware.__version__}-py3-none-any.whl"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the content of ``direct_url.json``, to be filled in."""
    content: dict[str, Any] = {}
    monkeypatch.setattr(installed_from, "_direct_url", lambda: content)
    monkeypatch.setattr(installed_from, "_git", lambda *_: "")
    monkeypatch.setattr(installed_from, "which", lambda name: str(Path(sys.executable).with_name(name)))
    return content


@in_one_test(
    ("requirement", "arguments"),
    [
        ("eks-hardware~=0.1.0", "'eks-hardware[local]~=0.1.0'"),
        ("eks-hardware @ git+https://a/b@c", "'eks-hardware[local] @ git+https://a/b@c'"),
        ("./wheels/a.whl", "'./wheels/a.whl[local]'"),
        ("-e file:///our%20checkout", "-e 'file:///our%20checkout[local]'"),
    ],
)
def test_a_requirement_with_an_extra(requirement: str, arguments: str) -> None:
    assert Source(requirement, "").with_extra("local") == arguments


@pytest.mark.usefixtures("recorded")
def test_an_index() -> None:
    assert source().requirement == f"eks-hardware~={eks_hardware.__version__}"
    assert install_command("doctor") == "pip install 'eks-hardware[doctor]'"


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, f"git+https://example.com/OWNER/eks-hardware@{COMMIT}"),
        ({"subdirectory": "a"}, f"git+https://example.com/OWNER/eks-hardware@{COMMIT}#subdirectory=a"),
    ],
)
def test_a_git_url_is_pinned_to_its_commit(recorded: dict[str, Any], more: dict[str, str], line: str) -> None:
    vcs = {"vcs": "git", "commit_id": COMMIT, "requested_revision": "main"}
    recorded.update({"url": "https://example.com/OWNER/eks-hardware", "vcs_info": vcs, **more})
    assert source().requirement == f"eks-hardware @ {line}"
    assert source().summary == "eks-hardware at commit 0123456789ab"
    assert install_command("local") == f"pip install 'eks-hardware[local] @ {line}'"


def test_a_wheel_of_a_release_is_pinned_to_its_hash(recorded: dict[str, Any]) -> None:
    recorded.update({"url": f"https://example.com/{WHEEL}", "archive_info": {"hashes": {"sha256": "0a1b"}}})
    assert source().requirement == f"eks-hardware @ https://example.com/{WHEEL}#sha256=0a1b"
    assert source().summary == WHEEL
    recorded["archive_info"] = {"hash": "sha256=0a1b"}  # an older pip
    assert source().requirement.endswith("#sha256=0a1b")
    recorded["archive_info"] = {}  # uv
    assert source().requirement == f"eks-hardware @ https://example.com/{WHEEL}"


def test_a_wheel_on_this_machine_is_copied_to_the_project(recorded: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / WHEEL
    file.write_bytes(b"wheel")
    sha256 = hashlib.sha256(b"wheel").hexdigest()
    recorded.update({"url": file.as_uri(), "archive_info": {"hashes": {"sha256": sha256}}})
    assert (source().requirement, source().wheel) == (f"./wheels/{WHEEL}", file)
    assert install_command("local") == f"pip install 'eks-hardware[local] @ {file.as_uri()}'"


@pytest.mark.parametrize("now", [b"another build", None])
def test_a_wheel_that_is_no_longer_the_installed_one(
    recorded: dict[str, Any], tmp_path: Path, now: bytes | None
) -> None:
    file = tmp_path / WHEEL
    if now:
        file.write_bytes(now)
    recorded.update({"url": file.as_uri(), "archive_info": {"hashes": {"sha256": "0a1b"}}})
    assert source().requirement == f"eks-hardware~={eks_hardware.__version__}"
    assert source().summary.endswith(f"because {file} is gone or has changed")


def test_a_source_archive_on_this_machine(recorded: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "eks_hardware.tar.gz"
    file.touch()
    recorded.update({"url": file.as_uri(), "archive_info": {}})
    assert (source().requirement, source().local) == (f"eks-hardware @ {file.as_uri()}", True)


@pytest.mark.parametrize(("editable", "start"), [(True, "-e "), (False, "eks-hardware @ ")])
def test_a_checkout_that_is_only_here(recorded: dict[str, Any], tmp_path: Path, editable: bool, start: str) -> None:
    folder = tmp_path / "our checkout"
    recorded.update({"url": folder.as_uri(), "dir_info": {"editable": editable}})
    assert (source().requirement, source().local) == (start + folder.as_uri(), True)
    assert source().summary == f"the checkout in {folder}"
    assert install_command("local") == f"pip install {'-e ' if editable else ''}'{folder}[local]'"


REMOTES = {
    "https://example.com/OWNER/eks-hardware.git": "git+https://example.com/OWNER/eks-hardware.git",
    "https://me:secret@example.com:8443/a.git": "git+https://example.com:8443/a.git",
    "git@example.com:OWNER/eks-hardware.git": "git+ssh://git@example.com/OWNER/eks-hardware.git",
    "ssh://git@example.com/a.git": "git+ssh://git@example.com/a.git",
    "/srv/git/a": "",
    "file:///srv/git/a": "",
    "": "",
}


@in_one_test(("remote", "expected"), REMOTES.items(), ids=REMOTES)
def test_a_pushed_checkout_is_pinned_to_its_commit(
    recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, remote: str, expected: str
) -> None:
    said = {"remote": remote, "rev-parse": COMMIT, "branch": "origin/main", "status": ""}
    monkeypatch.setattr(installed_from, "_git", lambda *arguments: said[arguments[1]])
    recorded.update({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert source().requirement == (f"eks-hardware @ {expected}@{COMMIT}" if expected else f"-e {tmp_path.as_uri()}")
    for changed in ({"branch": ""}, {"status": " M README.md"}):
        said.update(changed)
        assert source().requirement == f"-e {tmp_path.as_uri()}"


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("found", [None, "/usr/bin/pip"])
def test_an_environment_that_is_not_active(monkeypatch: pytest.MonkeyPatch, found: str | None) -> None:
    monkeypatch.setattr(installed_from, "which", lambda _: found)
    monkeypatch.setattr("sys.executable", "/home/me/my venv/bin/python")
    assert install_command("local") == "'/home/me/my venv/bin/python' -m pip install 'eks-hardware[local]'"


@pytest.mark.parametrize(
    ("marker", "start"),
    [("uv-receipt.toml", "uv tool install --force"), ("pipx_metadata.json", "pipx install --force")],
)
@pytest.mark.usefixtures("recorded")
def test_the_installer_that_was_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, marker: str, start: str) -> None:
    (tmp_path / marker).touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert install_command("local") == f"{start} 'eks-hardware[local]'"
