"""Run the shell steps of a composite GitHub Action as a runner does, with fake files and commands of GitHub."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_NAME = re.compile(r"(?<!')\b(?:inputs|steps|github|runner)\.[\w.-]+")

# A fake of GitHub's command line. It records its calls and the comments that they write.
GH = """\
#!/usr/bin/env python3
import json, os, pathlib, sys
folder = pathlib.Path(os.environ["GH_FOLDER"])
with (folder / "calls.jsonl").open("a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
comments = folder / "comments.json"
known = json.loads(comments.read_text()) if comments.exists() else {}
arguments = sys.argv[1:]
if "--method" not in arguments:
    marker = arguments[arguments.index("--jq") + 1].split('startswith("')[1].split('"')[0]
    print("\\n".join(number for number, body in known.items() if body.startswith(marker)))
else:
    (body,) = (pathlib.Path(each.removeprefix("body=@")).read_text() for each in arguments if each.startswith("body=@"))
    address = next(each for each in arguments if each.startswith("repos/"))
    number = str(len(known) + 1) if address.endswith("/comments") else address.rpartition("/")[2]
    comments.write_text(json.dumps({**known, number: body}))
"""


@dataclass
class Runner:
    """A job on a pull request, in a checkout.

    Attributes:
        folder: the runner's own files, outside the checkout.
        checkout: the root of the repository.
        run: runs a command as ``subprocess.run`` does, with ``cwd`` and variables.
        inputs: inputs of the Action that differ from its defaults.
        context: other names in expressions, such as ``github.event_name``.
    """

    folder: Path
    checkout: Path
    run: Callable[..., subprocess.CompletedProcess[str]]
    inputs: Mapping[str, str] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bin_ = self.folder / "bin"
        bin_.mkdir(parents=True, exist_ok=True)
        (bin_ / "gh").write_text(GH, encoding="utf-8")
        (bin_ / "gh").chmod(0o755)
        self.context = {
            "github.event_name": "pull_request",
            "github.event.pull_request.head.repo.full_name": "team/clusters",
            "github.event.pull_request.number": "7",
            "github.repository": "team/clusters",
            "github.token": "a token",
            "runner.temp": str(self.folder),
            **self.context,
        }

    def job(self, action: Path, path: str) -> dict[str, subprocess.CompletedProcess[str]]:
        """Run every shell step whose condition is true, except the installation; return the results by name."""
        document = yaml.safe_load(action.read_text(encoding="utf-8"))
        inputs = {name: str(each.get("default", "")) for name, each in document["inputs"].items()}
        names = {**self.context, **{f"inputs.{name}": value for name, value in {**inputs, **self.inputs}.items()}}
        names["steps.install.outcome"] = "success"
        done: dict[str, subprocess.CompletedProcess[str]] = {}
        failed = False
        for step in document["runs"]["steps"]:
            if "run" not in step or step["name"].startswith("Install"):
                continue
            condition = step.get("if", "success()")
            if not self._holds(condition, names) or (failed and "always()" not in condition):
                continue
            result = done[step["name"]] = self._step(step, names, path)
            failed = failed or result.returncode != 0
            if "id" in step:
                names[f"steps.{step['id']}.outcome"] = "failure" if result.returncode else "success"
        return done

    def _step(self, step: dict[str, Any], names: dict[str, str], path: str) -> subprocess.CompletedProcess[str]:
        assert "${{" not in step["run"], "text of a pull request would be code"
        assert step["shell"] == "bash"
        filled = {name: _filled(str(value), names) for name, value in step.get("env", {}).items()}
        output = self.folder / "output.txt"
        output.write_text("", encoding="utf-8")
        result = self.run(
            *("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]),
            cwd=self.checkout / _filled(step.get("working-directory", "."), names),
            **{
                "GITHUB_BASE_REF": "main",
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
                "GITHUB_REPOSITORY": "team/clusters",
                "GH_FOLDER": str(self.folder),
                "PATH": os.pathsep.join([str(self.folder / "bin"), path]),
                **filled,
            },
        )
        for line in output.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            names[f"steps.{step.get('id')}.outputs.{name}"] = value
        return result

    def _holds(self, condition: str, names: Mapping[str, str]) -> bool:
        """Evaluate a condition of equality, ``&&``, ``||`` and functions that are always true here."""
        text = re.sub(r"\b(always|success)\(\)", "True", condition).replace("&&", "and").replace("||", "or")
        return bool(eval(_NAME.sub(lambda found: repr(names.get(found[0], "")), text), {}))


def _filled(text: str, names: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: names.get(found[1], ""), text)
