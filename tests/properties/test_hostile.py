"""Hostile input is refused with a code, in every field, and printed and written text is harmless.

test_loader_yaml.py tests YAML that is refused as such, and test_models.py the refusals of each type of field. Here,
whole files go through all steps. Accepted text goes on into Terraform: tests/security/test_injection.py.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from eks_hardware.cli import app
from eks_hardware.findings import StrategyError
from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.files.write import LIST_FILE, WriteError, write
from eks_hardware.kubernetes.references import known
from eks_hardware.loader import parse_strategy, read_strategy
from eks_hardware.loader.model_fields import fields, is_model, unwrap
from eks_hardware.loader.yaml_document import parse
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from helpers.cases import in_one_test
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import document, group, pool

Path_ = tuple[str | int, ...]

# A field and its derived values; `# key` for the keys of a mapping.
KEY = " # key"
FREE_FORM = {"AddonSpec.configuration", "Chart.values", "NodeGroupSpec.user_data", "NodePoolSpec.user_data"}

EVALUATED = [
    '${file("/etc/passwd")}',
    "%{for each in [1]}x%{endfor}",
    "$${a}",
    "${TfToken[TOKEN.0]}",
    "#{TfToken[TOKEN.0]}",
    "&{TfToken[TOKEN.0]}",
    "String Map Token Value",
    "a-82e297",
    "-8.2e+298",
    "@{efs_id}",
    "@eks-hardware:name@",
]
UNSEEN = [
    "\0",
    "\x07",
    "\x1b[31mred",
    "\x7f",
    "\x85",
    "\x9b31m",
    "\u061c",
    "\u200f",
    "\u2028",
    "\u202e",
    "\u2066",
    "\ufeff",
]
# Only free-form values have lines.
LINES = ["a\nb", "\r\n", "\t"]
HOSTILE = [*EVALUATED, *UNSEEN, *LINES]


# --- every field with text


def texts_of(annotation: Any, label: str) -> Iterator[str]:
    """Return the labels of all text that a field can contain; nested models have their own labels."""
    for member in unwrap(annotation):
        arguments = typing.get_args(member)
        if member is str:
            yield label
        elif typing.get_origin(member) is dict:
            yield from texts_of(arguments[0], label + KEY)
            yield from [label] if arguments[1] is Any else texts_of(arguments[1], label)
        elif typing.get_origin(member) is tuple:
            yield from texts_of(arguments[0], label)


def models_below(annotation: Any) -> Iterator[Any]:
    for member in unwrap(annotation):
        if is_model(member):
            yield member
            for info in fields(member).values():
                yield from models_below(info.annotation)
        elif typing.get_origin(member) in (dict, tuple):
            for argument in typing.get_args(member):
                yield from models_below(argument)


TEXT_FIELDS = {
    label
    for model in set(models_below(Strategy))
    for name, info in fields(model).items()
    for label in texts_of(info.annotation, f"{model.__name__}.{name}")
}


def texts_in(value: Any, annotation: Any, path: Path_ = (), label: str = "") -> Iterator[tuple[str, Path_]]:
    """Return every text in a document with the label of its field; a key has a path that ends in the key and KEY."""
    for member in unwrap(annotation):
        arguments = typing.get_args(member)
        if is_model(member) and isinstance(value, dict) and _fits(member, value):
            for name, each in value.items():
                yield from texts_in(each, fields(member)[name].annotation, (*path, name), f"{member.__name__}.{name}")
        elif typing.get_origin(member) is dict and isinstance(value, dict):
            for key, each in value.items():
                if str in unwrap(arguments[0]):
                    yield label + KEY, (*path, key, KEY)
                yield from texts_in(each, str if arguments[1] is Any else arguments[1], (*path, key), label)
        elif typing.get_origin(member) is tuple and isinstance(value, list):
            for index, each in enumerate(value):
                yield from texts_in(each, arguments[0], (*path, index), label)
        elif member is str and isinstance(value, str):
            yield label, path


def _fits(model: Any, value: Mapping[str, Any]) -> bool:
    known_fields = fields(model)
    kinds = typing.get_args(known_fields["type"].annotation) if "type" in known_fields else ()
    return set(value) <= set(known_fields) and (not kinds or value.get("type", kinds[0]) in kinds)


def with_text(value: Any, path: Path_, text: str) -> Any:
    """Return a copy with another text at a path."""
    if not path:
        return text
    if len(path) == 2 and path[1] == KEY:
        return {text if key == path[0] else key: each for key, each in value.items()}
    if isinstance(value, dict):
        return {**value, path[0]: with_text(value[path[0]], path[1:], text)}
    assert isinstance(path[0], int)
    return [*value[: path[0]], with_text(value[path[0]], path[1:], text), *value[path[0] + 1 :]]


def refusal(given: Mapping[str, Any]) -> str | None:
    """Return the type of the first error, or None."""
    try:
        Strategy.model_validate(given)
    except ValidationError as error:
        return str(error.errors()[0]["type"])
    return None


ROLE = "arn:aws:iam::111122223333:role/r"
KMS = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890ab"
RESERVED = group("p5.48xlarge", "reserved", capacity="reserved")

# Fields that no strategy of ours has.
ELSE: list[dict[str, Any]] = [
    document(
        {**RESERVED, "reservation": {"id": "cr-0123456789abcdef0", "zone": "usw2-az1"}, "disk": {"kms_key_arn": KMS}},
        group(name="kubelet", kubelet={"kube_reserved": {"memory": "1Gi"}, "system_reserved": {"memory": "1Gi"}}),
        description="x",
        tags={"team": "a"},
        cluster={
            "admins": [ROLE],
            "service_cidr": "172.16.0.0/16",
            "secrets_encryption": {"kms_key_arn": KMS},
            "addons": {"coredns": {"version": "v1.11.4-eksbuild.2", "configuration": {"corefile": "."}}},
            "access_entries": [
                {
                    "name": "a",
                    "principal_arn": ROLE,
                    "kubernetes_groups": ["g"],
                    "policies": [{"policy": "AmazonEKSViewPolicy", "namespaces": ["n"]}],
                }
            ],
        },
        network={"cidr": "10.0.0.0/16", "pod_cidr": "100.64.0.0/16", "zones": ["usw2-az1", "usw2-az2"]},
        backend={"type": "remote", "organization": "o", "workspace": "w", "hostname": "tfe.example.com"},
        aws={
            "profile": "p",
            "assume_role": {"role_arn": ROLE, "external_id": "ci", "session_name": "ss"},
            "account_id": "111122223333",
            "version": ">= 6.0",
            "permissions_boundary_arn": "arn:aws:iam::111122223333:policy/b",
            "iam_path": "/team/",
        },
        kubernetes={
            "charts": {"karpenter": {"version": "1.2.3", "repository": "oci://x.example/y", "values": {"a": "b"}}},
            "teams": [
                {
                    "name": "t",
                    "quota": {"cpu": "4"},
                    "container_defaults": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
                }
            ],
        },
        karpenter={"node_pools": [
            pool(
                "p", instance_families=["m7i"], instance_sizes=["xlarge"], zones=["usw2-az1"], limits={"cpu": "64"},
                labels={"a": "b"}, taints=[{"key": "a", "value": "b"}], tags={"a": "b"}, disk={"kms_key_arn": KMS},
                ami={"version": "v20260820", "image_id": "ami-01234567"}, user_data={"a": "b"},
                kubelet={"system_reserved": {"memory": "1Gi"}},
                disruption={
                    "expire_after": "720h", "consolidate_after": "5m", "termination_grace_period": "1h",
                    "budgets": [{"nodes": "10%", "schedule": "@daily", "duration": "8h"}],
                },
            ),
            pool("q", accelerator="h100", capacity=["reserved"], gpu_sharing={"mig_profile": "1g.10gb"}, reservations=[
                {"tags": {"a": "b"}, "owner_account_id": "111122223333"},
                {"id": "cr-0123456789abcdef0", "zone": "usw2-az1"},
            ]),
            pool("r", instance_types=["m7i.xlarge"]),
        ], "ami_versions": {"al2023": "v20260820", "bottlerocket": "v1.50.0"}, "node_policies": [
            "arn:aws:iam::aws:policy/AmazonFSxReadOnlyAccess"]},
        storage={"fsx_lustre": {"kms_key_arn": KMS, "zone": "usw2-az1"}, "efs": {"kms_key_arn": KMS},
                 "s3_buckets": [{"name": "models"}]},
    ),
    document(
        group(ami={"release_version": "1.35.0-20261101", "image_id": "ami-01234567"}, labels={"a": "b"},
              taints=[{"key": "a", "value": "b"}], tags={"a": "b"}, zones=["usw2-az1"], user_data={"a": "b"},
              gpu_sharing={"mig_profile": "1g.10gb"}),
        {**RESERVED, "reservation": {
            "resource_group_arn": "arn:aws:resource-groups:us-west-2:111122223333:group/g", "zone": "usw2-az1"}},
        network={"existing": {
            "vpc_id": "vpc-01234567", "private_subnets": {"usw2-az1": "subnet-01234567"},
            "control_plane_subnets": {"usw2-az1": "subnet-01234567"}, "pod_subnets": {"usw2-az1": "subnet-01234567"}}},
        backend={"type": "s3", "bucket": "state", "key": "k", "region": "us-west-2", "kms_key_arn": KMS, "profile": "p",
                 "role_arn": ROLE},
    ),
    document(
        group(needs={"cuda": "12.8", "nvidia_driver": "580", "neuron_sdk": "2.29"}),
        backend={"type": "local", "path": "state"},
        network={"interface_endpoints": ["ecr.api"]},
        karpenter={"namespace": "karpenter", "service_account": "karpenter"},
        ignore=[{"code": "ENDPOINT_OPEN", "path": "cluster", "reason": "a reason of some words"}],
    ),
    document(
        {"name": "described", "scaling": {"max": 1}, "workload": {
            "task": "training", "training_tokens": "15B", "within": "90d",
            "model": {"hf_config": "llama/config.json", "architecture": "llama", "parameters": "8B",
                      "active_parameters": "8B"}}},
        {"name": "named", "scaling": {"max": 1}, "workload": {"task": "inference", "model": {"name": "qwen3-8b"}}},
    ),
]  # fmt: skip


def strategy_documents() -> list[dict[str, Any]]:
    files = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")])
    roots = (parse(file.read_text(encoding="utf-8"), file.name).root for file in files)
    return [*(root.plain() for root in roots if root), *ELSE]


def text_places() -> dict[str, tuple[dict[str, Any], Path_]]:
    """Return a document for each field with text, and the field's path."""
    found: dict[str, tuple[dict[str, Any], Path_]] = {}
    for each in strategy_documents():
        for label, path in texts_in(each, Strategy):
            found.setdefault(label, (each, path))
    return found


