"""``pull-charts.sh`` with the real Helm, from a repository on this machine."""

from __future__ import annotations

import hashlib
import http.server
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from eks_hardware.kubernetes import ChartRelease
from eks_hardware.kubernetes.files.scripts import PULL_CHARTS, SUMS
from eks_hardware.local.stand_in_charts import Chart, charts_folder
from helpers.written import put

CHARTS = (Chart("kueue", "0.19.2"), Chart("dcgm-exporter", "4.8.2"))
FIRST = CHARTS[0].archive


@dataclass
class Repository:
    """A Helm repository on a web server.

    Attributes:
        asked: the archives that clients downloaded.
        cut: whether connections end in the middle of an archive.
    """

    folder: Path
    url: str = ""
    asked: list[str] = field(default_factory=list)
    cut: bool = False

    @contextmanager
    def served(self) -> Iterator[Repository]:
        repository = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments: object) -> None:
                super().__init__(*arguments, directory=str(repository.folder))  # type: ignore[arg-type]

            def do_GET(self) -> None:
                if not self.path.endswith(".tgz"):
                    super().do_GET()
                    return
                repository.asked.append(self.path.strip("/"))
                content = (repository.folder / self.path.strip("/")).read_bytes()
                self.send_response(http.HTTPStatus.OK)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if repository.cut else content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's name)
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.url = f"http://127.0.0.1:{server.server_port}"
            try:
                yield self
            finally:
                server.shutdown()


@pytest.fixture(scope="module")
def packed(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with archives and the index of a repository."""
    folder = tmp_path_factory.mktemp("repository")
    charts_folder(CHARTS, folder, tools)
    subprocess.run([tools["helm"], "repo", "index", folder], check=True)
    return folder


@pytest.fixture
def repository(packed: Path) -> Iterator[Repository]:
    with Repository(packed).served() as running:
        yield running


@dataclass(frozen=True)
class Puller:
    """A strategy's ``pull-charts.sh`` and a folder to fill."""

    script: Path
    folder: Path
    environment: Mapping[str, str]

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.script, self.folder],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self) -> tuple[int, list[str], list[str]]:
        """Return the exit code, and the lines of the output and of the errors."""
        process = self.start()
        said, errors = process.communicate(timeout=300)
        return process.returncode, said.splitlines(), errors.splitlines()

    def publish(self, digest: str) -> None:
        """Change the digest that the first chart must have."""
        first, separator, rest = self.script.read_text(encoding="utf-8").partition(f"pull {CHARTS[0].name} ")
        line, end, others = rest.partition("\n")
        self.script.write_text(f"{first}{separator}{line} {digest}{end}{others}", encoding="utf-8")

    @property
    def archives(self) -> set[str]:
        """The names of everything in the folder, except the list of digests."""
        return {file.name for file in self.folder.iterdir()} - {SUMS}


