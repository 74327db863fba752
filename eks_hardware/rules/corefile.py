"""Rules about the Corefile of the CoreDNS add-on, which EKS passes on without checking it."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
from eks_hardware.printable import quoted
from eks_hardware.rules.registry import Breach, Context, error
from eks_hardware.suggestions import misspelt, question

_PATH = "cluster.addons.coredns.configuration.corefile"


@error("COREDNS_COREFILE")
def _corefile(context: Context) -> Iterator[Breach]:
    text = context.addon_configuration("coredns").get("corefile")
    if not isinstance(text, str):  # ADDON_VALUE reports other kinds
        return
    plugins: dict[str, int] = {}
    faults = [f"line {line}: {fault}" for line, fault in _faults(text, plugins)]
    for fault in faults[:1]:  # later ones often follow from the first
        yield _PATH, f"{fault}, or CoreDNS does not start"
    if not faults:
        yield from ((_PATH, fault) for fault in _plugin_faults(plugins))


def _plugin_faults(plugins: dict[str, int]) -> Iterator[str]:
    """Yield a fault for each plugin that CoreDNS does not have, or that the add-on needs but the Corefile omits."""
    known = facts.value_kinds()["corefile"]
    for name, line in plugins.items():
        if instead := known["removed"].get(name):
            yield f"line {line}: CoreDNS no longer has the plugin {quoted(name)}, and does not start; {instead}"
        elif name not in known["plugins"] and (meant := misspelt(name, known["plugins"])):
            yield (f"line {line}: CoreDNS has no plugin {quoted(name)}, and does not start; {question([meant])}")
    if "import" not in plugins:
        for name, why in known["needed"].items():
            if name not in plugins:
                yield f"must have the plugin {name}: without it, {why}; add a line {quoted(name)} to the server block"


def _faults(text: str, plugins: dict[str, int]) -> Iterator[tuple[int, str]]:
    """Yield line and fault of the structure of a Corefile, and add the plugins of its server blocks to ``plugins``."""
    open_lines: list[int] = []
    for number, content in enumerate(text.splitlines(), start=1):
        words = content.partition("#")[0].split()
        if not words:
            continue
        if words == ["}"]:
            if not open_lines:
                yield number, 'must not have a "}" without an opening "{"'
                return
            open_lines.pop()
            continue
        closed = words[-1] == "}"
        if closed and (not open_lines or "{" not in words):
            yield number, 'must have the closing "}" on a line of its own'
        if not open_lines and words[-1].endswith("{") and words[-1] != "{":
            yield number, f'must have a space before the "{{" of a server block, got {quoted(words[-1])}'
        if len(open_lines) == 1:
            plugins.setdefault(words[0], number)
        if words[-1].endswith("{") and not words[-1].endswith("{{"):
            open_lines.append(number)
    if open_lines:
        yield open_lines[-1], 'must close the "{" of this line with a "}"'