PLACES = text_places()


def test_every_field_that_holds_text_is_tried() -> None:
    assert set(PLACES) == TEXT_FIELDS
    assert len(TEXT_FIELDS) > 90
    for text in strategy_documents():
        Strategy.model_validate(text)


@in_one_test("label", sorted(PLACES))
def test_no_field_takes_hostile_text(label: str) -> None:
    """Neither from Python nor from a file: you can bypass the loader, but not the model."""
    given, path = PLACES[label]
    taken = [hostile for hostile in HOSTILE if refusal(with_text(given, path, hostile)) is None]
    # A text in a free-form setting can be a file with several lines.
    assert taken == (["a\nb", "\t"] if label in FREE_FORM else [])


@in_one_test("hostile", HOSTILE)
def test_a_file_with_hostile_text_has_findings(hostile: str) -> None:
    codes = set()
    for label in ("Strategy.name", "Strategy.tags", "Strategy.tags # key", "Chart.values # key", "NodeGroupSpec.name"):
        given, path = PLACES[label]
        for ascii_only in (True, False):
            with pytest.raises(StrategyError) as caught:
                parse_strategy(json.dumps(with_text(given, path, hostile), ensure_ascii=ascii_only))
            for finding in caught.value.findings:
                assert re.fullmatch("[A-Z][A-Z0-9_]+", finding.code)
                assert str(finding).isprintable()
                assert finding.position
                codes.add(finding.code)
    assert codes & {"TEXT_TEMPLATE", "TEXT_CONTROL_CHARACTER", "YAML_SYNTAX", "FILE_ENCODING"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("9" * 1000, None),
        ("9" * 1001, "field_length"),
        ("-" * 900_000, "field_length"),
        ("-8.2e" * 150_000, None),
        ("8.2e298", None),
        ("-8.0e298", None),
        ("10.0.0.0-82e297", None),
        ("-8.3e298", "text_template"),
        ("x-82e+297y", "text_template"),
        (f"-82{'0' * 297}.0.0e1", "text_template"),
    ],
)
def test_what_cdktf_takes_for_a_number_of_its_own(text: str, code: str | None) -> None:
    """It searches every text for them, with quadratic time for a run of digits."""
    assert refusal(document(description=text)) == code


