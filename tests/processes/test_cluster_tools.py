"""``make cluster-tools``: which programs are taken, built or refused. Go and the programs are replaced by scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eks_hardware.local import processes
from eks_hardware.local.cluster_tools import NEEDED, ON_REQUEST, TOOLS
from helpers.paths import ROOT
from helpers.polling import eventually

ETCD = TOOLS["etcd"]
# A Go that builds an etcd of the pinned version, and writes each build to a log.
GO = f"""#!/bin/sh
[ "$1" = env ] && echo go1.99.0 && exit
echo "$$ $*" >> {{log}}
{{more}}
echo 'go: downloading go.etcd.io/raft v3'
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\necho etcd Version: %s\\n' {ETCD.version} > "$2"
chmod +x "$2"
"""


def script(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return file


def prints(version: str) -> str:
    return f"#!/bin/sh\necho etcd Version: {version}\n"


class Machine:
    """A machine without Kubernetes: folders for programs and for the cache."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.log = folder / "builds"
        self.cache = folder / "cache"
        self._environment = {
            "PATH": os.pathsep.join([str(self.bin), "/usr/bin", "/bin"]),
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(self.cache),
            "PYTHONPATH": str(ROOT),
        }

    def has_go(self, more: str = "") -> None:
        script(self.bin / "go", GO.format(log=self.log, more=more))

    @property
    def built(self) -> Path:
        return self.cache / "eks-hardware" / "cluster-tools" / f"etcd-{ETCD.version}-{ETCD.digest}-go1.99.0"

    def builds(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "eks_hardware.local.cluster_tools", *arguments],
            env={**self._environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str, **variables: str) -> tuple[int, list[str]]:
        with self.start(*arguments, **variables) as process:
            said = process.communicate(timeout=60)[0]
        return process.returncode, said.splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.bin.mkdir()
    return machine


SENTENCE = (
    f"missing etcd {ETCD.version}: install Go {ETCD.oldest_go} or newer (https://go.dev/dl),"
    f" or set EKS_HARDWARE_CLUSTER_TOOLS to a folder with etcd {ETCD.minor}"
)


def test_a_machine_without_go_gets_one_sentence(machine: Machine) -> None:
    assert machine.run("etcd") == (1, [f"error: {SENTENCE}"])


def test_the_sentence_names_everything_that_is_missing(machine: Machine) -> None:
    code, said = machine.run(KUBEBUILDER_ASSETS="", PATH="/nowhere")
    assert code == 1
    assert said == [
        f"error: missing {', '.join(str(TOOLS[name]) for name in NEEDED)}: install Go 1.26 or newer (https://go.dev/dl),"
        " or set EKS_HARDWARE_CLUSTER_TOOLS to a folder with kube-apiserver 1.35, kube-controller-manager 1.35,"
        " kube-scheduler 1.35, kubectl 1.35, etcd 3.6, helm 3.18, kwok 0.8, karpenter-files/crds,"
        " karpenter-files/karpenter, karpenter-files/karpenter-crd, karpenter-tables/fake,"
        " karpenter-tables/instancetype, karpenter-tables/pricing, kwok-files/stage, kueue-files/bases,"
        " kueue-files/kueue, prometheus-operator-files/prometheus-operator-crd, karpenter 1.14,"
        " karpenter-types 1.14, tofu 1.12"
    ]


def test_make_test_leaves_tests_out_but_not_in_ci(machine: Machine) -> None:
    assert machine.run("--for", "tests/cluster", "etcd") == (0, [f"leaving out tests/cluster: {SENTENCE}"])
    assert machine.run("--for", "tests/cluster", "etcd", CI="true") == (1, [f"error: {SENTENCE}"])


def test_what_is_built_on_request_is_built_in_ci_only(machine: Machine) -> None:
    kueue = str(TOOLS["kueue"])
    assert ON_REQUEST == ("kueue",)
    for variables, code in (({}, 0), ({"CI": "true"}, 1)):
        assert machine.run("--for", "tests", **variables)[0] == code
        assert (kueue in machine.run("--for", "tests", **variables)[1][0]) == bool(code)
    machine.has_go()
    hint = f"leaving out the tests that need {kueue}: build it with make cluster-tools TOOLS=kueue"
    assert machine.run("--for", "tests", "etcd")[1][-1] == hint
    assert machine.run("etcd")[1][-1] != hint


def test_it_is_built_once(machine: Machine) -> None:
    machine.has_go()
    building = f"etcd {ETCD.version}: building, a few minutes the first time"
    there = f"etcd {ETCD.version}: {machine.built}"
    assert machine.run("etcd") == (0, [building, there])
    assert machine.run("etcd") == (0, [there])
    assert len(machine.builds()) == 1
    # Without Go, what an earlier one built.
    (machine.bin / "go").unlink()
    assert machine.run("etcd") == (0, [there])


