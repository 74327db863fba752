"""Reading and checking several files at once: no mistake hides another."""

from __future__ import annotations

from pathlib import Path

from eks_hardware.loader.discovery import read_environment
from eks_hardware.validation import validate
from helpers.cases import in_one_test
from helpers.findings import codes
from helpers.strategies import TODAY

HEAD = """\
version: 1
name: demo
region: us-west-2
cluster: {creator_is_admin: true}
kubernetes: {delivery: manifests}
"""
SYSTEM = "  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}\n"
GOOD = HEAD + "node_groups:\n" + SYSTEM


def write_files(folder: Path, **files: str) -> list[Path]:
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(text.replace("name: demo", f"name: {name}"), encoding="utf-8")
    return paths


def strategy_text(*groups: str, head: str = HEAD, pools: tuple[str, ...] = ()) -> str:
    text = head + "node_groups:\n" + SYSTEM + "".join(f"  - {{{group}}}\n" for group in groups)
    if pools:
        text += "karpenter:\n  node_pools:\n" + "".join(f"    - {{{pool}}}\n" for pool in pools)
    return text


WRONG_TYPE = "name: wrong, instance_types: [p5.49xlarge], scaling: {max: 2}"
UNREADABLE = "name: unreadable, instance_types: [p5.48xlarge], scalling: {max: 2}"
NO_EFA = "name: small, instance_types: [g6.xlarge], efa: yes, scaling: {max: 2}"


def test_a_faulty_file_does_not_hide_what_is_wrong_in_another(tmp_path: Path) -> None:
    files = write_files(tmp_path, a="version: [", b=strategy_text(WRONG_TYPE), c=GOOD)
    found = validate([*files, tmp_path / "missing.yaml"], today=TODAY)
    assert codes(found.findings) == [
        ("STRATEGY_PATH", ""),
        ("YAML_SYNTAX", ""),
        ("INSTANCE_TYPE_UNKNOWN", "node_groups[wrong].instance_types[0]"),
    ]
    assert [each.strategy.name for each, _ in found.strategies] == ["b", "c"]
    assert len(found.files) == 3


def test_missing_fields_of_a_mapping_are_one_finding(tmp_path: Path) -> None:
    """Those of different mappings are several."""
    text = (
        "version: 1\nname: a\n"
        "node_groups: [{name: one}, {scaling: {}}, {efa: true}]\n"
        "karpenter:\n  node_pools:\n    - {}\n"
    )
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "b.yaml").write_text("{}", encoding="utf-8")
    found = validate([tmp_path / "a.yaml", tmp_path / "b.yaml"], today=TODAY)
    assert {each.code for each in found.findings} == {"FIELD_MISSING"}
    assert [(each.path, each.message) for each in found.findings] == [
        ("region", "required field region is missing; add it"),
        ("node_groups[one].scaling", "required field scaling is missing; add it"),
        ("node_groups[1].name", "required field name is missing; add it"),
        ("node_groups[1].scaling.max", "required field max is missing; add it"),
        ("node_groups[2]", "required fields name and scaling are missing; add them"),
        ("karpenter.node_pools[0]", "required fields name and limits are missing; add them"),
        ("", "required fields version, name, region and node_groups are missing; add them"),
    ]


def test_a_faulty_group_does_not_hide_what_is_wrong_in_another(tmp_path: Path) -> None:
    pool = "name: pool, instance_families: [g66], limits: {nvidia.com/gpu: 8}"
    (file,) = write_files(
        tmp_path, a=strategy_text(UNREADABLE, WRONG_TYPE, NO_EFA, pools=(pool, "name: empty, size: 3"))
    )
    found = validate([file], today=TODAY)
    assert set(codes(found.findings)) == {
        ("FIELD_UNKNOWN", "node_groups[unreadable].scalling"),
        ("FIELD_MISSING", "node_groups[unreadable].scaling"),
        ("INSTANCE_TYPE_UNKNOWN", "node_groups[wrong].instance_types[0]"),
        ("FIELD_TYPE", "node_groups[small].efa"),
        ("POOL_FAMILY_UNKNOWN", "karpenter.node_pools[pool].instance_families[0]"),
        ("FIELD_UNKNOWN", "karpenter.node_pools[empty].size"),
        ("FIELD_MISSING", "karpenter.node_pools[empty].limits"),
    } | {each for each in codes(found.findings) if each[0].startswith("POOL_HARDWARE")}
    places = [each.position for each in found.findings]
    assert places == sorted(places, key=lambda each: each or ())