@pytest.fixture
def puller(repository: Repository, tools: Mapping[str, Path], tmp_path: Path) -> Puller:
    releases = [
        ChartRelease(
            name=chart.name,
            namespace="default",
            chart=chart.name,
            repository=repository.url,
            version=chart.version,
            values={},
        )
        for chart in CHARTS
    ]
    script = put(tmp_path / "rendered", *releases)[PULL_CHARTS]
    environment = {"PATH": f"{tools['helm'].parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    return Puller(script, tmp_path / "a folder" / "charts", environment)


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_charts_are_downloaded_once_and_recorded(repository: Repository, puller: Puller) -> None:
    code, said, errors = puller.run()
    assert (code, errors) == (0, [])
    recorded = "no published digest; SHA256SUMS now lists it, and later downloads must match"
    assert said == [f"{chart.archive}: {recorded}" for chart in CHARTS]
    assert puller.archives == set(repository.asked) == {chart.archive for chart in CHARTS}
    lines = [f"{sha256(repository.folder / chart.archive)}  {chart.archive}" for chart in CHARTS]
    assert (puller.folder / SUMS).read_text(encoding="utf-8").splitlines() == lines
    assert puller.run() == (0, [], [])
    assert len(repository.asked) == len(CHARTS)


def test_two_runs_at_once_both_succeed(repository: Repository, puller: Puller) -> None:
    both = [puller.start(), puller.start()]
    assert [(process.communicate(timeout=300)[1], process.returncode) for process in both] == [("", 0)] * 2
    assert puller.archives == {chart.archive for chart in CHARTS}
    lines = {f"{sha256(repository.folder / chart.archive)}  {chart.archive}" for chart in CHARTS}
    assert set((puller.folder / SUMS).read_text(encoding="utf-8").splitlines()) == lines


def test_an_archive_with_the_published_digest_needs_no_record_of_the_user(
    repository: Repository, puller: Puller
) -> None:
    puller.publish(sha256(repository.folder / FIRST))
    code, said, _ = puller.run()
    assert (code, len(said)) == (0, len(CHARTS) - 1)


@pytest.mark.parametrize("where", ["published", "recorded"])
def test_another_archive_in_the_repository_is_refused(repository: Repository, puller: Puller, where: str) -> None:
    wanted = "0" * 64
    if where == "published":
        puller.publish(wanted)
        told = "its repository published"
    else:
        puller.folder.mkdir(parents=True)
        (puller.folder / SUMS).write_text(f"{wanted}  {FIRST}\n", encoding="utf-8")
        told = "SHA256SUMS lists"
    code, said, errors = puller.run()
    digest = sha256(repository.folder / FIRST)
    assert (code, said) == (1, [])
    assert errors == [
        f"error: {FIRST} must have the SHA-256 {wanted}, which {told}, got {digest}; "
        f"{repository.url} has another archive now"
    ]
    assert puller.archives == set()


def test_a_damaged_archive_in_the_folder_is_refused(puller: Puller) -> None:
    puller.run()
    (puller.folder / FIRST).write_bytes((puller.folder / FIRST).read_bytes()[:-1])
    code, said, errors = puller.run()
    assert (code, said, len(errors)) == (1, [], 1)
    assert errors[0].endswith(f"; delete {puller.folder}/{FIRST}, and run pull-charts.sh")
    (puller.folder / FIRST).unlink()
    assert puller.run() == (0, [], [])


def test_a_download_that_breaks_off_leaves_nothing(repository: Repository, puller: Puller) -> None:
    repository.cut = True
    code, said, errors = puller.run()
    assert (code, said, puller.archives) == (1, [], set())
    assert "unexpected EOF" in errors[0]
    repository.cut = False
    assert puller.run()[0] == 0


def test_a_chart_that_the_repository_lacks(puller: Puller) -> None:
    text = puller.script.read_text(encoding="utf-8").replace(CHARTS[1].version, "4.8.3")
    puller.script.write_text(text, encoding="utf-8")
    code, _, errors = puller.run()
    assert (code, len(errors)) == (1, 1)
    assert 'chart "dcgm-exporter" version "4.8.3" not found' in errors[0]
    assert puller.archives == {FIRST}


def test_no_network(repository: Repository, puller: Puller) -> None:
    text = puller.script.read_text(encoding="utf-8").replace(repository.url, "http://127.0.0.1:9")
    puller.script.write_text(text, encoding="utf-8")
    code, said, errors = puller.run()
    assert (code, said, len(errors)) == (1, [], 1)
    assert "cannot be reached" in errors[0]
    assert puller.archives == set()


def test_a_folder_without_permission_to_write(puller: Puller, tmp_path: Path) -> None:
    """For root every folder is writable, so the program that creates files there fails instead."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mktemp").write_text("#!/bin/sh\necho 'Permission denied' >&2\nexit 1\n", encoding="utf-8")
    (tmp_path / "bin" / "mktemp").chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{puller.environment['PATH']}"
    refused = Puller(puller.script, puller.folder, {**puller.environment, "PATH": path})
    assert refused.run() == (1, [], [f"error: cannot write to {puller.folder}"])
