"""Whether the dimensions that are said of a model go with its number of parameters."""

from __future__ import annotations

from collections.abc import Collection

from eks_hardware.advisor.model import Shape, ShapeError

# What the count from the dimensions may be of the parameters. With width and depth of a public model it is 0.7 to 2.03;
# with one of them, and the other as the model next in size has it, 0.46 to 3.5 (the configurations that
# tests/unit/advisor/test_shape.py reads). How many experts there are, and how wide, is not said.
_OF_BOTH = 0.4, 2.5
_OF_ONE = 1 / 3, 4.0
_OF_EXPERTS = 0.25, 4.0
_OUTLINE = ("layers", "hidden_size")
_BILLION = 1e9


def counted(shape: Shape) -> float:
    """Parameters that the dimensions of a shape make: matrices of attention and MLP, and tables.

    Of a mixture of experts those that a token uses, as far as ``intermediate_size`` has them.
    """
    hidden, width = shape.hidden_size, shape.intermediate_size or 4 * shape.hidden_size
    attention = 2 * hidden * shape.head_dim * (shape.attention_heads + shape.kv_heads)
    mlp = (3 if shape.gated_mlp is not False else 2) * hidden * width
    return shape.layers * (attention + mlp) + (shape.embedding_parameters or 0)


def check_size(shape: Shape, said: Collection[str], *, share: float | None = None) -> None:
    """Refuse width and depth that make far more or far fewer parameters than are said.

    Args:
        shape: the model.
        said: the dimensions that are said, such as ``layers``; without width and depth nothing is refused.
        share: parameters that the model has for each one that is counted; None where all dimensions are not known.

    Raises:
        ShapeError: MODEL_SIZE, with the first of the two as its field.
    """
    known = [name for name in _OUTLINE if name in said]
    experts = shape.active_parameters < shape.parameters
    if not known or (experts and len(known) < len(_OUTLINE) and share is None):
        return
    least, most = _OF_BOTH if len(known) == len(_OUTLINE) else _OF_ONE
    if experts:
        least, most = _OF_EXPERTS
    wanted, found = shape.active_parameters, counted(shape) * (share or 1.0)
    if least * wanted <= found <= most * wanted:
        return
    used = " that a token uses" if experts else ""
    other = "" if len(known) == len(_OUTLINE) else f"; say {(set(_OUTLINE) - set(known)).pop()} too if it is so"
    mixture = "" if experts else "; of a mixture of experts say active_parameters"
    raise ShapeError(
        "MODEL_SIZE",
        f"{shape.layers} layers of width {shape.hidden_size} make about {found / _BILLION:.2g}B parameters{used}, "
        f"and {wanted / _BILLION:.3g}B are said: mend one of them{other}{mixture}",
        known[0],
    )
