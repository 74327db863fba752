"""Loading of a file's text to a validated model: YAML, overlays, pydantic, and all findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from eks_hardware.findings import Finding, Position, StrategyError
from eks_hardware.loader import overlays as ov
from eks_hardware.loader import yaml_nodes as yn
from eks_hardware.loader.model_fields import below, fields, is_model, unwrap
from eks_hardware.loader.source_map import SourceMap
from eks_hardware.loader.yaml_document import Parsed, parse
from eks_hardware.loader.yaml_files import display_name, read_text
from eks_hardware.printable import joined, quoted, shown

ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True)
class Document(Generic[ModelT]):
    """A valid model and the positions of its fields.

    Attributes:
        value: the model.
        source: the position of every field, overlays included.
        file: the file name in findings.
        path: the file; None for text.

    Examples:
        >>> from pathlib import Path
        >>> from eks_hardware.models import Strategy
        >>> document = load_document(Path("config/strategies/gpu-training.yaml"), Strategy)
        >>> document.value.name, document.file
        ('gpu-training', 'config/strategies/gpu-training.yaml')
    """

    value: ModelT
    source: SourceMap
    file: str
    path: Path | None = None


def load_document(
    source: Path | str,
    model: type[ModelT],
    *,
    file: str = "<string>",
    over: str = "",
    overlays: Sequence[str] = (),
    defaults: Mapping[str, object] | None = None,
) -> Document[ModelT]:
    """Load one document into a model.

    Args:
        source: a file (``Path``), or the text itself (``str``).
        model: the pydantic model of the whole document.
        file: the file name in findings, for text.
        over: text of an overlay, for text.
        overlays: names of overlays, applied in this order.
        defaults: fields that the document has if it does not set them.

    Raises:
        StrategyError: with every finding.
    """
    if isinstance(source, Path):
        attempt = read_file(source, model, overlays, {}, defaults)
    else:
        attempt = Attempt(file)
        attempt.take(parse(source, file, fix=_minimum(model)))
        if over:
            attempt.lay_over(parse(over, file, may_be_empty=True))
        attempt.fill(defaults)
        attempt.validate(model)
    if attempt.document is None:
        raise StrategyError(attempt.ordered())
    return attempt.document


def read_file(
    path: Path,
    model: type[ModelT],
    overlays: Sequence[str],
    read: dict[Path, Parsed],
    defaults: Mapping[str, object] | None = None,
) -> Attempt[ModelT]:
    """Read a file, even if it has faults; ``read`` caches parsed overlays for the next file."""
    attempt: Attempt[ModelT] = Attempt(display_name(path), path)
    attempt.take(_parsed(path, fix=_minimum(model)))
    attempt.lay_over_named(overlays, ov.overlay_folders(path), read)
    attempt.fill(defaults)
    attempt.validate(model)
    return attempt


@dataclass
class Attempt(Generic[ModelT]):
    """A document being loaded: its tree, its findings, and the model once it is valid."""

    file: str
    path: Path | None = None
    root: yn.Mapping | None = None
    document: Document[ModelT] | None = None
    findings: list[Finding] = field(default_factory=list)

    def take(self, parsed: Parsed) -> None:
        """Start with a document."""
        self.root = parsed.root
        self.findings.extend(parsed.findings)

    def lay_over_named(self, names: Sequence[str], folders: Sequence[Path], read: dict[Path, Parsed]) -> None:
        """Apply overlays to the document, in the order of their names."""
        try:
            files = ov.find_overlays(names, folders)
        except StrategyError as error:
            self.findings.extend(error.findings)
            self.root = None  # without its overlays it is not the requested document
            return
        for file in files:
            if file not in read:
                read[file] = _parsed(file, may_be_empty=True)
            self.lay_over(read[file])

    def lay_over(self, parsed: Parsed) -> None:
        """Apply one overlay to the document."""
        self.findings.extend(parsed.findings)
        if parsed.root is None or self.root is None:
            self.root = None
            return
        try:
            overlay = ov.scoped(parsed.root, self.root)
        except StrategyError as error:
            self.findings.extend(error.findings)
            return
        if overlay is not None:
            self.root = ov.merge_mappings(self.root, overlay)

    def fill(self, defaults: Mapping[str, object] | None) -> None:
        """Add defaults for fields that the document does not set."""
        if self.root is not None and defaults:
            filled = parse(json.dumps(defaults), self.file).root
            self.root = replace(self.root, entries={**(filled.entries if filled else {}), **self.root.entries})

    def validate(self, model: type[ModelT]) -> None:
        """Create the document's model, or add the findings that prevent it."""
        root = self.root
        if root is None:
            return
        self.findings.extend(_duplicate_names("", root, model))
        try:
            value = validated(root, model)
        except ValidationError as error:
            self._explain(error, root, model)
            return
        if not self.findings:
            self.document = Document(value, SourceMap(root), self.file, self.path)

    def _explain(self, error: ValidationError, root: yn.Mapping, model: type[ModelT]) -> None:
        # Imported only if a file has errors.
        from eks_hardware.loader.pydantic_errors import translate

        details = error.errors(include_url=False, include_input=False)
        known = {(finding.code, finding.position) for finding in self.findings}
        for finding in translate(details, root, model):
            if (finding.code, finding.position) not in known:
                self.findings.append(finding)
        if not self.findings:  # never silent, even if translate drops all errors
            self.findings.append(Finding("FIELD_VALUE", "", shown(error), position=root.position))

    def ordered(self) -> list[Finding]:
        """Return the findings by file (the document first, then its overlays), then position, without duplicates."""

        def place(finding: Finding) -> Position:
            return finding.position or Position("")

        unique = {str(finding): finding for finding in self.findings}.values()
        files = list(dict.fromkeys([self.file, *(place(finding).file for finding in unique)]))
        return sorted(unique, key=lambda finding: (files.index(place(finding).file), *place(finding)[1:]))


