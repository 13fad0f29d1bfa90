"""Expressions for the kernels, and PyTorch's results, which ``truth/recorders/native_kernels.py`` stored.

An answer to an expression is ``{"calls", "error", "result"}``: the called operators as [depth, name]; type and first
line of the error, or None; dtype, shape, strides and numbers of a tensor, or the value.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from truth import records

HERE = Path(__file__).parent

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)

Answer = dict[str, Any]


@functools.cache
def stored() -> dict[str, Any]:
    """The stored answers to ``expressions``, ``dtypes``, ``gradients``; ``geometry``, ``views``, ``expanded``."""
    found = {part: records.read(f"native_kernels/{part}")[part] for part in ("expressions", "dtypes", "gradients")}
    return found | records.read("native_kernels/geometries")["geometries"]  # type: ignore[no-any-return]


def tensors(torch: ModuleType) -> dict[str, Any]:
    """The tensors that expressions name, newly created."""
    names: dict[str, Any] = {"torch": torch}
    exec((HERE / "tensors.txt").read_text(), names)
    return names


def _lines(file: str) -> list[str]:
    return [line for line in (HERE / file).read_text().splitlines() if line and not line.startswith("#")]


def expressions() -> list[str]:
    """Expressions of one or two calls each, right and wrong ones."""
    return _lines("expressions.txt")


def gradients() -> list[str]:
    """Lines such as ``A A2 | x+y``: leaves, and an expression of them as x, y, z."""
    return _lines("gradients.txt")


def dtype_expressions() -> list[str]:
    """Expressions that combine every dtype with every other and with Python numbers."""
    return [
        *itertools.chain.from_iterable(map(_of_pair, *zip(*itertools.product(DTYPES, DTYPES), strict=True))),
        *_with_numbers(),
    ]


_SHAPES = ("[[1,2,3],[4,5,6]]", "[1,2,0]", "2")


def _tensor(dtype: str, shape: int = 0) -> str:
    return f"torch.tensor({_SHAPES[shape]},dtype=torch.{dtype})"


def _of_pair(a: str, b: str) -> list[str]:
    if "complex" in a + b and {a, b} & {"float16", "bfloat16"}:
        return []  # NB: in PyTorch, they give complex32 and bcomplex32; the model has no such dtypes
    turn = (DTYPES.index(a) + 2 * DTYPES.index(b)) % 3
    x, y, small = _tensor(a), _tensor(b, turn), _tensor(b, 1)
    found = [f"{x}{op}{y}" for op in ("+", "-", "*", "==", "<")]
    found += [f"{_tensor(a, turn)}/{_tensor(b)}", f"{_tensor(a, 2)}*{small}", f"{x}.to(torch.{b})"]
    found += [f"torch.where({x}>3,{x},{y})" if "complex" not in a else f"torch.where({x}==3,{x},{y})"]
    found += [f"{x}.clone().add_({y})", f"{x}.sum(1,dtype=torch.{b})"]
    found += [f"torch.{op}({x},{x},out=torch.zeros(2,3,dtype=torch.{b}))" for op in ("mul", "eq")]
    found += [f"torch.div({x},{_tensor(b)},rounding_mode='{mode}')" for mode in ("floor", "trunc")]
    if "complex" not in a + b:
        found += [
            f"torch.pow({x},{y})",
            f"{x}.clone().copy_({small})",
            f"torch.exp({small},out=torch.zeros(3,dtype=torch.{a}))",
        ]
    return found


def _with_numbers() -> list[str]:
    found = []
    for dtype, shape in itertools.product(DTYPES, (0, 2)):
        x = _tensor(dtype, shape)
        for number in ("True", "2", "2.5", "-1", *(["(1+2j)"] if "float16" not in dtype else [])):
            operators = [
                "+",
                "*",
                "-",
                "/",
                "==",
                "<",
                *(["**"] if "complex" not in dtype and "j" not in number else []),
            ]
            found += [f"{x}{op}{number}" for op in operators]
            found += [f"{number}{op}{x}" for op in operators if op not in ("==", "<")]
        found += [f"torch.clamp_min({x},1)", f"torch.clamp_min({x},1.5)", f"{x}.relu()", f"-{x}", f"{x}.log()"]
        found += [f"{x}.sum()", f"{x}.mean()", f"{x}.fill_(2.75)", f"{x}.fill_(True)", f"torch.ones_like({x})"]
        found += [f"{x}.clone().zero_()", f"torch.logical_and({x},{x})"]
        found += [f"torch.add({x},{x},alpha=2)", f"torch.sub({x},{x},alpha=2)"]
    for dtype in DTYPES:
        x, v = _tensor(dtype), _tensor(dtype, 1)
        found += [f"torch.mm({x},{x}.t())", f"torch.mv({x},{v})", f"torch.dot({v},{v})"]
        found += [f"torch.bmm({x}.view(1,2,3),{x}.view(1,3,2))"]
        found += [f"torch.addmv({v}.as_strided((2,),(1,)),{x},{v},beta=2,alpha=3)"]
    return found


def described(value: Any, is_tensor: Callable[[Any], bool]) -> Any:
    """A result as JSON."""
    if is_tensor(value):
        numbers = None if value.device.type == "meta" else [_number(n) for n in flat(value.detach().cpu().tolist())]
        return [str(value.dtype), list(value.shape), list(value.stride()), numbers]
    if isinstance(value, (tuple, list)):
        return [described(one, is_tensor) for one in value]
    return value if isinstance(value, (bool, int, float)) else str(value)


def flat(value: Any) -> list[Any]:
    """The elements of nested lists."""
    if not isinstance(value, list):
        return [value]
    return list(itertools.chain.from_iterable(map(flat, value)))


def _number(number: Any) -> Any:
    return {"complex": [number.real, number.imag]} if isinstance(number, complex) else number


def gradient_program(
    torch: ModuleType, gradient: str, names: dict[str, Any]
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The program of a line of ``gradients``, and a function that returns the description of its Node before it ran."""
    leaves, expression = gradient.split(" | ")
    values = [names[leaf].detach().requires_grad_() for leaf in leaves.split()]
    node: list[Any] = []

    def program() -> Any:
        result = eval(expression, {"torch": torch, "Bo": names["Bo"], **dict(zip("xyz", values, strict=False))})
        node.extend(_node(torch, result.grad_fn))
        return torch.autograd.grad(result, values, torch.ones_like(result.detach()) * 3, allow_unused=True)

    return program, lambda: node


def _node(torch: ModuleType, grad_fn: Any) -> list[Any]:
    names = sorted(name for name in dir(grad_fn) if name.startswith("_saved_"))
    return [grad_fn.name(), {name: _saved(torch, getattr(grad_fn, name)) for name in names}]


def _saved(torch: ModuleType, value: Any) -> str:
    """A saved value as text: ``T`` for a tensor. PyTorch shows -1 as 18446744073709551615."""
    if isinstance(value, torch.Tensor):
        return "T"
    if isinstance(value, tuple) and any(isinstance(n, torch.Tensor) for n in value):
        return str(tuple(_saved(torch, n) for n in value))
    if isinstance(value, tuple):
        return str(tuple(n - (1 << 64) if n >> 63 else n for n in value))
    return str(value - (1 << 64) if type(value) is int and value >> 63 == 1 else value)
