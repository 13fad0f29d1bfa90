"""Results of ``truth/questions/native_kernels`` on an installed PyTorch (CPU), one file per kind of expression.

Calls are those of PyTorch's own profiler: full calls, no redispatches.
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.questions import native_kernels as questions

Answer = questions.Answer


def profiled(function: Callable[[], Any]) -> tuple[list[list[Any]], Any, BaseException | None]:
    """The operators called as [depth, name], the result, and the error."""
    result, error = None, None
    names = torch._C._profiler._ExperimentalConfig(capture_overload_names=True)
    with torch.autograd.profiler.profile(experimental_config=names) as profiler:
        try:
            result = function()
        except Exception as raised:
            error = raised
    calls: list[list[Any]] = []
    ends: list[int] = []
    for event in sorted(profiler.kineto_results.events(), key=lambda e: (e.start_ns(), -e.duration_ns())):
        if event.name().startswith("aten::"):
            ends = [end for end in ends if end > event.start_ns()]
            calls.append([len(ends), ".".join(filter(None, (event.name()[6:], event.overload_name())))])
            ends.append(event.end_ns())
    return calls, result, error


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def answer(expression: str) -> Answer:
    """PyTorch's answer to an expression."""
    names = questions.tensors(torch)
    calls, result, error = profiled(lambda: eval(expression, names))
    return _answer(calls, questions.described(result, _is_tensor), error)


def gradient_answer(gradient: str) -> Answer:
    """PyTorch's answer to a line of gradients, with the Node and its saved values."""
    program, node = questions.gradient_program(torch, gradient, questions.tensors(torch))
    calls, result, error = profiled(program)
    grads = [None if grad is None else questions.described(grad, _is_tensor) for grad in result or ()]
    return {**_answer(calls, grads, error), "node": node()}


def _answer(calls: list[list[Any]], result: Any, error: BaseException | None) -> Answer:
    if error is not None:
        return {"calls": calls, "error": [type(error).__name__, str(error).split("\n")[0]], "result": None}
    return {"calls": calls, "error": None, "result": result}


# -- geometry ----------------------------------------------------------------------------------------------------------


def strided(dice: random.Random, size: list[int]) -> torch.Tensor:
    """A tensor of a shape with random strides: permuted, with gaps, or expanded."""
    order = list(range(len(size)))
    dice.shuffle(order)
    wide = [length * dice.choice([1, 1, 1, 2]) for length in size]
    tensor = torch.empty([wide[dim] for dim in order]).permute([order.index(dim) for dim in range(len(size))])
    for dim, length in enumerate(size):
        if wide[dim] != length:
            tensor = tensor[(slice(None),) * dim + (slice(None, None, 2),)]
        if length > 1 and dice.random() < 0.1:
            tensor = tensor.narrow(dim, 0, 1).expand(*tensor.shape[:dim], length, *tensor.shape[dim + 1 :])
    return tensor


def _geometry(tensor: torch.Tensor) -> list[Any]:
    return [list(tensor.shape), list(tensor.stride())]


def elementwise_geometries(dice: random.Random, count: int) -> list[Any]:
    """Rows [operands, result] of neg, add and where."""
    found = []
    for _ in range(count):
        size = [dice.choice([0, 1, 1, 2, 3, 3]) for _ in range(dice.randint(0, 4))]
        shapes = [size[dice.randint(0, len(size)) if dice.random() < 0.4 else 0 :] for _ in range(dice.randint(1, 3))]
        operands = [strided(dice, [1 if dice.random() < 0.2 else n for n in shape]) for shape in shapes]
        match operands:
            case [a]:
                result = a.neg()
            case [a, b]:
                result = a + b
            case [a, b, c]:
                operands[0] = condition = a > 0
                result = torch.where(condition, b, c)
        found.append([[_geometry(operand) for operand in operands], _geometry(result)])
    return found


def views(dice: random.Random, count: int) -> list[Any]:
    """Rows [size, stride, shape, strides of the view or None]."""
    found = []
    for _ in range(count):
        size = [dice.choice([1, 1, 2, 2, 3, 4]) if dice.random() < 0.95 else 0 for _ in range(dice.randint(0, 4))]
        tensor = strided(dice, size)
        shape = _other_shape(dice, tensor.numel()) if dice.random() < 0.85 else size
        try:
            stride = list(tensor.view(shape).stride())
        except RuntimeError:
            stride = None
        found.append([*_geometry(tensor), shape, stride])
    return found


def _other_shape(dice: random.Random, count: int) -> list[int]:
    shape = [] if count else [0]
    while count > 1:
        length = dice.choice([n for n in range(2, count + 1) if count % n == 0])
        shape.append(length)
        count //= length
    for _ in range(dice.randint(0, 2)):
        shape.insert(dice.randint(0, len(shape)), 1)
    return shape


def expanded(dice: random.Random, count: int) -> list[Any]:
    """Rows [size, stride, target, geometry or None]."""
    found = []
    for _ in range(count):
        tensor = strided(dice, [dice.choice([0, 1, 2, 3]) for _ in range(dice.randint(0, 3))])
        wanted = [dice.choice([1, 2, 3, -1, 0]) if n == 1 else dice.choice([n, n, -1, 2]) for n in tensor.shape]
        target = [dice.choice([0, 1, 2, 3]) for _ in range(dice.randint(0, 2))] + wanted
        try:
            result = _geometry(tensor.expand(target))
        except RuntimeError:
            result = None
        found.append([*_geometry(tensor), target, result])
    return found


# -- files -------------------------------------------------------------------------------------------------------------


def expressions(texts: list[str]) -> dict[str, Answer]:
    """Answers to expressions, by their text."""
    return {text: answer(text) for text in texts}


def gradients() -> dict[str, Answer]:
    """Answers to all lines of gradients."""
    return {text: gradient_answer(text) for text in questions.gradients()}


def geometries() -> dict[str, Any]:
    """Strides of results, views and expanded tensors, for random geometries."""
    dice = random.Random(0)
    return {
        "geometry": elementwise_geometries(dice, 1500),
        "views": views(dice, 1500),
        "expanded": expanded(dice, 500),
    }


PARTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "expressions": ("json", lambda: expressions(questions.expressions())),
    "dtypes": ("json.gz", lambda: expressions(questions.dtype_expressions())),
    "gradients": ("json", gradients),
    "geometries": ("json.gz", geometries),
}
"""The parts of the record, each in its own file."""


def files(part: str) -> Iterator[tuple[Path, str]]:
    """File and text of one part, or of all."""
    torch.set_num_threads(1)
    release = torch.__version__.partition("+")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [part] if part else PARTS:
            suffix, found = PARTS[name]
            text = json_text({"torch": release, name: found()})
            yield records.HERE / "native_kernels" / f"{name}.{suffix}", text


def differences(path: Path, old: str, new: str) -> list[str]:
    """Questions whose answers differ by more than rounding on another processor."""
    (_, known), (name, found) = (list(json.loads(text, parse_float=lambda _: 0).items())[1] for text in (old, new))
    return [f"{name}: {key}" for key in dict.fromkeys((*known, *found)) if known.get(key) != found.get(key)]
