"""A local cluster's programs: their versions, and their paths on this machine.

Each folder has the ``go.mod`` and ``go.sum`` that pin one group of programs (docs/adr/0026). :mod:`.build` compiles
them into the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from eks_hardware.local.user_cache import cache_folder

FOLDER_VARIABLE = "EKS_HARDWARE_CLUSTER_TOOLS"
KUBEBUILDER_VARIABLE = "KUBEBUILDER_ASSETS"

_HERE = Path(__file__).parent
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_KUBERNETES_VERSION = "k8s.io/component-base/version"


class ToolsMissing(Exception):  # noqa: N818  (a finding, not a failure)
    """Raised when programs of a local cluster are missing. The text is one sentence with the fix."""


@dataclass(frozen=True)
class Tool:
    """A group of programs with the versions of one ``go.mod``.

    Attributes:
        name: The tool's name for ``make cluster-tools``.
        module: The Go module whose version is the tool's version.
        package: The Go package to compile; a package that starts with ``.`` is our own ``main.go`` in that folder.
        programs: The names of the programs, each with the arguments that print its version. For a program without
            arguments, the file must contain the version.
        variables: Variables that the linker sets to ``{version}``, ``{major}`` or ``{minor}``.
        files: Folders of the module to copy under their own names, for a tool without programs.
        folder: The folder with ``go.mod``; default: the name.
        modfile: A file in that folder to use instead of ``go.mod``, with a ``.sum`` of the same name.
    """

    name: str
    module: str
    package: str = "."
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    folder: str = ""
    modfile: str = "go.mod"

    @property
    def source(self) -> Path:
        """The folder with ``go.mod``, in which Go runs."""
        return _HERE / (self.folder or self.name)

    def _in_go_mod(self, pattern: str) -> str:
        """Return the first group of a pattern that a line of ``go.mod`` starts with."""
        match = re.search(f"^{pattern}", (self.source / self.modfile).read_text(encoding="utf-8"), re.MULTILINE)
        assert match, f"{self.source}/{self.modfile} has no line like {pattern}"
        return match[1]

    @cached_property
    def version(self) -> str:
        """The pinned version, such as ``1.35.4``."""
        return self._in_go_mod(rf"(?:require)?\s*{re.escape(self.module)} v(\S+)")

    @property
    def minor(self) -> str:
        """The pinned minor version, such as ``1.35``. Programs with another patch level are accepted, too."""
        return self.version.rpartition(".")[0]

    @cached_property
    def oldest_go(self) -> str:
        """The oldest Go version that compiles the tool, such as ``1.25``."""
        return self._in_go_mod(r"go (\d+\.\d+)")

    @cached_property
    def digest(self) -> str:
        """A digest of everything that determines the result, except the Go version."""
        told = hashlib.sha256(repr((self.package, self.variables, self.files)).encode())
        for file in self._files():
            told.update(file.name.encode() + b"\0" + file.read_bytes())
        return told.hexdigest()[:12]

    def _files(self) -> list[Path]:
        folders = {self.source, self.source / self.package} if self.package.startswith(".") else {self.source}
        files = sorted(file for folder in folders for file in folder.iterdir() if file.is_file())
        if self.modfile == "go.mod":
            return files
        modfile = self.source / self.modfile
        return [*(file for file in files if file.suffix == ".go"), modfile, modfile.with_suffix(".sum")]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def _kubernetes(minor: str = "") -> Tool:
    """Return the control plane and kubectl of a minor version; default: the version in ``go.mod``."""
    return Tool(
        f"kubernetes-{minor}" if minor else "kubernetes",
        "k8s.io/kubernetes",
        programs={
            "kube-apiserver": ("--version",),
            "kube-controller-manager": ("--version",),
            "kube-scheduler": ("--version",),
            "kubectl": ("version", "--client"),
        },
        # Helm's templates compare versions, and fail if these are unset.
        variables={
            f"{_KUBERNETES_VERSION}.gitVersion": "v{version}",
            f"{_KUBERNETES_VERSION}.gitMajor": "{major}",
            f"{_KUBERNETES_VERSION}.gitMinor": "{minor}",
        },
        folder="kubernetes",
        modfile=f"versions/{minor}.mod" if minor else "go.mod",
    )


_OTHER_KUBERNETES = sorted(file.stem for file in (_HERE / "kubernetes" / "versions").glob("*.mod"))


TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            _kubernetes(),
            *map(_kubernetes, _OTHER_KUBERNETES),
            Tool(
                "etcd",
                "go.etcd.io/etcd/server/v3",
                package="go.etcd.io/etcd/server/v3",
                programs={"etcd": ("--version",)},
            ),
            Tool(
                "karpenter-files",
                "github.com/aws/karpenter-provider-aws",
                files=("pkg/apis/crds", "charts/karpenter", "charts/karpenter-crd"),
                folder="karpenter",
            ),
            Tool(
                "karpenter-tables",
                "github.com/aws/karpenter-provider-aws",
                files=("pkg/fake", "pkg/providers/instancetype", "pkg/providers/pricing"),
                folder="karpenter",
            ),
            Tool(
                "karpenter",
                "github.com/aws/karpenter-provider-aws",
                package="github.com/aws/karpenter-provider-aws/cmd/controller",
                programs={"karpenter": ()},
                variables={"sigs.k8s.io/karpenter/pkg/operator.Version": "{version}"},
            ),
            Tool(
                "karpenter-types",
                "github.com/aws/karpenter-provider-aws",
                package="./types",
                programs={"karpenter-types": ()},
                folder="karpenter",
            ),
            Tool(
                "helm",
                "helm.sh/helm/v3",
                package="helm.sh/helm/v3/cmd/helm",
                programs={"helm": ("version", "--short")},
                variables={"helm.sh/helm/v3/internal/version.version": "v{version}"},
            ),
            Tool(
                "kwok",
                "sigs.k8s.io/kwok",
                package="sigs.k8s.io/kwok/cmd/kwok",
                programs={"kwok": ("--version",)},
                variables={"sigs.k8s.io/kwok/pkg/consts.Version": "{version}"},
            ),
            Tool("kwok-files", "sigs.k8s.io/kwok", files=("kustomize/stage",), folder="kwok"),
            Tool(
                "kueue-files",
                "sigs.k8s.io/kueue",
                files=("config/components/crd/bases", "charts/kueue"),
                folder="kueue",
            ),
            Tool(
                "kueue",
                "sigs.k8s.io/kueue",
                package="sigs.k8s.io/kueue/cmd/kueue",
                programs={"kueue": ()},
                variables={
                    "sigs.k8s.io/kueue/pkg/version.GitVersion": "v{version}",
                    # Relative to Kueue's working folder, instead of the file system's root.
                    "sigs.k8s.io/kueue/pkg/visibility.certDir": "visibility",
                },
            ),
            Tool(
                "prometheus-operator-files",
                "github.com/prometheus-operator/prometheus-operator",
                files=("example/prometheus-operator-crd",),
                folder="prometheus-operator",
            ),
            Tool(
                "opentofu",
                "github.com/opentofu/opentofu",
                package="github.com/opentofu/opentofu/cmd/tofu",
                programs={"tofu": ("version",)},
                variables={"github.com/opentofu/opentofu/version.dev": "no"},
            ),
        )
    }
)
NEEDED = (
    "kubernetes",
    "etcd",
    "helm",
    "kwok",
    "karpenter-files",
    "karpenter-tables",
    "kwok-files",
    "kueue-files",
    "prometheus-operator-files",
    "karpenter",
    "karpenter-types",
    "opentofu",
)
"""The tools that the tests use."""
ON_REQUEST = ("kueue",)
"""Tools that only a few tests need. They are built on request, and in CI."""


@dataclass(frozen=True)
class Found:
    """The parts of a tool that exist on this machine.

    Attributes:
        paths: The programs by name; for files, their folder under the tool's name.
        refused: A sentence for each program with another version.
    """

    paths: Mapping[str, Path]
    refused: tuple[str, ...] = ()


def built(tool: Tool, go_version: str | None, environ: Mapping[str, str]) -> Path:
    """Return a built tool's folder, which may not exist yet; without Go, a build by any Go version."""
    name = f"{tool.name}-{tool.version}-{tool.digest}"
    folder = cache_folder(environ) / "cluster-tools"
    if go_version is None:
        return max(folder.glob(f"{name}-go*[0-9]"), default=folder / name)
    return folder / f"{name}-{go_version}"