@pytest.mark.parametrize("number", [-8.2e298, -8.3e298])
def test_a_number_of_cdktf_in_free_form_settings(number: float) -> None:
    with pytest.raises(ValidationError) as caught:
        Strategy.model_validate(document(kubernetes={"charts": {"karpenter": {"values": {"a": [number]}}}}))
    assert [error["type"] for error in caught.value.errors()] == ["text_template"]


# --- paths in names

TRAVERSING = [
    "..",
    ".",
    "../a",
    "a/../../b",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "~",
    "~root",
    "-rf",
    "a\x00b",
    "a%2fb",
    "a b",
    "",
]

NAMES = [
    "AccessEntry.name",
    "KarpenterSpec.namespace",
    "KarpenterSpec.service_account",
    "NodeGroupSpec.name",
    "NodePoolSpec.name",
    "S3Bucket.name",
    "Strategy.name",
    "Team.name",
]


@in_one_test("name", TRAVERSING)
def test_no_name_leads_anywhere(name: str) -> None:
    optional = document(karpenter={"namespace": "a", "service_account": "b", "node_pools": []})
    found = {**PLACES}
    for label, path in texts_in(optional, Strategy):
        found.setdefault(label, (optional, path))
    for label in NAMES:
        given, path = found[label]
        with pytest.raises(StrategyError) as caught:
            parse_strategy(json.dumps(with_text(given, path, name)))
        codes = {finding.code for finding in caught.value.findings}
        assert codes & {"FIELD_PATTERN", "FIELD_LENGTH", "YAML_SYNTAX"}, label