def test_another_kubernetes_is_built_from_its_own_pins(machine: Machine) -> None:
    machine.has_go()
    tool = TOOLS["kubernetes-1.34"]
    code, said = machine.run("kubernetes-1.34")
    # The programs that this Go builds say that they are etcd.
    assert (code, said[0]) == (1, f"kubernetes-1.34 {tool.version}: building, a few minutes the first time")
    assert said[1:] == [f"error: kube-apiserver must print version {tool.version} after the build, got {ETCD.version}"]
    assert " build -modfile=versions/1.34.mod " in machine.builds()[0]


@pytest.mark.parametrize("variable", ["EKS_HARDWARE_CLUSTER_TOOLS", "KUBEBUILDER_ASSETS", "PATH"])
def test_programs_of_the_same_minor_version_are_taken(machine: Machine, tmp_path: Path, variable: str) -> None:
    machine.has_go()
    own = script(tmp_path / "own" / "etcd", prints(f"{ETCD.minor}.99")).parent
    path = f"{own}:{machine.bin}:/usr/bin:/bin" if variable == "PATH" else str(own)
    assert machine.run("etcd", **{variable: path}) == (0, [f"etcd {ETCD.version}: {own}"])
    assert machine.builds() == []


def test_programs_of_another_version_are_named(machine: Machine, tmp_path: Path) -> None:
    old = script(tmp_path / "own" / "etcd", prints("3.4.1"))
    refused = f"{old} must be version {ETCD.minor}, got 3.4.1"
    variable = "EKS_HARDWARE_CLUSTER_TOOLS"
    assert machine.run("etcd", **{variable: str(old.parent)}) == (1, [f"error: {refused}; correct {variable}"])
    assert machine.run("etcd", KUBEBUILDER_ASSETS=str(old.parent)) == (1, [f"error: {SENTENCE}; {refused}"])
    # With Go, one is built in its place.
    machine.has_go()
    assert machine.run("etcd", KUBEBUILDER_ASSETS=str(old.parent))[0] == 0
    assert len(machine.builds()) == 1


def test_a_program_that_prints_no_version_must_contain_it(machine: Machine, tmp_path: Path) -> None:
    """Go's programs contain the versions of their modules."""
    karpenter = TOOLS["karpenter"]
    own = script(tmp_path / "own" / "karpenter", f"#!/bin/sh\n# dep v{karpenter.version}\n")
    variable = "EKS_HARDWARE_CLUSTER_TOOLS"
    there = f"karpenter {karpenter.version}: {own.parent}"
    assert machine.run("karpenter", **{variable: str(own.parent)}) == (0, [there])
    own.write_text("#!/bin/sh\n# dep v1.0.0\n", encoding="utf-8")
    refused = f"{own} must be version {karpenter.minor}, got an unknown one; correct {variable}"
    assert machine.run("karpenter", **{variable: str(own.parent)}) == (1, [f"error: {refused}"])


def test_a_go_that_is_too_old_is_named(machine: Machine) -> None:
    script(machine.bin / "go", "#!/bin/sh\necho 'go: go.mod requires go >= 1.25.0 (running go 1.19.8)' >&2\nexit 1\n")
    said = "go: go.mod requires go >= 1.25.0 (running go 1.19.8)"
    assert machine.run("etcd") == (1, [f"error: Go must be 1.25 or newer to build etcd {ETCD.version}, got: {said}"])


def test_a_failed_build_shows_the_output_of_go_and_leaves_nothing(machine: Machine) -> None:
    machine.has_go("echo 'no such host' && exit 1")
    code, (_, *said) = machine.run("etcd")
    assert (code, said) == (1, [f"error: etcd {ETCD.version}: go build failed:", "no such host"])
    assert [each.name for each in machine.built.parent.iterdir()] == ["etcd.lock"]


def test_two_at_once_build_once(machine: Machine, tmp_path: Path) -> None:
    machine.has_go(f"while [ ! -e {tmp_path}/go-on ]; do sleep 0.1; done")
    with machine.start("etcd") as first:
        assert eventually(lambda: machine.builds() != [])
        with machine.start("etcd") as second:
            assert second.stdout is not None
            waiting = second.stdout.readline()
            (tmp_path / "go-on").touch()
            said = second.communicate(timeout=60)[0]
        first.communicate(timeout=60)
    assert waiting == f"etcd {ETCD.version}: waiting for another process that is building it\n"
    assert said == f"etcd {ETCD.version}: {machine.built}\n"
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(machine.builds()) == 1


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_build_leaves_nothing(machine: Machine, signum: signal.Signals) -> None:
    machine.has_go("exec sleep 300")
    with machine.start("etcd") as process:
        assert eventually(lambda: machine.builds() != [])
        process.send_signal(signum)
        process.communicate(timeout=30)
        assert process.returncode
    go = int(machine.builds()[0].split()[0])
    assert eventually(lambda: not processes.is_running(go))
    assert eventually(lambda: [each.name for each in machine.built.parent.iterdir()] == ["etcd.lock"])
    # The next one is not disturbed.
    machine.has_go()
    assert machine.run("etcd")[0] == 0


def test_an_unknown_tool_is_refused(machine: Machine) -> None:
    code, said = machine.run("minikube")
    assert code == 2
    assert said[-1] == f"make cluster-tools: error: TOOLS must be all, or some of {', '.join(TOOLS)}; got minikube"
