"""``assert_valid`` with a program instead of Terraform: its calls, and its failure messages."""

from __future__ import annotations

import fcntl
import json
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware.testing import Template, TerraformError, assert_valid

REQUIRED = {"aws": {"source": "hashicorp/aws", "version": ">= 5"}, "helm": {"source": "hashicorp/helm"}}
DOCUMENT: dict[str, Any] = {
    "terraform": {"required_providers": {"aws": REQUIRED["aws"]}, "backend": {"local": {}}},
    "resource": {"aws_vpc": {"net": {"//": {"metadata": {"path": "demo/net"}}, "nonsense": 1}}},
}
WITH_HELM: dict[str, Any] = {
    "terraform": {"required_providers": REQUIRED},
    "provider": {"aws": [{}], "helm": [{"kubernetes": {"host": "${data.aws_eks_cluster.c.endpoint}"}}]},
    "data": {"aws_eks_cluster": {"c": {"name": "x"}}, "helm_template": {"t": {"name": "t"}}},
    "resource": {
        "helm_release": {
            "a": {"name": "a", "provider": "helm.x", "set": ["${data.helm_template.t.manifest}"]},
            "a-b": {"depends_on": ["helm_release.a"], "note": "${helm_release.a[0].metadata}", "count": 2},
        },
        "aws_vpc": {"v": {"depends_on": ["helm_release.a-b"]}},
    },
}

# Returns predefined output, and records its calls.
_PROGRAM = """#!/bin/sh
here=${0%/*}
if [ "$1" = version ]; then
    printf 'Terraform v1.9.0\\non linux_amd64\\n'
    exit
fi
/usr/bin/env > "$here/environment"
PATH=/usr/bin:/bin
echo "$1 ${PWD##*/}" >> "$here/asked"
cp cdk.tf.json "$here/$1.json"
cat "$here/$1.out"
cat "$here/$1.err" >&2
exit "$(cat "$here/$1.code")"
"""


class Fake(NamedTuple):
    """The program's folder."""

    folder: Path

    def answers(self, *, init: str = "", diagnostics: list[dict[str, Any]] | None = None) -> None:
        validity = json.dumps({"valid": not diagnostics, "diagnostics": diagnostics or []})
        for command, out, err, failed in (("init", "", init, init), ("validate", validity, "", diagnostics)):
            (self.folder / f"{command}.out").write_text(out, encoding="utf-8")
            (self.folder / f"{command}.err").write_text(err, encoding="utf-8")
            (self.folder / f"{command}.code").write_text("1" if failed else "0", encoding="utf-8")

    def asked(self) -> list[str]:
        return [line.split()[0] for line in (self.folder / "asked").read_text(encoding="utf-8").splitlines()]

    def saw_variable(self, name: str) -> str | None:
        lines = (self.folder / "environment").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line).get(name)

    def saw(self, command: str) -> dict[str, Any]:
        seen: dict[str, Any] = json.loads((self.folder / f"{command}.json").read_text(encoding="utf-8"))
        return seen


@pytest.fixture
def terraform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "terraform"
    program.write_text(_PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    # A separate configuration: the test does not search for a registry.
    configuration = tmp_path / "terraformrc"
    configuration.write_text("provider_installation {\n  direct {}\n}\n", encoding="utf-8")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(configuration))
    monkeypatch.delenv("TERRAFORM_BINARY_NAME", raising=False)
    fake = Fake(folder)
    fake.answers()
    return fake


def diagnostic(context: str | None, detail: str, code: str = "", severity: str = "error") -> dict[str, Any]:
    snippet = {"context": context, "code": code} if context else None
    return {"severity": severity, "summary": "Something", "detail": detail, "snippet": snippet}


def test_a_valid_stack_passes(terraform: Fake) -> None:
    assert_valid(Template(DOCUMENT))
    assert terraform.asked() == ["init", "validate"]
    assert terraform.saw("validate")["resource"] == {"aws_vpc": {"net": {"nonsense": 1}}}


def test_providers_are_installed_once(terraform: Fake) -> None:
    assert_valid(DOCUMENT)
    assert_valid({**DOCUMENT, "output": {"a": {"value": 1}}})
    assert_valid({**DOCUMENT, "terraform": {"required_providers": {"aws": {"source": "hashicorp/aws"}}}})
    assert terraform.asked() == ["init", "validate", "validate", "init", "validate"]
    assert terraform.saw("init") == {"terraform": {"required_providers": {"aws": {"source": "hashicorp/aws"}}}}