@pytest.mark.parametrize("name", [*TRAVERSING[:-1], "private.yaml", "PRIVATE", "\x1b[31m"])
def test_no_overlay_leads_anywhere(name: str, tmp_path: Path) -> None:
    (tmp_path / "strategies").mkdir()
    file = tmp_path / "strategies" / "demo.yaml"
    file.write_text(json.dumps(document()), encoding="utf-8")
    (tmp_path / "a").mkdir()
    (tmp_path / "a.yaml").write_text("description: elsewhere\n", encoding="utf-8")
    with pytest.raises(StrategyError) as caught:
        read_strategy(file, overlays=[name])
    assert [finding.code for finding in caught.value.findings] == ["OVERLAY_NAME"]
    assert str(caught.value).isprintable()


# --- whole files, as in a pull request

_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_MERGES = "a: &a {k: v}\n" + "".join(f"b{n}: &b{n} {{<<: [{', '.join(['*a'] * 200)}]}}\n" for n in range(200))
_HEAD = "version: 1\nname: demo\nregion: us-west-2\n"
_GROUPS = "node_groups:\n" + "".join(
    f"  - {{name: g{n}, instance_types: [m6i.xlarge], scaling: {{min: 2, max: 4}}}}\n" for n in range(1000)
)

FILES: dict[str, tuple[str | bytes, str]] = {
    "aliases": (_HEAD + _BOMB, "YAML_ALIAS_LIMIT"),
    "merge keys": (_HEAD + _MERGES, "YAML_ALIAS_LIMIT"),
    "an alias of itself": (_HEAD + "tags: &t {a: *t}\n", "YAML_ALIAS_LIMIT"),
    "depth": (_HEAD + "tags: " + "{a: " * 5000 + "1" + "}" * 5000 + "\n", "YAML_DEPTH"),
    "depth in lists": (_HEAD + "tags: " + "[" * 100_000, "YAML_DEPTH"),
    "a million of characters": (_HEAD + f"description: {'x' * 1_000_000}\n", "FIELD_MISSING"),
    "too many characters": (_HEAD + f"description: {'x' * 1_100_000}\n", "FILE_TOO_LARGE"),
    "too many values": (_HEAD + f"tags: [{'1,' * 50_000}]\n", "FILE_TOO_LARGE"),
    "a large number": (_HEAD.replace("1", "9" * 90, 1), "FIELD_RANGE"),
    "a larger number": (_HEAD.replace("1", "9" * 5000, 1), "FIELD_VALUE"),
    "a large hexadecimal": (_HEAD.replace("1", "0x" + "f" * 99, 1), "FIELD_RANGE"),
    "a large exponent": (_HEAD.replace("1", "1e999999999", 1), "FIELD_VALUE"),
    "infinity": (_HEAD.replace("1", ".inf", 1), "FIELD_VALUE"),
    "a large limit": (
        _HEAD + f"karpenter: {{node_pools: [{{name: p, instance_types: [m6i.xlarge], limits: {{cpu: 1e{'9' * 9}}}}}]}}",
        "FIELD_TYPE",
    ),
    "NUL": (_HEAD + "description: a\0b\n", "FILE_ENCODING"),
    "an escape sequence": (_HEAD + "description: \x1b]0;owned\x07\x1b[2J\n", "FILE_ENCODING"),
    "an escaped escape sequence": (_HEAD + 'description: "\\e[2J"\n', "YAML_SYNTAX"),
    "an escape sequence in a key": (_HEAD + '"\\x1b[31m": 1\n', "YAML_SYNTAX"),
    "C1 controls": (_HEAD + "description: a\x9b31mb\n", "FILE_ENCODING"),
    "text that is turned around": (_HEAD + "description: a\u202eb\n", "FILE_ENCODING"),
    "a tag of Python": (_HEAD + "description: !!python/object/apply:os.system [id]\n", "YAML_TAG"),
    "a second document": (_HEAD + "---\n" + _HEAD, "YAML_DOCUMENTS"),
    "another encoding": ((_HEAD + _GROUPS).encode("utf-16"), "FILE_ENCODING"),
    "no text": (b"\xff\xfe\xfd\x00\x80" * 100, "FILE_ENCODING"),
    "nothing": ("", "FILE_EMPTY"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_hostile_file(case: str, tmp_path: Path) -> None:
    """It has findings: no traceback, and only printable text on the terminal."""
    content, code = FILES[case]
    file = tmp_path / "demo.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert result.exit_code == (2 if code == "FILE_UNREADABLE" else 1)
    assert f"error {code}" in result.output
    assert [line for line in result.output.split("\n") if not line.isprintable()] == []


def test_bombs_in_an_overlay(tmp_path: Path) -> None:
    (tmp_path / "overlays").mkdir()
    (tmp_path / "overlays" / "bomb.yaml").write_text(_BOMB, encoding="utf-8")
    file = tmp_path / "demo.yaml"
    file.write_text(json.dumps(document()), encoding="utf-8")
    with pytest.raises(StrategyError) as caught:
        read_strategy(file, overlays=["bomb"])
    assert [finding.code for finding in caught.value.findings] == ["YAML_ALIAS_LIMIT"]


def test_a_thousand_groups_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "demo.yaml"
    file.write_text(f"{_HEAD}cluster: {{creator_is_admin: true}}\n{_GROUPS}", encoding="utf-8")
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "a\u202eb", "\x9b2J"])
def test_names_of_files_are_printed_as_text(name: str, tmp_path: Path) -> None:
    for entry in (tmp_path / f"{name}.yaml", tmp_path / name):
        result = CliRunner().invoke(app, ["validate", str(entry)])
        assert result.exit_code == 2
        assert [line for line in result.output.split("\n") if not line.isprintable()] == []