def test_what_depends_on_a_faulty_group_is_not_reported(tmp_path: Path) -> None:
    """Without the group, there is no untainted node and nothing to scale; but the file has the group."""
    text = HEAD + "node_groups:\n  - {name: system, instance_types: [m6i.xlarge], scaling: {min: two, max: 4}}\n"
    text += "  - {name: gpu, instance_types: [g6.xlarge], scaling: {max: 2}}\n"
    (file,) = write_files(tmp_path, a=text)
    assert [code for code, _ in codes(validate([file], today=TODAY).findings)] == ["FIELD_TYPE"]


SLICES = "name: slices, instance_types: [p4d.24xlarge], gpu_sharing: {mig_profile: 1g.5gb}, scaling: {max: 2}"
PINNED = "name: pinned, instance_types: [g6.xlarge], ami: {release_version: 1.34.9-20260714}, scaling: {max: 2}"
FAR = "name: far, instance_types: [m7i.xlarge], zones: [usw2-az4], scaling: {max: 2}"


@in_one_test(
    ("section", "code"),
    [
        ("network: {zone: [usw2-az1]}", "FIELD_UNKNOWN"),
        ("network: {cidr: 10.0.0.1/16}", "CIDR_INVALID"),
        ("cluster: {kubernetes_version: 1.35}", "FIELD_TYPE"),
        ("kubernetes: {kueue: ture}", "FIELD_TYPE"),
        ('tags: {"aws:a": b}', "TAG_RESERVED"),
        ('description: "a\\nb"', "TEXT_CONTROL_CHARACTER"),
        ("storage: {fsx: {}}", "FIELD_UNKNOWN"),
        ("colour: red", "FIELD_UNKNOWN"),
        ("ignore: [{code: A, path: b, reason: c}]", "FIELD_PATTERN"),
    ],
)
def test_a_faulty_section_does_not_hide_what_is_wrong_in_groups_and_pools(
    tmp_path: Path, section: str, code: str
) -> None:
    name = section.partition(":")[0]
    head = "".join(line for line in HEAD.splitlines(True) if not line.startswith(f"{name}:")) + section + "\n"
    pool = "name: pool, instance_families: [g66], limits: {nvidia.com/gpu: 8}"
    (file,) = write_files(tmp_path, a=strategy_text(WRONG_TYPE, head=head, pools=(pool,)))
    found = [each for each, _ in codes(validate([file], today=TODAY).findings)]
    assert {code, "INSTANCE_TYPE_UNKNOWN", "POOL_FAMILY_UNKNOWN"} <= set(found)


@in_one_test(
    ("section", "group", "code"),
    [
        ("kubernetes: {gpu_operatr: true}", SLICES, "MIG_NEEDS_OPERATOR"),
        ("kubernets: {gpu_operator: true}", SLICES, "MIG_NEEDS_OPERATOR"),
        ("cluster: {kubernetes_version: 1.34}", PINNED, "AMI_RELEASE_KUBERNETES"),
        ("network: {zone: [usw2-az4]}", FAR, "ZONE_NOT_IN_NETWORK"),
    ],
)
def test_what_may_depend_on_a_faulty_section_is_not_reported(
    tmp_path: Path, section: str, group: str, code: str
) -> None:
    """With its default instead, the rule would report something that the author did not write."""
    head = "version: 1\nname: demo\nregion: us-west-2\n" + section + "\n"
    (file,) = write_files(tmp_path, a=strategy_text(group, WRONG_TYPE, head=head))
    found = [each for each, _ in codes(validate([file], today=TODAY).findings)]
    assert "INSTANCE_TYPE_UNKNOWN" in found
    assert code not in found


