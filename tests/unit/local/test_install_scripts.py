"""The output of ``install.sh`` shows which releases are installed; its environment reaches no other cluster."""

from __future__ import annotations

from pathlib import Path

from eks_hardware.kubernetes.files.summary import ReleaseSummary
from eks_hardware.local.install_scripts import awaited, environment

CHART = ReleaseSummary("karpenter", "kube-system", "1.14.1", {}, "karpenter", "karpenter/values.yaml")
OBJECTS = ReleaseSummary("teams", "kube-system", "", {"Namespace": 1, "ResourceQuota": 1}, "", "teams")


def test_a_chart_is_installed_when_helm_prints_its_name(tmp_path: Path) -> None:
    lines = ['Release "karpenter" does not exist. Installing it now.', "NAME: karpenter-crd", "NAME: karpenter"]
    waiting = awaited(CHART, tmp_path)
    assert [waiting.is_installed(line) for line in lines] == [False, False, True]


def test_objects_are_installed_when_all_were_applied(tmp_path: Path) -> None:
    """The script names files of namespaces twice, so that they come first."""
    (tmp_path / "teams").mkdir()
    for kind, name in (("Namespace", "research"), ("ResourceQuota", "research")):
        text = f"kind: {kind}\nmetadata: {{name: {name}}}\n"
        (tmp_path / "teams" / f"{kind}.yaml").write_text(text, encoding="utf-8")
    waiting = awaited(OBJECTS, tmp_path)
    lines = ["namespace/research serverside-applied"] * 2 + ["resourcequota/research serverside-applied"]
    assert [waiting.is_installed(line) for line in lines] == [False, False, True]


def test_groups_of_kinds_are_read(tmp_path: Path) -> None:
    (tmp_path / "teams").mkdir()
    (tmp_path / "teams" / "a.yaml").write_text("kind: NodePool\nmetadata: {name: gpu}\n", encoding="utf-8")
    assert awaited(OBJECTS, tmp_path).is_installed("nodepool.karpenter.sh/gpu serverside-applied")


def test_the_environment_has_programs_charts_and_outputs_but_nothing_of_the_users_helm(tmp_path: Path) -> None:
    programs = {name: tmp_path / name for name in ("helm", "kubectl", "etcd")}
    base = {"HELM_KUBECONTEXT": "production", "KUBECONFIG": "local", "PATH": "/bin"}

    def made() -> dict[str, str]:
        return dict(environment(base, tmp_path / "bin", programs, tmp_path / "charts", {"vpc_id": "vpc-1"}))

    found = made()
    assert made() == found
    assert "HELM_KUBECONTEXT" not in found
    assert (found["vpc_id"], found["KUBECONFIG"], found["CHARTS"]) == ("vpc-1", "local", str(tmp_path / "charts"))
    assert found["PATH"] == f"{tmp_path / 'bin'}:/bin"
    assert {link.name: link.readlink() for link in (tmp_path / "bin").iterdir()} == {
        name: programs[name] for name in ("helm", "kubectl")
    }
