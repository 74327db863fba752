"""Findings as text: the invalid line, with a caret under the position."""

from __future__ import annotations

from pathlib import Path

from eks_hardware.findings import Finding, Position, Severity
from eks_hardware.printable import counted
from eks_hardware.validation.terminal import as_text
from helpers.cases import in_one_test


def excerpt(tmp_path: Path, text: str, line: int, column: int) -> list[str]:
    file = tmp_path / "a.yaml"
    file.write_bytes(text.encode())
    finding = Finding("CODE", "a.b", "is wrong", Severity.ERROR, Position(str(file), line, column))
    first, *rest = as_text([finding]).split("\n")
    assert first == f"{file}:{line}:{column}: error CODE a.b: is wrong"
    return rest


@in_one_test(
    ("text", "line", "column", "shown"),
    [
        ("version: 1\nname: demo\n", 2, 7, ["    2 | name: demo", "      |       ^^^^"]),
        ("a: [x.y, z]\n", 1, 5, ["    1 | a: [x.y, z]", "      |     ^^^"]),
        ("a: [x.y, z]\n", 1, 4, ["    1 | a: [x.y, z]", "      |    ^^^^^^^^"]),
        ("a: {b: 1}\n", 1, 4, ["    1 | a: {b: 1}", "      |    ^^^^^^"]),
        ("a: [\n", 1, 4, ["    1 | a: [", "      |    ^"]),
        ('a: "b c"  # why\n', 1, 4, ['    1 | a: "b c"  # why', "      |    ^^^^^"]),
        (
            "a: arn:aws:iam::1:role/x, b\n",
            1,
            4,
            ["    1 | a: arn:aws:iam::1:role/x, b", "      |    ^^^^^^^^^^^^^^^^^^^^^"],
        ),
        # Wide characters use two columns, combining ones none.
        ("日本: x\n", 1, 5, ["    1 | 日本: x", "      |       ^"]),
        ("e\u0301: x\n", 1, 5, ["    1 | e\u0301: x", "      |    ^"]),
        # A tab is one character in YAML, and here.
        ("a:\tx\n", 1, 4, ["    1 | a: x", "      |    ^"]),
        ("a: 1\r\nb: 2\r\n", 2, 4, ["    2 | b: 2", "      |    ^"]),
        ("\ufeffa: 1\n", 1, 4, ["    1 | a: 1", "      |    ^"]),
        # Past the end of the line, for a missing value.
        ("a:\n", 1, 3, ["    1 | a:", "      |   ^"]),
    ],
)
def test_marks_the_place(tmp_path: Path, text: str, line: int, column: int, shown: list[str]) -> None:
    assert excerpt(tmp_path, text, line, column) == shown


def test_what_acts_on_a_terminal_is_escaped(tmp_path: Path) -> None:
    line, marks = excerpt(tmp_path, "a: \x1b[31mred\n", 1, 4)
    assert line == r"    1 | a: \x1b[31mred"
    assert marks.index("^") == line.index("\\")


def test_of_a_long_line_the_place_is_shown(tmp_path: Path) -> None:
    line, marks = excerpt(tmp_path, "a: [" + "x, " * 100 + "wrong, " + "y, " * 100 + "]\n", 1, 305)
    assert len(line) < 88
    assert line[marks.index("^") :].startswith("wrong")
    assert marks.count("^") == len("wrong")


def test_an_edited_file_shows_its_new_line(tmp_path: Path) -> None:
    assert excerpt(tmp_path, "a: 1\n", 1, 4) == ["    1 | a: 1", "      |    ^"]
    assert excerpt(tmp_path, "a: 22\n", 1, 4) == ["    1 | a: 22", "      |    ^^"]


@in_one_test(("line", "column"), [(0, 0), (9, 1), (2, 1)])
def test_no_line_no_excerpt(tmp_path: Path, line: int, column: int) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: 1\n\n", encoding="utf-8")
    finding = Finding("CODE", "", "is wrong", position=Position(str(file), line, column))
    assert "\n" not in as_text([finding])


@in_one_test("name", ["<string>", "", "no/such/file.yaml", "."])
def test_what_cannot_be_read_has_no_excerpt(name: str) -> None:
    assert (
        as_text([Finding("CODE", "", "is wrong", position=Position(name, 1, 1))]) == f"{name}:1:1: error CODE: is wrong"
    )


def test_counts() -> None:
    assert [counted(number, "error") for number in (0, 1, 2)] == ["0 errors", "1 error", "2 errors"]


def test_equal_findings_of_several_files_are_one(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1\n", encoding="utf-8")
    found = [
        Finding("OPEN", "a", "is open", Severity.WARNING, Position(str(tmp_path / name), line, 1))
        for name, line in (("a.yaml", 1), ("b.yaml", 7), ("c.yaml", 9))
    ]
    other = Finding("OTHER", "a", "is open", Severity.WARNING, Position(str(tmp_path / "b.yaml"), 8, 1))
    assert as_text([found[0], found[1], other, found[2]]).split("\n") == [
        f"{tmp_path}/a.yaml:1:1: warning OPEN a: is open",
        "    1 | a: 1",
        "      | ^",
        f"  also in {tmp_path}/b.yaml:7:1 and {tmp_path}/c.yaml:9:1",
        f"{tmp_path}/b.yaml:8:1: warning OTHER a: is open",
    ]


def test_a_finding_without_a_file_has_the_form_of_wrong_options() -> None:
    must, other = Finding("FIELD_VALUE", "--task", "must be x"), Finding("SIZE", "--model", '"0B" is not a size')
    path = Finding("STRATEGY_PATH", "", '"nope" does not exist')
    assert as_text([must, other, path]).split("\n") == [
        "error: --task must be x",
        'error: --model: "0B" is not a size',
        'error: "nope" does not exist',
    ]
