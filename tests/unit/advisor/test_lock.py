"""The lock file: written files are read back, writes are atomic, and other files are refused."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.advisor.strategies import lock
from eks_hardware.loader.discovery import discover
from helpers.cases import in_one_test
from helpers.locking import entry


def lock_document(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(lock.as_text([entry()]))
    content.update(changes)
    return content


def choice(**changes: Any) -> dict[str, Any]:
    return lock_document(choices=[{**lock_document()["choices"][0], **changes}])


def with_choice(**changes: Any) -> dict[str, Any]:
    return choice(chosen={**lock_document()["choices"][0]["chosen"], **changes})


LATENCY: dict[str, Any] = {"efa": True, "workload.latency.per_token_ms": 12.5}
ENTRIES = [entry(), entry("karpenter.node_pools[pool]", **LATENCY)]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = lock.lock_path(tmp_path / "demo.yaml")
    assert path == tmp_path / "demo.lock.json"
    assert lock.read(path) == ()
    assert lock.write(path, ENTRIES)
    assert sorted(lock.read(path), key=lambda each: each.path) == sorted(ENTRIES, key=lambda each: each.path)
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_entries_are_the_same_text(tmp_path: Path) -> None:
    path = tmp_path / "demo.lock.json"
    lock.write(path, ENTRIES)
    text, changed = path.read_text(encoding="utf-8"), path.stat().st_mtime_ns
    assert not lock.write(path, list(reversed(ENTRIES)))
    assert (path.read_text(encoding="utf-8"), path.stat().st_mtime_ns) == (text, changed)
    assert text.endswith("}\n")
    paths = [each["path"] for each in json.loads(text)["choices"]]
    assert paths == sorted(paths)


def test_without_entries_there_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "demo.lock.json"
    assert not lock.write(path, [])
    lock.write(path, ENTRIES)
    assert lock.write(path, [])
    assert not path.exists()


def test_a_lock_file_is_no_strategy(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text("version: 1\n", encoding="utf-8")
    lock.write(tmp_path / "demo.lock.json", ENTRIES)
    assert [file.name for file in discover([tmp_path])] == ["demo.yaml"]


HOSTILE = {
    "empty": "",
    "of another tool": '{"name": "app", "lockfileVersion": 3, "packages": {}}',
    "a list": "[]",
    "nothing": "null",
    "no JSON": "version: 1\n",
    "cut off": lock.as_text(ENTRIES)[:300],
    "conflict markers": lock.as_text(ENTRIES).replace('"choices": [', '"choices": [\n<<<<<<< HEAD\n'),
    "of the future": json.dumps(lock_document(lock_version=2)),
    "version as text": json.dumps(lock_document(lock_version="1")),
    "deep": "[" * 100_000,
    "deep in a value": json.dumps(choice(asked={"region": "x"})).replace('"x"', "[" * 5000 + "]" * 5000),
    "a huge number": json.dumps(choice()).replace("8000000000", "1" + "0" * 5000),
    "a large number": json.dumps(choice()).replace("8000000000", "1" + "0" * 30),
    "no number": json.dumps(choice()).replace("1.861", "NaN"),
    "infinite": json.dumps(choice()).replace("1.861", "1e999"),
    "an unknown field": json.dumps(lock_document(more=1)),
    "an unknown field inside": json.dumps(with_choice(user_data="rm -rf /")),
    "no types": json.dumps(with_choice(instance_types=[])),
    "many types": json.dumps(with_choice(instance_types=["g6.xlarge"] * 21)),
    "an expression for a type": json.dumps(with_choice(instance_types=["${file(1)}.x"])),
    "a name for a path": json.dumps(choice(path="../../x")),
    "a word for a number": json.dumps(with_choice(nodes="1")),
    "no nodes": json.dumps(with_choice(nodes=0)),
    "a word for true": json.dumps(with_choice(efa="yes")),
    "another capacity": json.dumps(with_choice(capacity=["free"])),
    "another need": json.dumps(with_choice(needs={"precision": "fp7"})),
    "a list of lists": json.dumps(choice(asked={"zones": [["a"]]})),
    "text without end": json.dumps(choice(asked={"region": "x" * 5000})),
    "too large": json.dumps(choice()) + " " * lock.MAX_BYTES,
    "not UTF-8": json.dumps(choice()).replace("vllm", "v\udcff"),
}


@in_one_test("text", HOSTILE.values(), ids=HOSTILE)
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "demo.lock.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(lock.LockError) as caught:
        lock.read(path)
    assert caught.value.code == "LOCK_INVALID"
    assert len(caught.value.message) < 500
    assert caught.value.message.isprintable()


def test_the_plain_document_of_these_cases_is_valid(tmp_path: Path) -> None:
    """So that each is refused for the reason in its name."""
    path = tmp_path / "demo.lock.json"
    for content in (lock_document(), choice(), with_choice()):
        path.write_text(json.dumps(content), encoding="utf-8")
        assert len(lock.read(path)) == 1


def _as_link(path: Path) -> None:
    (path.parent / "other.json").write_text(lock.as_text(ENTRIES), encoding="utf-8")
    path.symlink_to("other.json")


@in_one_test("make", [os.mkfifo, Path.mkdir, _as_link], ids=["pipe", "folder", "link"])
def test_only_a_file_is_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "demo.lock.json"
    make(path)
    with pytest.raises(lock.LockError, match="LOCK_INVALID"):
        lock.read(path)


# --- writing


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "demo.lock.json"
    lock.write(path, ENTRIES)

    def full(_draft: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(lock.LockError) as caught:
        lock.write(path, [entry(region="us-east-1")])
    assert caught.value.code == "LOCK_UNWRITABLE"
    assert "no space left" in caught.value.message
    assert len(lock.read(path)) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_run_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "demo.lock.json"
    lock.write(path, ENTRIES)

    def killed(_draft: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            lock.write(path, [entry(region="us-east-1")])
    assert len(lock.read(path)) == 2
    # Files that an interrupted run left behind do no harm.
    (tmp_path / f".demo.lock.json.{os.getpid()}.draft").write_text("half", encoding="utf-8")
    assert lock.write(path, [entry(region="us-east-1")])
    assert list(tmp_path.iterdir()) == [path]


@in_one_test("place", ["missing/demo.lock.json", "file/demo.lock.json", f"{'x' * 250}.lock.json"])
def test_an_unwritable_place_is_reported(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(lock.LockError) as caught:
        lock.write(tmp_path / place, ENTRIES)
    assert caught.value.code == "LOCK_UNWRITABLE"


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    path = tmp_path / "demo.lock.json"
    other = tmp_path / "other.txt"
    other.write_text("mine", encoding="utf-8")
    path.symlink_to(other)
    lock.write(path, ENTRIES)
    assert other.read_text(encoding="utf-8") == "mine"
    assert stat.S_ISREG(path.lstat().st_mode)
