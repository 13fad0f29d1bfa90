"""Random programs over the operators that the model has, as hypothesis strategies.

A program creates a few leaves, applies operators to the existing tensors, then runs backward. Shapes are tracked while
it is drawn, so most programs succeed. Some fail (a version error after an in-place operator, a leaf written to), and
must then fail alike.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hypothesis import strategies as st

Shape = tuple[int, ...]

UNARY = (
    "-{0}", "{0}.exp()", "{0}.log()", "torch.relu({0})", "{0} ** 2", "{0}.pow(3)", "{0} ** 0.5", "2 ** {0}", "{0} ** 0",
    "{0}.to(torch.float64)", "{0}.to(torch.float32)", "{0}.to('cpu', copy=True)", "torch.zeros_like({0})",
    "torch.ones_like({0})", "1 - torch.neg({0})",
)  # fmt: skip
WITH_NUMBER = ("{0} + 1", "1.5 - {0}", "{0} - 2", "{0} * 3", "0.5 * {0}", "{0} / 4", "1 / {0}", "{0} * True")
BINARY = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "torch.add({0}, {1}, alpha=2)",
    "torch.sub({0}, {1}, alpha=0.5)", "{0} ** {1}", "torch.add({0}, {1}, out=torch.zeros(0))",
)  # fmt: skip
IN_PLACE = ("{0}.add_(1)", "{0}.mul_(2)", "{0}.sub_({1})", "{0} *= {1}", "{0}.neg_()", "{0}.exp_()", "{0}.zero_()")
IN_PLACE += ("{0}.div_({1})", "{0}.copy_({1})", "{0}.fill_(2)", "{0}.relu_()", "{0}.add_({1}, alpha=2)", "{0}.pow_(2)")
IN_PLACE += ("{0}.detach_()", "{0}.requires_grad_()", "{0}.log_()")
BACKWARD = (
    "{0}.backward()",
    "{0}.backward()\n{0}.backward()",
    "{0}.backward(retain_graph=True)\n{0}.backward()",
    "torch.autograd.backward([{0}, {0} * 2])",
    "g = torch.autograd.grad({0}, x0)",
    "(g,) = torch.autograd.grad({0}, x0, create_graph=True)\ng.sum().backward()",
    "{0}.backward(inputs=[x0])",
)
REDUCTIONS = ("sum", "mean")
MODES = ("",) * 16 + ("no_grad", "no_grad", "inference_mode", "enable_grad")


class Variable(NamedTuple):
    """A tensor of the program."""

    name: str
    shape: Shape


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """Return the common shape of two, or None."""
    longest = max(len(a), len(b))
    padded = zip((1,) * (longest - len(a)) + a, (1,) * (longest - len(b)) + b, strict=True)
    sizes = [(x, y) for x, y in padded]
    if any(x != y and 1 not in (x, y) for x, y in sizes):
        return None
    return tuple(max(x, y) for x, y in sizes)


AUTOCASTS = (
    *('torch.autocast("cpu")',) * 3,
    'torch.autocast("cpu", cache_enabled=False)',
    'torch.autocast("cpu", dtype=torch.float16)',
)
DTYPES = ("", "", ", dtype=torch.float64")
REDUCED = ("", "", "", ", dtype=torch.bfloat16", ", dtype=torch.float16", ", dtype=torch.float64")


@st.composite
def autocast_programs(draw: st.DrawFn) -> str:
    """Return a program that computes under autocast, with tensors in dtypes of full and half precision."""
    lines, variables = ["import torch", ""], []
    lines += _leaves(draw, variables, REDUCED)
    lines.append(f"with {draw(st.sampled_from(AUTOCASTS))}:")
    for number in range(draw(st.integers(1, 6))):
        text = f"    {_statement(draw, variables, number)}"
        off = draw(st.sampled_from(["", "", "", 'torch.autocast("cpu", enabled=False)', "torch.no_grad()"]))
        lines += [f"    with {off}:", f"    {text}"] if off else [text]
    return _finished(draw, lines, variables)


def _leaves(draw: st.DrawFn, variables: list[Variable], dtypes: tuple[str, ...]) -> list[str]:
    lines = []
    for number in range(draw(st.integers(1, 3))):
        shape = draw(st.sampled_from([(), (2,), (3,), (2, 3), (3, 2), (1, 3), (2, 1), (2, 2)]))
        variables.append(Variable(f"x{number}", shape))
        lines.append(f"x{number} = {_leaf(draw, shape, number == 0 or draw(st.booleans()), dtypes)}")
    return lines


def _statement(draw: st.DrawFn, variables: list[Variable], number: int) -> str:
    text, shape = _operation(draw, variables)
    if shape is None:
        return text
    variables.append(Variable(f"y{number}", shape))
    return f"y{number} = {text}"


def _finished(draw: st.DrawFn, lines: list[str], variables: list[Variable]) -> str:
    used = [variables[-1], *draw(st.lists(st.sampled_from(variables), max_size=2))]
    lines.append(f"loss = {' + '.join(f'{v.name}.sum()' for v in used)}")
    lines.append(draw(st.sampled_from(BACKWARD)).format("loss"))
    return "\n".join(lines) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Return the source text of a program."""
    lines, variables = ["import torch", ""], []
    lines += _leaves(draw, variables, DTYPES)
    for number in range(draw(st.integers(1, 6))):
        text = _statement(draw, variables, number)
        mode = draw(st.sampled_from(MODES))
        if mode == "inference_mode" and re.search(r"\d\.\d", text):
            mode = ""  # not supported by ``wrapped_number`` of truth/observers/dispatcher.py
        lines += [f"with torch.{mode}():", f"    {text}"] if mode else [text]
    return _finished(draw, lines, variables)