SECRET = "AKIAAAAAAAAAAAAAAAAA"


@pytest.mark.parametrize(
    "content", [f"{SECRET}=x\0", f"[default]\nkey = {SECRET}\n", f"{SECRET}: {{\n", f"{SECRET}: 1\n"]
)
def test_a_link_prints_nothing_of_another_file(content: str, tmp_path: Path) -> None:
    """Findings quote their line, and their text is printed in the log of a check."""
    (tmp_path / "credentials").write_text(content, encoding="utf-8")
    file = tmp_path / "demo.yaml"
    file.symlink_to(tmp_path / "credentials")
    for arguments in ([], ["--format", "json"], ["--sarif", "-"]):
        result = CliRunner().invoke(app, ["validate", str(file), *arguments])
        assert result.exit_code == 2
        assert "FILE_UNREADABLE" in result.output
        assert SECRET not in result.output


def test_a_link_to_a_strategy_is_followed(tmp_path: Path) -> None:
    """As Kubernetes mounts a ConfigMap."""
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "demo.yaml").write_text(json.dumps(document()), encoding="utf-8")
    (tmp_path / "demo.yaml").symlink_to(Path("..data") / "demo.yaml")
    assert read_strategy(tmp_path / "demo.yaml").strategy.name == "demo"


# --- written files