def test_a_cache_is_used_by_one_process_at_a_time(
    terraform: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("TF_PLUGIN_CACHE_DIR", str(cache))
    assert_valid(DOCUMENT)
    assert terraform.saw_variable("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE") == "1"
    held = (cache / ".eks-hardware.lock").open("w")
    with held:
        fcntl.flock(held, fcntl.LOCK_EX)
        other = threading.Thread(target=assert_valid, args=({**DOCUMENT, "terraform": {}},))
        other.start()
        other.join(0.3)
        assert terraform.asked() == ["init", "validate"]
    other.join(60)
    assert terraform.asked() == ["init", "validate", "init", "validate"]


def test_a_failure_says_where_and_what(terraform: Fake) -> None:
    terraform.answers(
        diagnostics=[
            diagnostic("resource.aws_vpc.net", "No argument is\nnamed that.", '  "nonsense": 1'),
            diagnostic("output.x", "Not declared."),
            diagnostic(None, "Something else."),
            diagnostic("resource.aws_vpc.net", "Deprecated.", severity="warning"),
        ]
    )
    with pytest.raises(AssertionError) as caught:
        assert_valid(DOCUMENT)
    assert str(caught.value).splitlines() == [
        "terraform validate found errors:",
        "  aws_vpc.net (demo/net): No argument is named that.",
        '    "nonsense": 1',
        "  output.x: Not declared.",
        "  the stack: Something else.",
    ]


def test_a_long_failure_is_cut(terraform: Fake) -> None:
    terraform.answers(diagnostics=[diagnostic("output.x", "Wrong.")] * 23)
    with pytest.raises(AssertionError, match=r"and 3 more$"):
        assert_valid(DOCUMENT)


def test_warnings_do_not_fail(terraform: Fake) -> None:
    terraform.answers(diagnostics=[diagnostic("output.x", "Deprecated.", severity="warning")])
    assert_valid(DOCUMENT)


def test_files_and_folders(terraform: Fake, tmp_path: Path) -> None:
    stack = tmp_path / "stacks" / "demo"
    (stack / "assets").mkdir(parents=True)
    (stack / "cdk.tf.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    terraform.answers(diagnostics=[diagnostic("resource.aws_vpc.net", "Wrong.")])
    for place in (stack, stack / "cdk.tf.json", str(stack)):
        with pytest.raises(AssertionError, match=r"aws_vpc\.net \(demo/net\): Wrong\."):
            assert_valid(place)


def test_a_provider_that_is_left_out_is_held_by_terraform_data(terraform: Fake) -> None:
    assert_valid(WITH_HELM, without_providers=["helm"])
    assert terraform.saw("init") == {"terraform": {"required_providers": {"aws": REQUIRED["aws"]}}}
    assert terraform.saw("validate") == {
        "terraform": {"required_providers": {"aws": REQUIRED["aws"]}},
        "provider": {"aws": [{}]},
        "data": {"aws_eks_cluster": {"c": {"name": "x"}}},
        "resource": {
            "aws_vpc": {"v": {"depends_on": ["terraform_data.helm_release-a-b"]}},
            "terraform_data": {
                "provider-helm-0": {"input": {"kubernetes": {"host": "${data.aws_eks_cluster.c.endpoint}"}}},
                "data-helm_template-t": {"input": {"name": "t"}},
                "helm_release-a": {
                    "input": {"name": "a", "set": ["${terraform_data.data-helm_template-t.output.manifest}"]}
                },
                "helm_release-a-b": {
                    "count": 2,
                    "depends_on": ["terraform_data.helm_release-a"],
                    "input": {"note": "${terraform_data.helm_release-a[0].output.metadata}"},
                },
            },
        },
    }
    assert "helm_release" in WITH_HELM["resource"]


def test_a_fault_in_what_is_held_has_its_own_address(terraform: Fake) -> None:
    terraform.answers(
        diagnostics=[
            diagnostic("resource.terraform_data.helm_release-a-b.input.values", "Not declared."),
            diagnostic("resource.terraform_data.data-helm_template-t", "Not declared."),
        ]
    )
    with pytest.raises(AssertionError) as caught:
        assert_valid(WITH_HELM, without_providers=["helm"])
    assert str(caught.value).splitlines()[1:] == [
        "  helm_release.a-b.values: Not declared.",
        "  data.helm_template.t: Not declared.",
    ]


def test_a_provider_that_is_nowhere_is_named_with_what_to_do(terraform: Fake) -> None:
    terraform.answers(
        init="Could not retrieve the list of available versions for provider\nhashicorp/helm: no such host"
    )
    with pytest.raises(TerraformError) as caught:
        assert_valid(WITH_HELM)
    said = str(caught.value)
    assert said.startswith("terraform init does not find hashicorp/helm: neither the registry nor a mirror")
    assert "TF_PLUGIN_MIRROR" in said
    assert "assert_valid(..., without_providers=['helm'])" in said
    assert said.endswith("no such host")


def test_another_failure_of_init_is_shown_as_it_is(terraform: Fake) -> None:
    terraform.answers(init="Error: no space left on device")
    with pytest.raises(TerraformError, match=r"^terraform init failed:\nError: no space left on device$"):
        assert_valid({**DOCUMENT, "module": {"m": {"source": "./m"}}})


def test_without_terraform_it_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TERRAFORM_BINARY_NAME", raising=False)
    with pytest.raises(TerraformError, match="terraform is not on the PATH: install Terraform"):
        assert_valid(DOCUMENT)