def go_version(tool: Tool, environ: Mapping[str, str]) -> str | None:
    """Return the Go version that compiles a tool, or ``None`` if Go is not installed.

    Raises:
        ToolsMissing: Go is too old.
    """
    go = shutil.which("go", path=environ.get("PATH"))
    if go is None:
        return None
    asked = subprocess.run(
        [go, "env", "GOVERSION"], cwd=tool.source, env=dict(environ), capture_output=True, text=True, check=False
    )
    if asked.returncode:
        raise ToolsMissing(f"Go must be {tool.oldest_go} or newer to build {tool}, got: {asked.stderr.strip()}")
    return asked.stdout.strip()


def find(tool: Tool, go: str | None, environ: Mapping[str, str]) -> Found:
    """Find a tool without building it: in the user's folders, in the cache, or on the PATH.

    Raises:
        ToolsMissing: The folder in ``EKS_HARDWARE_CLUSTER_TOOLS`` contains a program with another version.
    """
    own = Path(environ.get(FOLDER_VARIABLE) or os.devnull, tool.name)
    if tool.files and own.is_dir():
        return Found({tool.name: own.absolute()})
    paths: dict[str, Path] = {}
    refused: list[str] = []
    for variable in (FOLDER_VARIABLE, KUBEBUILDER_VARIABLE):
        if environ.get(variable):
            wrong = _take(tool, environ[variable], paths)
            if wrong and variable == FOLDER_VARIABLE:
                raise ToolsMissing(f"{'; '.join(wrong)}; correct {variable}")
            refused += wrong
    cached = built(tool, go, environ)
    if cached.is_dir():
        if tool.files:
            return Found({tool.name: cached})
        paths = {program: cached / program for program in tool.programs} | paths
    refused += _take(tool, environ.get("PATH", ""), paths)
    return Found(paths, tuple(refused))