def validated(root: yn.Node, model: type[ModelT]) -> ModelT:
    """Return the model of a document.

    Raises:
        ValidationError: from pydantic, without positions.
    """
    # As JSON: strict about scalars ("4" is not a number, yes is not a boolean), but lists and text can become tuples,
    # enums and addresses.
    return model.model_validate_json(json.dumps(root.plain()), strict=True)


def _minimum(model: type[BaseModel]) -> str:
    """Return the fix for an empty file, with the required fields."""
    required = [each.alias or name for name, each in model.model_fields.items() if each.is_required()]
    return f"add at least {joined(required, 'and')}"


def _parsed(path: Path, *, may_be_empty: bool = False, fix: str = "") -> Parsed:
    file = display_name(path)
    try:
        return parse(read_text(path, file), file, may_be_empty=may_be_empty, fix=fix)
    except StrategyError as error:
        return Parsed(None, error.findings)


# -- duplicate names


def _duplicate_names(path: str, node: yn.Node, annotation: object) -> Iterator[Finding]:
    """Yield items with duplicate names, in lists of models with a ``name``; free-form values may repeat names."""
    for member in unwrap(annotation):
        if isinstance(node, yn.Sequence):
            held = below(member, 0)[0]
            if any(is_model(item) and "name" in fields(item) for item in unwrap(held)):
                yield from _same_names(path, node)
        for part, child in _collections_in(node):
            inner = below(member, part)[0]
            if inner is not None:
                yield from _duplicate_names(yn.path_below(path, node, part), child, inner)


def _collections_in(node: yn.Node) -> Iterator[tuple[str | int, yn.Node]]:
    parts: Iterable[tuple[str | int, yn.Node]] = ()
    if isinstance(node, yn.Sequence):
        parts = enumerate(node.items)
    elif isinstance(node, yn.Mapping):
        parts = ((key, entry.node) for key, entry in node.entries.items())
    return ((part, child) for part, child in parts if isinstance(child, (yn.Sequence, yn.Mapping)))


def _same_names(path: str, node: yn.Sequence) -> Iterator[Finding]:
    first: dict[str, Position] = {}
    for index, item in enumerate(node.items):
        name = yn.name_of(item)
        node_of_name = yn.child_of(item, "name")
        if name is None or node_of_name is None:
            continue
        position = node_of_name.position
        if name in first:
            message = f"the name {quoted(name)} is used here and at {first[name]}; rename one of them"
            yield Finding("NAME_DUPLICATE", yn.path_below(path, node, index), message, position=position)
        first.setdefault(name, position)
