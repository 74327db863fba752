"""Accepted YAML, and the position of each finding about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from eks_hardware.findings import StrategyError
from eks_hardware.loader import yaml_document
from eks_hardware.loader.source_map import SourceMap
from eks_hardware.loader.yaml_document import MAX_NODES, parse
from eks_hardware.loader.yaml_files import MAX_BYTES, display_name, read_text
from helpers.cases import in_one_test


def places_of_findings(text: str) -> list[tuple[str, int, int]]:
    parsed = parse(text, "f")
    return [(f.code, f.position.line, f.position.column) for f in parsed.findings if f.position]


def plain_value(text: str) -> object:
    parsed = parse(text, "f")
    assert parsed.findings == ()
    assert parsed.root is not None
    return parsed.root.plain()


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)
)
MERGE_BOMB = "m0: &m0 {a: 1, b: 2}\n" + "".join(
    f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}], k{n}: *m{n - 1}}}\n" for n in range(1, 20)
)


@in_one_test(
    ("text", "expected"),
    [
        ("", [("FILE_EMPTY", 0, 0)]),
        ("# only\n  # comments\n", [("FILE_EMPTY", 0, 0)]),
        ("---\n", [("FILE_EMPTY", 0, 0)]),
        ("~\n", [("FILE_EMPTY", 0, 0)]),
        ("- a\n- b\n", [("FILE_NOT_A_MAPPING", 1, 1)]),
        ("apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n---\na: 1\n", [("FILE_MANIFEST", 1, 13)]),
        ("kind: List\napiVersion: v1\n", [("FILE_MANIFEST", 2, 13)]),
        ("managedNodeGroups: [{name: a}]\n", [("FILE_MANIFEST", 1, 1)]),
        ("Resources: {C: {Name: !Ref N}}\n", [("FILE_MANIFEST", 1, 1)]),
        ("apiVersion: v2\nname: a\nversion: 0.1.0\n", [("FILE_MANIFEST", 1, 1)]),
        ('{"version": 4, "terraform_version": "1.9.0", "resources": []}', [("FILE_MANIFEST", 1, 46)]),
        ("resources: [a.yaml]\n", [("FILE_MANIFEST", 1, 1)]),
        ("resources: {}\n", []),  # of a chart's values, if anything
        ("resources: {}\nreplicaCount: 2\n", [("FILE_MANIFEST", 2, 1)]),
        ('{"resource": {}}', [("FILE_MANIFEST", 1, 2)]),
        ('{"//": {}, "provider": {}, "terraform": {}}', [("FILE_MANIFEST", 1, 12)]),
        ('module "eks" {\n  name = "a"\n}\n', [("FILE_MANIFEST", 1, 1)]),
        ('region = "us-west-2"\n', [("FILE_MANIFEST", 1, 1)]),
        ("resource: 1\nnode_groups: []\n", []),
        ("\n  text\n", [("FILE_NOT_A_MAPPING", 2, 3)]),
        ("a: 1\n---\nb: 2\n", [("YAML_DOCUMENTS", 2, 1)]),
        ("a: 1\n---\n", [("YAML_DOCUMENTS", 2, 1)]),
        ("a: 1\nb: 2\na: 3\n", [("YAML_DUPLICATE_KEY", 3, 1)]),
        ("a: {x: 1, x: 2, x: 3}\n", [("YAML_DUPLICATE_KEY", 1, 11), ("YAML_DUPLICATE_KEY", 1, 17)]),
        ("a: !!python/object:os.system x\n", [("YAML_TAG", 1, 4)]),
        ("a: !Foo {b: 1}\nc: !!str 1\n", [("YAML_TAG", 1, 4), ("YAML_TAG", 2, 4)]),
        ("a: ! x\n", [("YAML_TAG", 1, 4)]),
        ("!Foo\na: 1\n", [("YAML_TAG", 1, 1)]),
        ("1: x\n", [("YAML_KEY_TYPE", 1, 1)]),
        ("yes: x\nOn: y\nno: z\noff: z\n", [("YAML_KEY_TYPE", n, 1) for n in (1, 2, 3, 4)]),
        ("true: x\nnull: y\n1.5: z\n", [("YAML_KEY_TYPE", n, 1) for n in (1, 2, 3)]),
        (": x\n", [("YAML_SYNTAX", 1, 1)]),
        ("? [a, b]\n: x\n", [("YAML_KEY_TYPE", 1, 3)]),
        ("{{a: b}: c}\n", [("YAML_KEY_TYPE", 1, 2)]),
        ("a:\n\tb: 1\n", [("YAML_SYNTAX", 2, 1)]),
        ("a: [1, 2\nb: 3\n", [("YAML_SYNTAX", 2, 2)]),
        ("a: 'open\n", [("YAML_SYNTAX", 2, 1)]),
        ("a: b: c\n", [("YAML_SYNTAX", 1, 5)]),
        ("a: *nowhere\n", [("YAML_SYNTAX", 1, 4)]),
        ("a: &a [*a]\n", [("YAML_ALIAS_LIMIT", 1, 8)]),
        ("a: &a {b: {<<: *a}}\n", [("YAML_ALIAS_LIMIT", 1, 16)]),
        ("a: {<<: 3}\n", [("YAML_SYNTAX", 1, 9)]),
        ("a: " + "[" * 60 + "]" * 60, [("YAML_DEPTH", 1, 43)]),
        ("".join(" " * n + f"k{n}:\n" for n in range(60)), [("YAML_DEPTH", 40, 40)]),
        ("a: \0b\n", [("FILE_ENCODING", 1, 4)]),
        ("ok: 1\na: \x07\n", [("FILE_ENCODING", 2, 4)]),
        ("a: x\u2028y\n", [("FILE_ENCODING", 1, 5)]),
        ("a: x\u202ey\n", [("FILE_ENCODING", 1, 5)]),
        ("a: \ud800\n", [("FILE_ENCODING", 1, 4)]),
        ('a: "\\0"\nb: "\\ud800"\n', [("YAML_SYNTAX", 1, 4), ("YAML_SYNTAX", 2, 7)]),
        ('a: "\\UFFFFFFFF"\n', [("YAML_SYNTAX", 1, 7)]),
        ("%YAML 1.1\n---\na: 1\n", [("YAML_SYNTAX", 1, 1)]),
        ("# x\n%TAG ! tag:x,2000:\n---\na: 1\n", [("YAML_SYNTAX", 2, 1)]),
        ("a: 1\r\nb: 2\r\na: 3\r\n", [("YAML_DUPLICATE_KEY", 3, 1)]),
    ],
)
def test_refused(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert places_of_findings(text) == expected


@in_one_test(
    ("text", "message"),
    [
        ("a:\n\tb: 1\n", "the line contains a tab; indent with spaces"),
        ("a: |\n\tb\n", "the line contains a tab; indent with spaces"),
        ("a: [1, 2\nb: 3\n", "the [ on line 1 is not closed; add ], or a comma between its items"),
        ("a:\n  - {b: 1\nc: 2\n", "the { on line 2 is not closed; add }, or a comma between its fields"),
        ("a: ]\n", 'expected a value, got "]"; add a value, or remove this character'),
        ("a: [1, , 2]\n", 'expected a value, got ","; add a value, or remove this character'),
        ("a: [1, }\n", "expected a value; add one, or close the bracket that is still open"),
        ("a: [1]]\n", "] closes no open bracket; remove it"),
        ("a: 'open\n", "the quote on line 1 is not closed; close it"),
        ("a: 'it's'\n", 'a value must end its line, got "s\'" after it; put the whole value in quotes'),
        ("a:\n  b: 1\n c: 2\n", "indented differently from the other fields of the mapping that starts on line 1; "
         "indent them alike"),
        ("a:\n  - b: 1\n   c: 2\n", "this line is in the list that starts on line 2, but is not an item; indent all "
         "items alike, and the fields of each item alike"),
        (" a: 1\nb: 2\n", "indented differently from the lines above; indent all top-level fields alike"),
        ("a: 1\nb\nc: 2\n", 'line 2 has no value; write "key: value" on one line, with a space after the colon'),
        ("a: b: c\n", '": " is not allowed here; indent the line like its neighbors, or put a value that contains ": "'
         " in quotes"),
        ("a: - b\n", 'a list item ("- ") must start on its own line'),
        (": x\n", 'a key is missing before ":"; add it'),
        ("a: {b:}\n", 'a space is missing after ":"; add it'),
        ("a: @b\n", "a value cannot begin with @; put it in quotes"),
        ("a: *.yaml\n", "* starts an alias name, which can contain only letters, digits, - and _; put text in quotes"),
        ("a: &\n", "& starts an anchor name, which can contain only letters, digits, - and _; put text in quotes"),
        ("a: !b!c d\n", "a value that begins with ! is a tag, and tags are not supported; put the value in quotes if "
         "it is text"),
        ('a: "\\d+"\n', "unknown escape in double quotes; write \\\\ for a backslash, or put the value in single "
         "quotes"),
        ("%TAG\n---\na: 1\n", "%YAML and %TAG directives are not supported; remove the line"),
        ("a: !!str 1\n", "tag !!str is not allowed; put the value in quotes to make it text"),
    ],
)  # fmt: skip
def test_says_what_to_do(text: str, message: str) -> None:
    assert [finding.message for finding in parse(text, "f").findings] == [message]


@in_one_test("text", ["a: [1, 2\nb: 3\n", "a:\n\tb: 1\n", 'a: "\\UFFFFFFFF"\n', "a: !x 1\na: 2\n", "a: é\nb: 1\n"])
def test_reads_without_libyaml(text: str) -> None:
    with_libyaml = parse(text, "f")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_document, "_LOADER", yaml.SafeLoader)
        without = parse(text, "f")
    assert [finding.code for finding in without.findings] == [finding.code for finding in with_libyaml.findings]
    assert without.root is None or with_libyaml.root is None or without.root.plain() == with_libyaml.root.plain()


@pytest.mark.parametrize("bomb", [BOMB, MERGE_BOMB])
def test_bombs_are_refused_without_being_expanded(bomb: str) -> None:
    assert [code for code, _, _ in places_of_findings(bomb)] == ["YAML_ALIAS_LIMIT"]


def test_a_chain_of_aliases_is_limited_in_depth() -> None:
    chain = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60))
    assert [code for code, _, _ in places_of_findings(chain)] == ["YAML_DEPTH"]


def test_too_many_values_and_too_much_text() -> None:
    assert [code for code, _, _ in places_of_findings("a: [" + "1," * MAX_NODES + "]")] == ["FILE_TOO_LARGE"]
    assert parse("#" * (MAX_BYTES + 1), "f").findings[0].code == "FILE_TOO_LARGE"


@in_one_test(
    ("text", "expected"),
    [
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        (
            "a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc:\n  r: 3\n  <<: [*x, *y]\n",
            {"a": {"p": 1}, "b": {"p": 2, "q": 2}, "c": {"r": 3, "p": 1, "q": 2}},
        ),
        ('"<<": 1\n', {"<<": 1}),
        ("a: yes\nb: no\nc: on\nd: Off\ny: n\n", {"a": "yes", "b": "no", "c": "on", "d": "Off", "y": "n"}),
        ("a: true\nb: False\nc: ~\nd:\ne: null\n", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        ("a: 1\nb: -2\nc: 0x1F\nd: 0o17\ne: 0\n", {"a": 1, "b": -2, "c": 31, "d": 15, "e": 0}),
        ("a: 1.5\nb: 1e3\nc: .5\nd: 1.30\n", {"a": 1.5, "b": 1000.0, "c": 0.5, "d": 1.3}),
        (
            "a: 012\nb: 1_000\nc: 12:30\nd: 2026-01-31\ne: 1.2.3\n",
            {"a": "012", "b": "1_000", "c": "12:30", "d": "2026-01-31", "e": "1.2.3"},
        ),
        ("a: '1'\nb: \"true\"\nc: |\n  1\n", {"a": "1", "b": "true", "c": "1\n"}),
        ("a: -.inf\n", {"a": float("-inf")}),
        ("\ufeffa: 1\n", {"a": 1}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("a: # comment\n  b: 1 # more\n# end\n", {"a": {"b": 1}}),
        ("a: two words #no comment\nb: x#y\n", {"a": "two words", "b": "x#y"}),
        ("a:\n- b: 1\n- c\nd: 2\n", {"a": [{"b": 1}, "c"], "d": 2}),
        ("limits: {nvidia.com/gpu: 16}\n", {"limits": {"nvidia.com/gpu": 16}}),
    ],
)
def test_accepted(text: str, expected: object) -> None:
    assert plain_value(text) == expected


def test_a_huge_number_stays_text() -> None:
    assert plain_value("a: " + "9" * 5000) == {"a": "9" * 5000}


@in_one_test(
    ("path", "expected"),
    [
        ("", (1, 1)),
        ("name", (1, 7)),
        ("groups", (2, 1)),
        ("groups[gpu]", (4, 5)),
        ("groups[gpu].scaling.max", (5, 28)),
        ("groups[1].scaling.max", (5, 28)),
        ("groups[gpu].efa", (4, 5)),
        ("groups[gpu].scaling.min.deeper", (5, 20)),
        ("groups[nobody].efa", (2, 1)),
        ("groups[7]", (2, 1)),
        ("tags[a/b]", (6, 13)),
        ("absent.field", (1, 1)),
    ],
)
def test_locate(path: str, expected: tuple[int, int]) -> None:
    text = "name: x\ngroups:\n  - {name: cpu}\n  - name: gpu\n    scaling: {min: 1, max: 2}\ntags: {a/b: z}\n"
    # The block items of `groups` start at the column of their dashes; an item at its first key.
    root = parse(text, "f").root
    assert root is not None
    position = SourceMap(root).locate(path)
    assert position is not None
    assert (position.line, position.column) == expected


@in_one_test(
    ("content", "code", "place"),
    [
        (b"a: \xff\n", "FILE_ENCODING", (1, 4)),
        (b"a: 1\nb: caf\xe9\n", "FILE_ENCODING", (2, 7)),
        ("a: 1\n".encode("utf-16"), "FILE_ENCODING", (1, 1)),
        ("\ufeffa: 1\n".encode("utf-16-be"), "FILE_ENCODING", (1, 1)),
        ("\ufeffa: 1\n".encode("utf-32-be"), "FILE_ENCODING", (1, 1)),
        (b"#" * (MAX_BYTES + 1), "FILE_TOO_LARGE", (0, 0)),
    ],
)
def test_files_that_are_not_utf8_text(tmp_path: Path, content: bytes, code: str, place: tuple[int, int]) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(content)
    with pytest.raises(StrategyError) as caught:
        read_text(file, "x.yaml")
    (finding,) = caught.value.findings
    assert finding.position is not None
    assert (finding.code, finding.position.line, finding.position.column) == (code, *place)


def test_unreadable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "fifo")
    unreadable = [tmp_path, tmp_path / "gone", tmp_path / "broken", tmp_path / "loop", tmp_path / "fifo"]
    for path in [*unreadable, Path("/dev/zero"), Path("a\0b"), tmp_path / ("x" * 300)]:
        with pytest.raises(StrategyError) as caught:
            read_text(path, "x")
        assert [finding.code for finding in caught.value.findings] == ["FILE_UNREADABLE"]

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StrategyError, match="FILE_UNREADABLE: cannot be read: permission denied"):
        read_text(tmp_path / "x", "x")


def test_file_names_are_shown_relative_and_printable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert display_name(tmp_path / "a" / "b.yaml") == str(Path("a/b.yaml"))
    assert display_name("c.yaml") == "c.yaml"
    assert display_name(tmp_path.parent / "d.yaml") == str(tmp_path.parent / "d.yaml")
    assert display_name("a\nb") == "a\\nb"
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert display_name("/a.yaml") == "/a.yaml"
