"""Where eks-hardware was installed from: an index, a Git URL, a wheel, or a checkout.

Installers record every source other than an index in ``direct_url.json``.
Source: https://packaging.python.org/en/latest/specifications/direct-url/
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlsplit

from eks_hardware import __version__

__all__ = ["WHEEL", "Source", "install_command", "source"]

_NAME = "eks-hardware"
_RELEASE = f"{_NAME}~={__version__}"
WHEEL = f"eks_hardware-{__version__}-py3-none-any.whl"
"""Name of the file that ``pip wheel`` builds."""
# git@host:owner/repository.git, which pip accepts only as ssh://git@host/owner/repository.git.
_SCP = re.compile(r"(?P<user>[\w.-]+@)?(?P<host>[\w.-]+):(?P<path>[^/\s].*)")


@dataclass(frozen=True)
class Source:
    """The source of the installed package.

    Attributes:
        requirement: a line of a requirements file that installs the same package.
        summary: a short description of the source for a person.
        url: the URL after ``eks-hardware @``; empty for an index.
        commit: the URL and the commit of a Git repository that others can clone; None for every other source.
        wheel: the wheel on this machine. The requirement names its copy in the project's ``wheels/``.
        local: whether the requirement works only on this machine.
    """

    requirement: str
    summary: str
    url: str = ""
    commit: tuple[str, str] | None = None
    wheel: Path | None = None
    local: bool = False

    def with_extra(self, extra: str) -> str:
        """Return the arguments for ``pip install`` that add an extra in a project."""
        option = "-e " if self.requirement.startswith("-e ") else ""
        plain = self.requirement.removeprefix(option)
        name = plain.startswith(_NAME)
        return option + shlex.quote(plain.replace(_NAME, f"{_NAME}[{extra}]", 1) if name else f"{plain}[{extra}]")


def source() -> Source:
    """Return the source of the installed package; an index if the installer recorded no other source."""
    recorded = _direct_url()
    url = str(recorded.get("url", ""))
    if git := recorded.get("vcs_info"):
        place = f"#subdirectory={recorded['subdirectory']}" if recorded.get("subdirectory") else ""
        found = _pinned_commit(f"{git['vcs']}+{url}", str(git["commit_id"]), place)
        return replace(found, local=url.startswith("file:"))
    if not url:
        return Source(_RELEASE, _RELEASE)
    if "dir_info" in recorded:
        folder = _path(url)
        if pushed := _pushed(folder):
            return _pinned_commit(*pushed)
        editable = bool(recorded["dir_info"].get("editable"))
        line = f"-e {url}" if editable else f"{_NAME} @ {url}"
        return Source(line, f"the checkout in {folder}", url, local=True)
    sha256 = _sha256(recorded.get("archive_info", {}))
    if url.startswith("file:"):
        return _file(_path(url), url, sha256)
    url += f"#sha256={sha256}" if sha256 else ""
    return Source(f"{_NAME} @ {url}", url.partition("#")[0].rpartition("/")[2], url)


def install_command(extra: str) -> str:
    """Return the command that reinstalls this package with an extra, with the same installer as before."""
    recorded = _direct_url()
    if "dir_info" in recorded:
        editable = "-e " if recorded["dir_info"].get("editable") else ""
        wanted = editable + shlex.quote(f"{_path(recorded['url'])}[{extra}]")
    else:
        url = source().url
        wanted = shlex.quote(f"{_NAME}[{extra}]" + (f" @ {url}" if url else ""))
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").is_file():
        return f"uv tool install --force {wanted}"
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx install --force {wanted}"
    return f"{_pip()} install {wanted}"


def _pip() -> str:
    """Return the command for this environment's pip: ``pip`` if the PATH finds this environment's."""
    pip = which("pip")
    if pip and Path(pip).parent == Path(sys.executable).parent:
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"


def _direct_url() -> dict[str, Any]:
    from importlib import metadata  # its import is slower than most commands

    try:
        recorded = json.loads(metadata.distribution(_NAME).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    return recorded if isinstance(recorded, dict) else {}


def _pinned_commit(url: str, commit: str, place: str = "") -> Source:
    pinned = f"{url}@{commit}{place}"
    # pre-commit clones only Git repositories, and reads hooks only in their root.
    clonable = url.startswith("git+") and not place
    repository = (url.removeprefix("git+"), commit) if clonable else None
    return Source(f"{_NAME} @ {pinned}", f"{_NAME} at commit {commit[:12]}", pinned, repository)


def _file(file: Path, url: str, sha256: str) -> Source:
    """Return a local archive if it is still the installed file; otherwise the version, which an index may offer."""
    if not file.is_file() or (sha256 and hashlib.sha256(file.read_bytes()).hexdigest() != sha256):
        return Source(_RELEASE, f"{_RELEASE}, because {file} is gone or has changed", url)
    if file.suffix != ".whl":
        return Source(f"{_NAME} @ {url}", f"the archive {file}", url, local=True)
    return Source(f"./wheels/{file.name}", f"wheels/{file.name}", url, wheel=file)


def _sha256(archive: dict[str, Any]) -> str:
    """Return the recorded SHA-256 of an archive, in the current or the older format; empty if none is recorded."""
    older = str(archive.get("hash", "")).partition("sha256=")[2]
    return str(archive.get("hashes", {}).get("sha256", older))


def _path(url: str) -> Path:
    from urllib.request import url2pathname  # imports an HTTP client

    return Path(url2pathname(urlsplit(url).path))


def _pushed(checkout: Path) -> tuple[str, str] | None:
    """Return the Git URL and the commit of a checkout, if others can install exactly these files from there."""
    url = _pip_url(_git(checkout, "remote", "get-url", "origin"))
    commit = _git(checkout, "rev-parse", "HEAD")
    if not url or not commit or not _git(checkout, "branch", "--remotes", "--contains", commit):
        return None
    return None if _git(checkout, "status", "--porcelain") else (url, commit)


def _pip_url(remote: str) -> str:
    """Return a remote's URL in pip's and uv's format, without credentials; empty for a folder on this machine."""
    parts = urlsplit(remote)
    if parts.scheme == "https" and parts.hostname:
        host = parts.hostname + (f":{parts.port}" if parts.port else "")
        return f"git+https://{host}{parts.path}"
    if parts.scheme == "ssh":
        return f"git+{remote}"
    match = _SCP.fullmatch(remote) if not parts.scheme or "@" in remote else None
    return f"git+ssh://{match['user'] or ''}{match['host']}/{match['path']}" if match else ""


def _git(folder: Path, *arguments: str) -> str:
    """Return the output of a Git command; empty if it fails or Git is not installed."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, check=True, text=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