def _leaf(draw: st.DrawFn, shape: Shape, requires_grad: bool, dtypes: tuple[str, ...]) -> str:
    def data(sizes: Shape) -> object:
        if not sizes:
            return draw(st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, -0.5]))
        return [data(sizes[1:]) for _ in range(sizes[0])]

    dtype = draw(st.sampled_from(dtypes))
    return f"torch.tensor({data(shape)}{dtype}, requires_grad={requires_grad})"


def _operation(draw: st.DrawFn, variables: list[Variable]) -> tuple[str, Shape | None]:
    """Return a line of the program and the shape of its result, or None if it changes a variable."""
    kinds = (_unary, _number, _binary, _reduction, _matrix, _view, _in_place)
    return draw(st.sampled_from(kinds))(draw, variables)


def _unary(draw: st.DrawFn, variables: list[Variable]) -> tuple[str, Shape | None]:
    x = draw(st.sampled_from(variables))
    return draw(st.sampled_from(UNARY)).format(x.name), x.shape


def _number(draw: st.DrawFn, variables: list[Variable]) -> tuple[str, Shape | None]:
    x = draw(st.sampled_from(variables))
    return draw(st.sampled_from(WITH_NUMBER)).format(x.name), x.shape


def _binary(draw: st.DrawFn, variables: list[Variable]) -> tuple[str, Shape | None]:
    pairs = [(a, b, shape) for a in variables for b in variables if (shape := broadcast(a.shape, b.shape)) is not None]
    a, b, shape = draw(st.sampled_from(pairs))
    return draw(st.sampled_from(BINARY)).format(a.name, b.name), shape


def _reduction(draw: st.DrawFn, variables: list[Variable]) -> tuple[str, Shape | None]:
    x, how = draw(st.sampled_from(variables)), draw(st.sampled_from(REDUCTIONS))
    if not x.shape or draw(st.booleans()):
        return f"{x.name}.{how}({draw(st.sampled_from(['', 'dtype=torch.float64']))})", ()
    dim, keepdim = draw(st.integers(-len(x.shape), len(x.shape) - 1)), draw(st.booleans())
    at = dim % len(x.shape)
    rest = x.shape[:at] + ((1,) if keepdim else ()) + x.shape[at + 1 :]
    return f"{x.name}.{how}({dim}, keepdim={keepdim})", rest


def _matrix(draw: st.DrawFn, variables: list[Variable]) -> tuple[str, Shape | None]:
    pairs = [(a, b) for a in variables for b in variables if a.shape and b.shape and len(a.shape) < 3 > len(b.shape)]
    fitting = [(a, b) for a, b in pairs if a.shape[-1] == b.shape[0]]
    if not fitting:
        return _number(draw, variables)
    a, b = draw(st.sampled_from(fitting))
    function = "torch.mm({0}, {1})" if len(a.shape) == len(b.shape) == 2 and draw(st.booleans()) else "{0} @ {1}"
    return function.format(a.name, b.name), a.shape[:-1] + b.shape[1:]


def _view(draw: st.DrawFn, variables: list[Variable]) -> tuple[str, Shape | None]:
    x = draw(st.sampled_from(variables))
    size = 1
    for length in x.shape:
        size *= length
    made: list[tuple[str, Shape]] = [("{0}.clone()", x.shape), ("{0}.detach()", x.shape), ("{0}.reshape(-1)", (size,))]
    made += [(f"{{0}}.view({size}, 1)", (size, 1)), (f"{{0}}.expand({(2, *x.shape)})", (2, *x.shape))]
    if len(x.shape) <= 2:
        made.append(("{0}.t()", x.shape[::-1]))
    if len(x.shape) == 2:
        made.append(("{0}.transpose(0, -1)", x.shape[::-1]))
    text, shape = draw(st.sampled_from(made))
    return text.format(x.name), shape


def _in_place(draw: st.DrawFn, variables: list[Variable]) -> tuple[str, Shape | None]:
    x = draw(st.sampled_from(variables))
    other = draw(st.sampled_from([v for v in variables if broadcast(x.shape, v.shape) == x.shape]))
    return draw(st.sampled_from(IN_PLACE)).format(x.name, other.name), None