def is_complete(tool: Tool, found: Found) -> bool:
    """Return whether all parts of a tool were found."""
    return set(tool.programs or [tool.name]) <= set(found.paths)


def _take(tool: Tool, path: str, paths: dict[str, Path]) -> list[str]:
    """Add programs on a search path that were not found before; return sentences about those with another version."""
    wrong = []
    for program, arguments in tool.programs.items():
        place = shutil.which(program, path=path) if program not in paths else None
        if place is None:
            continue
        version = version_of(Path(place), arguments) if arguments else _contained(tool.version, Path(place))
        if version.rpartition(".")[0] == tool.minor:
            paths[program] = Path(place).absolute()
        else:
            wrong.append(f"{place} must be version {tool.minor}, got {version or 'an unknown one'}")
    return wrong


def _contained(version: str, program: Path) -> str:
    """Return the version if the file contains it, as Go programs contain module versions; otherwise an empty text."""
    return version if f"v{version}".encode() in program.read_bytes() else ""


def version_of(program: Path, arguments: tuple[str, ...]) -> str:
    """Return the first version number that a program prints, or an empty text."""
    try:
        run = subprocess.run(
            [program, *arguments], capture_output=True, check=False, text=True, timeout=60, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    match = _VERSION.search(run.stdout)
    return ".".join(match.groups()) if match else ""


def kubernetes_tool(minor: str, environ: Mapping[str, str]) -> Tool:
    """Return the tool for a Kubernetes minor version if it is on this machine, otherwise the default version's tool."""
    default, tool = TOOLS["kubernetes"], TOOLS.get(f"kubernetes-{minor}")
    if tool is None:
        return default
    try:
        there = is_complete(tool, find(tool, go_version(tool, environ), environ))
    except ToolsMissing:
        return default
    return tool if there else default


def missing(incomplete: Mapping[str, Found]) -> ToolsMissing:
    """Return the error for a machine without Go and without these tools."""
    tools = [TOOLS[name] for name in incomplete]
    wanted: list[str] = []
    for tool in tools:
        of_tool = [each for each in tool.programs if each not in incomplete[tool.name].paths]
        wanted += [f"{each} {tool.minor}" for each in of_tool]
        wanted += [f"{tool.name}/{Path(file).name}" for file in tool.files]
    go = max((tool.oldest_go for tool in tools), key=lambda version: [int(part) for part in version.split(".")])
    text = f"missing {', '.join(map(str, tools))}: install Go {go} or newer (https://go.dev/dl)"
    if wanted:
        text += f", or set {FOLDER_VARIABLE} to a folder with {', '.join(wanted)}"
    refused = [refusal for found in incomplete.values() for refusal in found.refused]
    return ToolsMissing("; ".join([text, *refused]))


def paths(*names: str, environ: Mapping[str, str] | None = None) -> dict[str, Path]:
    """Return the paths of tools' programs by name, and of tools' files by the tool's name.

    Raises:
        ToolsMissing: A tool is not on this machine.
    """
    environ = os.environ if environ is None else environ
    tools = {name: find(TOOLS[name], go_version(TOOLS[name], environ), environ) for name in names}
    if incomplete := {name: each for name, each in tools.items() if not is_complete(TOOLS[name], each)}:
        raise missing(incomplete)
    return {program: path for each in tools.values() for program, path in each.paths.items()}
