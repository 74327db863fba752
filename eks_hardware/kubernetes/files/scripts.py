"""The files beside the manifests that are for people: how to install, how to take down, and what is in the folder."""

from __future__ import annotations

import shlex

from eks_hardware.kubernetes.files.tree import RELEASES_FILE, ReleaseFiles, Tree
from eks_hardware.kubernetes.model import ChartRelease

INSTALL = "install.sh"
UNINSTALL = "uninstall.sh"
README = "README.md"

_LINE = 116


def scripts(tree: Tree) -> dict[str, str]:
    """Text by path."""
    return {README: _readme(tree), INSTALL: _install(tree), UNINSTALL: _uninstall(tree)}


def kubeconfig_command(tree: Tree) -> str:
    return f"aws eks update-kubeconfig --region {shlex.quote(tree.region)} --name {shlex.quote(tree.name)}"


def _install(tree: Tree) -> str:
    lines = [
        "#!/bin/sh",
        f"# Installs what the strategy {tree.name} puts on its cluster, in order; again after a change, too.",
        "# Made by eks-hardware: a change here is lost.",
        "set -eu",
        'cd "$(dirname "$0")"',
        'echo "cluster: $(kubectl config current-context)"',
    ]
    if tree.open:
        names = [reference.value for reference in tree.open]
        lines += [
            "",
            "# Outputs of the stack.",
            *(f': "${{{name}:?is not set: it is an output of the stack, see {README}}}"' for name in names),
            # Not envsubst: it is not everywhere, and by itself blanks out every other ${...}.
            "fill() {",
            _wrapped("  sed", [f'-e "s|\\${{{name}}}|${{{name}}}|g"' for name in names]) + ' "$1"',
            "}",
        ]
    for each in tree.releases:
        lines += ["", *_install_release(each)]
    return "\n".join(lines) + "\n"


def _install_release(each: ReleaseFiles) -> list[str]:
    release = each.release
    if isinstance(release, ChartRelease):
        command = _wrapped(
            "helm upgrade --install",
            [
                shlex.quote(release.name),
                *_chart(release),
                f"--version {shlex.quote(release.version)}",
                f"--namespace {shlex.quote(release.namespace)}",
                "--create-namespace",
                f"--values {'-' if each.open else shlex.quote(each.place)}",
                "--wait",
                f"--timeout {release.timeout_seconds}s",
            ],
        )
        return [f"fill {shlex.quote(each.place)} |", f"  {command}"] if each.open else [command]
    # A large object does not fit the annotation that client-side apply writes.
    apply = "kubectl apply --server-side"
    # kubectl takes the files of a folder by name, and a namespace has to be there before what is in it.
    first = [path for path, item in zip(each.files, release.objects, strict=True) if item["kind"] == "Namespace"]
    if not each.open:
        return [_wrapped(apply, [f"--filename {shlex.quote(path)}" for path in (*first, each.place)])]
    paths = [*first, *(path for path in each.files if path not in first)]
    return [
        _wrapped("for file in", [shlex.quote(path) for path in paths]) + "; do",
        "  fill \"$file\"; echo '---'",
        f"done | {apply} --filename -",
    ]


def _chart(release: ChartRelease) -> list[str]:
    if release.repository.startswith("oci://"):
        return [shlex.quote(f"{release.repository.rstrip('/')}/{release.chart}")]
    return [shlex.quote(release.chart), f"--repo {shlex.quote(release.repository)}"]


def _uninstall(tree: Tree) -> str:
    lines = [
        "#!/bin/sh",
        f"# Takes off its cluster what {INSTALL} put on it, last first; before the AWS half is destroyed, because",
        "# nobody else ends the nodes that Karpenter made. A namespace goes with everything that is in it.",
        "# Made by eks-hardware: a change here is lost.",
        "set -eu",
        'cd "$(dirname "$0")"',
        'echo "cluster: $(kubectl config current-context)"',
        "",
    ]
    for each in reversed(tree.releases):
        release = each.release
        if isinstance(release, ChartRelease):
            arguments = ["--ignore-not-found", "--wait", f"--timeout {release.timeout_seconds}s"]
            lines.append(
                _wrapped(
                    "helm uninstall",
                    [shlex.quote(release.name), f"--namespace {shlex.quote(release.namespace)}", *arguments],
                )
            )
        else:
            lines.append(
                _wrapped(
                    "kubectl delete",
                    [
                        f"--filename {shlex.quote(each.place)}",
                        "--ignore-not-found",
                        "--wait",
                        f"--timeout {release.timeout_seconds}s",
                    ],
                )
            )
    return "\n".join(lines) + "\n"


def _wrapped(command: str, arguments: list[str]) -> str:
    """A command on one line, or on several where it is long."""
    one = " ".join([command, *arguments])
    return one if len(one) <= _LINE else " \\\n  ".join([command, *arguments])


def _readme(tree: Tree) -> str:
    return "\n\n".join([*_contents(tree), *_usage(tree), *_to_fill_in(tree)]) + "\n"


def _contents(tree: Tree) -> list[str]:
    rows = ["| release | namespace | chart or manifests | after |", "|---|---|---|---|"]
    for each in tree.releases:
        release = each.release
        chart = f"{release.chart} {release.version}, " if isinstance(release, ChartRelease) else ""
        after = ", ".join(release.after) or "-"
        rows.append(f"| {release.name} | {release.namespace} | {chart}`{each.place}` | {after} |")
    return [
        f"# Kubernetes half of {tree.name}",
        "Made by eks-hardware from the strategy file. The next run undoes changes here; it removes only files of its\n"
        "own. Change the strategy instead: `kubernetes.charts.<chart>.values` sets any value of a chart.",
        "\n".join(rows),
        f"`{RELEASES_FILE}` says the same to programs, with repositories and timeouts.",
    ]


def _usage(tree: Tree) -> list[str]:
    exports = [f'export {each.value}="$(terraform -chdir=STACK output -raw {each.value})"' for each in tree.open]
    return [
        "With helm and kubectl, in the order above:",
        "\n".join(["```sh", kubeconfig_command(tree), *exports, f"./{INSTALL}", "```"]),
        f"`./{UNINSTALL}` takes it off again. Do so before `cdktf destroy`: nobody else ends the nodes that Karpenter\n"
        "made.",
    ]


def _to_fill_in(tree: Tree) -> list[str]:
    if not tree.open:
        return []
    names = ", ".join(f"`${{{each.value}}}`" for each in tree.open)
    parts = [
        "## To fill in",
        f"{names}: known once the AWS half is there. `{INSTALL}` takes them from the environment, Flux from\n"
        "`postBuild.substitute`. For Argo CD, write the folder again with them in place (STACK is the stack's folder,\n"
        "such as `cdktf.out/stacks/" + tree.name + "`):",
        "```sh\n"
        "terraform -chdir=STACK output -json >outputs.json\n"
        "eks-hardware render STRATEGY --out FOLDER --outputs outputs.json\n"
        "```",
    ]
    if tree.unfillable:
        files = "\n".join(f"- `{path}`" for path in tree.unfillable)
        parts += [
            "These also have a `${` of their own, so that Flux is told to leave them alone;\n"
            f"`{INSTALL}` and `--outputs` fill them in:",
            files,
        ]
    return parts