def _written(folder: Path, **kubernetes: Any) -> list[Path]:
    given = document(kubernetes={**kubernetes, "delivery": "manifests"}, karpenter={"node_pools": [pool()]})
    resolved = resolve(Strategy.model_validate(given))
    return write(bundle(resolved), folder, name=resolved.name, region=resolved.region, known=known(resolved))


SHELL = [
    "https://charts.example/$(touch$IFS.pwned)",
    "https://charts.example/`touch$IFS.pwned`",
    "https://charts.example/';touch\x09.pwned;'".replace("\x09", "$IFS"),
    'https://charts.example/";touch$IFS.pwned;"',
    "https://charts.example/&touch$IFS.pwned",
    "oci://charts.example/|touch$IFS.pwned",
    "oci://charts.example/--post-renderer=touch",
]


@pytest.mark.parametrize("repository", SHELL)
def test_the_script_that_installs_runs_nothing_of_the_strategy(repository: str, tmp_path: Path) -> None:
    folder, tools = tmp_path / "out", tmp_path / "tools"
    _written(folder, charts={"karpenter": {"repository": repository}})
    tools.mkdir()
    for name in ("helm", "kubectl"):
        (tools / name).write_text('#!/bin/sh\nprintf "%s\\n" "$0 $@" >>"$CALLS"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    environment = {"PATH": f"{tools}{os.pathsep}{os.defpath}", "CALLS": str(tmp_path / "calls")}
    for script in ("install.sh", "pull-charts.sh"):
        ran = [folder / script, *([tmp_path / "charts"] if script == "pull-charts.sh" else [])]
        subprocess.run(ran, env=environment, capture_output=True, timeout=30, check=script == "install.sh")
    assert repository.split("//")[1] in (tmp_path / "calls").read_text(encoding="utf-8")
    assert sorted(each.name for each in tmp_path.rglob("*pwned*")) == []


@pytest.mark.parametrize("secret", ["https://user:password@charts.example", "oci://token@charts.example/x"])
def test_a_repository_has_no_password(secret: str) -> None:
    """It would be in the state, and in files that are committed to a repository."""
    with pytest.raises(ValidationError):
        Strategy.model_validate(document(kubernetes={"charts": {"karpenter": {"repository": secret}}}))


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    files = _written(folder, teams=[{"name": "a"}])
    assert all(file.resolve().is_relative_to(folder.resolve()) for file in files)
    assert {each.name for each in tmp_path.iterdir()} == {"out"}


def _repository(folder: Path) -> Path:
    """Create a folder from an earlier run, with later changes by others, and its neighbors."""
    _written(folder)
    beside = folder.parent / "beside"
    beside.mkdir()
    (beside / "precious").write_text("precious", encoding="utf-8")
    return beside


def test_a_folder_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    beside = _repository(folder)
    for file in (folder / "values").iterdir():
        file.unlink()
    (folder / "values").rmdir()
    (folder / "values").symlink_to(beside)
    with pytest.raises(WriteError, match="remove the link"):
        _written(folder)
    assert [each.name for each in beside.iterdir()] == ["precious"]


def test_a_file_that_is_a_link_is_replaced_not_written_through(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    beside = _repository(folder)
    values = folder / "values" / "karpenter.yaml"
    for file in (values, values.with_name(f".{values.name}.draft"), folder / LIST_FILE.replace("eks", ".eks")):
        file.unlink(missing_ok=True)
        file.symlink_to(beside / "precious")
    _written(folder)
    assert (beside / "precious").read_text(encoding="utf-8") == "precious"
    assert values.is_file()
    assert not values.is_symlink()