def test_a_fault_in_another_section_is_reported_on_its_own(tmp_path: Path) -> None:
    head = HEAD.replace("true}", "true, kubernetes_version: '1.30'}")
    (file,) = write_files(tmp_path, a=strategy_text(UNREADABLE, head=head))
    assert ("KUBERNETES_VERSION_UNSUPPORTED", "cluster.kubernetes_version") in codes(
        validate([file], today=TODAY).findings
    )


def test_a_fault_of_karpenter_does_not_hide_its_pools(tmp_path: Path) -> None:
    pool = "name: pool, instance_families: [g66], limits: {nvidia.com/gpu: 8}"
    text = strategy_text(pools=(pool,)).replace("karpenter:\n", "karpenter:\n  replicas: 0\n")
    (file,) = write_files(tmp_path, a=text)
    assert {"FIELD_RANGE", "POOL_FAMILY_UNKNOWN"} <= {each for each, _ in codes(validate([file], today=TODAY).findings)}


@in_one_test("name", ["3", "0", "gpu", "1"])
def test_only_the_faulty_group_is_left_out(tmp_path: Path, name: str) -> None:
    """Regardless of the others' names: items are identified by name, and by position only without one."""
    groups = ("instance_types: [p5.48xlarge], scaling: {max: 2}", WRONG_TYPE, f'name: "{name}", colour: 1')
    (file,) = write_files(tmp_path, a=strategy_text(*groups))
    assert ("INSTANCE_TYPE_UNKNOWN", "node_groups[wrong].instance_types[0]") in codes(
        validate([file], today=TODAY).findings
    )


def test_two_groups_of_one_name_are_both_left_out(tmp_path: Path) -> None:
    twice = "name: gpu, instance_types: [p5.49xlarge], scaling: {max: 2}"
    (file,) = write_files(tmp_path, a=strategy_text(twice, twice, WRONG_TYPE))
    assert codes(validate([file], today=TODAY).findings) == [
        ("NAME_DUPLICATE", "node_groups[gpu]"),
        ("INSTANCE_TYPE_UNKNOWN", "node_groups[wrong].instance_types[0]"),
    ]


def test_findings_are_in_the_order_of_files_and_lines(tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    files = write_files(
        tmp_path, b=strategy_text(WRONG_TYPE, NO_EFA.replace("yes", "true")), a=strategy_text(WRONG_TYPE)
    )
    found = validate(list(reversed(files)), today=TODAY)
    places = [(Path(each.position.file).stem, each.position.line) for each in found.findings if each.position]
    assert places == [("a", 8), ("b", 8), ("b", 9)]


def test_two_strategies_of_one_name(tmp_path: Path) -> None:
    files = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for file in files:
        file.write_text(strategy_text(WRONG_TYPE), encoding="utf-8")
    found = codes(validate(files, today=TODAY).findings)
    assert [code for code, _ in found] == ["INSTANCE_TYPE_UNKNOWN", "STRATEGY_NAME_DUPLICATE", "INSTANCE_TYPE_UNKNOWN"]


def test_ignored_warnings_are_kept_apart(tmp_path: Path) -> None:
    head = HEAD.replace("true}", "true, endpoint: {public_cidrs: [0.0.0.0/0]}}")
    text = strategy_text(head=head) + "ignore: [{code: ENDPOINT_OPEN, path: cluster, reason: a sandbox without data}]\n"
    found = validate(write_files(tmp_path, a=text), today=TODAY)
    assert [each.code for each in found.ignored] == ["ENDPOINT_OPEN"]
    assert (found.errors, found.warnings, found.shown) == ((), (), ())


def test_overlays_and_files_come_from_the_environment(tmp_path: Path) -> None:
    (file,) = write_files(tmp_path, a=GOOD)
    (tmp_path / "overlays").mkdir()
    (tmp_path / "overlays" / "open.yaml").write_text("cluster: {endpoint: {public_cidrs: [0.0.0.0/0]}}\n", "utf-8")
    found = validate(*read_environment({"EKS_HARDWARE_STRATEGIES": str(file), "EKS_HARDWARE_OVERLAY": "open"}))
    (warning,) = (each for each in found.findings if each.code == "ENDPOINT_OPEN")
    assert warning.position is not None
    assert warning.position.file.endswith("open.yaml")
