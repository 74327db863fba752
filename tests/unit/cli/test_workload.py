"""``eks-hardware workload``: its output, where it goes, and its exit codes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import yaml

from eks_hardware.workloads import CHECKS, KINDS
from helpers import cli
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.strategies import group, write_document

run = partial(cli.run, "workload")


def own_messages(err: str) -> list[str]:
    """Return the command's own messages, after the strategy's warnings."""
    return [line for line in err.splitlines() if line.startswith(("error: ", "warning: "))]


def test_a_manifest_on_stdout() -> None:
    code, out, err = run("mixed-hardware", "--group", "gpu-training", "--kind", "job", "--nodes", "2")
    assert (code, own_messages(err)) == (0, [])
    assert [each["kind"] for each in yaml.safe_load_all(out)] == ["Service", "Job"]
    assert out.endswith("\n")


def test_a_pool_by_either_option() -> None:
    by_group = run("mixed-hardware", "--group", "gpu-efa", "--kind", "job")
    assert by_group == run("mixed-hardware", "--pool", "gpu-efa", "--kind", "job")
    assert by_group[0] == 0


def test_independent_pods() -> None:
    several = ("inferentia-inference", "--group", "large", "--kind", "job", "--nodes", "2")
    code, out, err = run(*several)
    assert (code, out) == (2, "")
    assert "--independent" in err
    code, out, _ = run(*several, "--independent")
    assert code == 0
    assert [each["kind"] for each in yaml.safe_load_all(out)] == ["Job"]


def test_an_unknown_overlay() -> None:
    code, out, err = run("mixed-hardware", "--overlay", "privat", "--group", "gpu-efa", "--kind", "job")
    assert (code, out) == (2, "")
    assert 'the overlay "privat" does not exist; did you mean private?' in err


def test_more_than_a_team_may_have_is_wrong_usage(tmp_path: Path) -> None:
    kubernetes = {"delivery": "manifests", "teams": [{"name": "research", "quota": {"nvidia.com/gpu": 4}}]}
    file = write_document(tmp_path / "mine.yaml", group("g6.48xlarge"), kubernetes=kubernetes)
    arguments = (file, "--group", "gpu", "--kind", "job", "--namespace", "research")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert own_messages(err) == [
        "error: --namespace: the workload exceeds the quota of team research: 8 nvidia.com/gpu of "
        "4; use fewer --accelerators, or raise kubernetes.teams[research].quota"
    ]
    assert run(*arguments, "--accelerators", "4")[0] == 0


def test_json_says_the_same() -> None:
    arguments = ("mixed-hardware", "--group", "trainium", "--kind", "smoke-test", "--nodes", "2")
    _, text, _ = run(*arguments)
    code, out, err = run(*arguments, "--format", "json")
    assert (code, own_messages(err)) == (0, [])
    assert json.loads(out) == {"apiVersion": "v1", "kind": "List", "items": list(yaml.safe_load_all(text))}


def test_warnings_go_to_stderr() -> None:
    code, out, err = run("gpu-training", "--group", "h100", "--kind", "pytorchjob")
    assert code == 0
    assert "warning: PyTorchJobs require Kubeflow's Training Operator" in err
    assert "warning" not in out


def test_a_command_is_quoted_as_for_a_shell() -> None:
    command = "torchrun train.py --name 'a b' --data \"$(DATA)\""
    code, out, _ = run("mixed-hardware", "--group", "gpu-training", "--kind", "job", "--command", command)
    assert code == 0
    (job,) = yaml.safe_load_all(out)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["torchrun", "train.py", "--name", "a b", "--data", "$(DATA)"]


@in_one_test(
    ("arguments", "code", "says"),
    [
        (["--group", "gpu-trainin"], 2, "error: --group: mixed-hardware has no "),
        (["--group", "gpu-training", "--accelerators", "9"], 2, "error: --accelerators"),
        (["--group", "gpu-training", "--nodes", "99"], 2, "error: --nodes"),
        (["--group", "gpu-training", "--command", "a 'b"], 2, "error: --command: no closing quotation"),
        (["--group", "gpu-training", "--queue", "nvidia-gpu"], 2, "error: --queue"),
        (["--group", "gpu-training", "--check", "efa"], 2, "error: --check"),
    ],
)
def test_refused(arguments: list[str], code: int, says: str) -> None:
    found, out, err = run("mixed-hardware", "--kind", "job", *arguments)
    assert (found, out) == (code, "")
    assert own_messages(err)[0].startswith(says)
    assert len(own_messages(err)) == 1


@in_one_test("arguments", [["--kind", "job"], ["--group", "a"], ["--group", "a", "--kind", "cronjob"]])
def test_wrong_usage(arguments: list[str]) -> None:
    code, out, _ = run("mixed-hardware", *arguments)
    assert (code, out) == (2, "")


def test_checks_may_be_repeated_and_all_is_every_one() -> None:
    arguments = ("mixed-hardware", "--group", "gpu-training", "--kind", "smoke-test")
    assert run(*arguments, "--check", "all") == run(*arguments)
    _, out, _ = run(*arguments, "--check", "nvidia-smi", "--check", "efa")
    assert "fi_info" in out
    assert "torchrun /tmp" not in out


def test_errors_of_the_strategy(tmp_path: Path) -> None:
    file = write_document(tmp_path / "mine.yaml", group("g6.4xlarge", efa=True))
    code, out, err = run(file, "--group", "gpu", "--kind", "job")
    assert (code, out) == (1, "")
    assert "error EFA_UNSUPPORTED" in err


def test_a_file_that_is_not_there() -> None:
    code, out, err = run("nowhere.yaml", "--group", "gpu", "--kind", "job")
    assert (code, out) == (2, "")
    assert "does not exist" in err


# --- the guide ----------------------------------------------------------------------------------------------------

GUIDE = (ROOT / "docs" / "guides" / "job-manifests.md").read_text(encoding="utf-8")


def guide_commands() -> Iterator[tuple[list[str], list[str]]]:
    """Return the commands of the guide, and the output below each."""
    for block in re.findall(r"^```console\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL):
        for part in block.replace("\\\n", "").split("$ ")[1:]:
            command, *below = part.splitlines()
            if command.startswith("eks-hardware workload"):
                yield shlex.split(re.split(r" [>|] ", command)[0])[2:], below


def test_commands_of_the_guide_print_what_it_says() -> None:
    shown = list(guide_commands())
    assert len(shown) == 4
    for arguments, below in shown:
        code, out, err = run(*arguments)
        assert own_messages(err) == below
        assert (code, bool(out)) == ((2, False) if below else (0, True))
    _, out, _ = run(*shown[0][0])
    (block,) = re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert out.endswith(f"\n{block}")


def test_the_guide_knows_every_kind_and_check() -> None:
    for name in (*KINDS, *CHECKS):
        assert f"| `{name}` |" in GUIDE
