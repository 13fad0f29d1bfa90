"""The cost of single operators, forward and with their backward, and of a traced transformer block.

    python -m benchmarks.operators           (with HIPS autograd and PyTorch where they are installed)

The operands are so small that NumPy's own time hardly counts, so the machine around it is compared. All contestants of
an operator alternate in this process (``dispatch.py`` explains the method, and why ratios count).

- forward: one call whose first operands require grad, its result dropped; HIPS autograd inside an open trace.
- both ways: the call, and the gradients of all operands that require one: ``torch.autograd.grad``, ``make_vjp`` and
  the vjp that it returns.
- recorded: both ways with ``dispatchviz.record()`` on, compared with PyTorch under its own tracer, DebugMode.

The block is a lesson's: embedding, layer norms, attention written out, an MLP, residuals, cross entropy, backward.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any, NamedTuple

import numpy

import dispatchviz
from benchmarks.dispatch import Call, medians
from benchmarks.sizes import is_installed, judge, often
from dispatchviz import torch as model

ROUNDS, BATCH = often(15), often(20)
TRACED_ROUNDS, TRACED_BATCH = often(5), often(40)
BARS = {
    "forward, of HIPS autograd": 2.2,
    "both ways, of HIPS autograd": 2.8,
    "recorded, of PyTorch under DebugMode": 1.4,
    "seconds of the traced block": 1.0,
}
"""The bars for the geometric means and the block. None may be exceeded.

The first three are close to the current values, so that a regression shows. One run of the engine is most of "both
ways"; the rest is mostly PyTorch's inner calls, which the model makes and HIPS autograd does not.
"""


class Case(NamedTuple):
    """An operator in the notation of both libraries."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    """The shapes of the operands, which all require grad."""
    torch: Callable[..., Any]
    """The call in the model and in PyTorch: ``(torch, *operands)``."""
    hips: Callable[..., Any]
    """The call in HIPS autograd: ``(autograd.numpy, *operands)``. Missing functions are written as its users write
    them.
    """


S, R = (3, 4), (4,)
"""The shapes of a matrix and a row."""


def _hips_softmax(anp: Any, x: Any) -> Any:
    e = anp.exp(x - anp.max(x, axis=-1, keepdims=True))
    return e / anp.sum(e, axis=-1, keepdims=True)


def _hips_log_softmax(anp: Any, x: Any) -> Any:
    shifted = x - anp.max(x, axis=-1, keepdims=True)
    return shifted - anp.log(anp.sum(anp.exp(shifted), axis=-1, keepdims=True))


def _hips_layer_norm(anp: Any, x: Any, w: Any, b: Any) -> Any:
    centered = x - anp.mean(x, axis=-1, keepdims=True)
    return centered / anp.sqrt(anp.mean(centered * centered, axis=-1, keepdims=True) + 1e-5) * w + b


CASES = (
    Case("add", (S, S), lambda t, x, y: t.add(x, y), lambda a, x, y: a.add(x, y)),
    Case("add (broadcast)", (S, R), lambda t, x, y: t.add(x, y), lambda a, x, y: a.add(x, y)),
    Case("sub", (S, S), lambda t, x, y: t.sub(x, y), lambda a, x, y: a.subtract(x, y)),
    Case("mul", (S, S), lambda t, x, y: t.mul(x, y), lambda a, x, y: a.multiply(x, y)),
    Case("mul (number)", (S,), lambda t, x: x * 2.0, lambda a, x: x * 2.0),
    Case("div", (S, S), lambda t, x, y: t.div(x, y), lambda a, x, y: a.divide(x, y)),
    Case("neg", (S,), lambda t, x: t.neg(x), lambda a, x: a.negative(x)),
    Case("pow", (S,), lambda t, x: t.pow(x, 2), lambda a, x: a.power(x, 2)),
    Case("exp", (S,), lambda t, x: t.exp(x), lambda a, x: a.exp(x)),
    Case("log", (S,), lambda t, x: t.log(x), lambda a, x: a.log(x)),
    Case("sqrt", (S,), lambda t, x: t.sqrt(x), lambda a, x: a.sqrt(x)),
    Case("sin", (S,), lambda t, x: t.sin(x), lambda a, x: a.sin(x)),
    Case("cos", (S,), lambda t, x: t.cos(x), lambda a, x: a.cos(x)),
    Case("abs", (S,), lambda t, x: t.abs(x), lambda a, x: a.abs(x)),
    Case("tanh", (S,), lambda t, x: t.tanh(x), lambda a, x: a.tanh(x)),
    Case("sigmoid", (S,), lambda t, x: t.sigmoid(x), lambda a, x: 1 / (1 + a.exp(-x))),
    Case("relu", (S,), lambda t, x: t.relu(x), lambda a, x: a.maximum(x, 0)),
    Case("maximum", (S, S), lambda t, x, y: t.maximum(x, y), lambda a, x, y: a.maximum(x, y)),
    Case("where", (S, S), lambda t, x, y: t.where(x > y, x, y), lambda a, x, y: a.where(x > y, x, y)),
    Case("clamp", (S,), lambda t, x: t.clamp(x, 0, 1), lambda a, x: a.clip(x, 0, 1)),
    Case("sum", (S,), lambda t, x: t.sum(x), lambda a, x: a.sum(x)),
    Case("sum (dim)", (S,), lambda t, x: t.sum(x, 1), lambda a, x: a.sum(x, 1)),
    Case("mean", (S,), lambda t, x: t.mean(x), lambda a, x: a.mean(x)),
    Case("max (dim)", (S,), lambda t, x: t.amax(x, 1), lambda a, x: a.max(x, 1)),
    Case("var", (S,), lambda t, x: t.var(x), lambda a, x: a.var(x, ddof=1)),
    Case("mm", (S, (4, 3)), lambda t, x, y: t.mm(x, y), lambda a, x, y: a.dot(x, y)),
    Case("matmul", ((2, 3, 4), (2, 4, 3)), lambda t, x, y: t.matmul(x, y), lambda a, x, y: a.matmul(x, y)),
    Case("dot", (R, R), lambda t, x, y: t.dot(x, y), lambda a, x, y: a.dot(x, y)),
    Case("linear", (S, (5, 4), (5,)), lambda t, x, w, b: t._C._nn.linear(x, w, b),
         lambda a, x, w, b: a.dot(x, w.T) + b),
    Case("t", (S,), lambda t, x: t.t(x), lambda a, x: a.transpose(x)),
    Case("transpose", (S,), lambda t, x: t.transpose(x, 0, 1), lambda a, x: a.swapaxes(x, 0, 1)),
    Case("reshape", (S,), lambda t, x: t.reshape(x, (4, 3)), lambda a, x: a.reshape(x, (4, 3))),
    Case("expand", (R,), lambda t, x: x.expand(3, 4), lambda a, x: a.tile(x, (3, 1))),
    Case("unsqueeze", (S,), lambda t, x: t.unsqueeze(x, 0), lambda a, x: a.expand_dims(x, 0)),
    Case("index (number)", (S,), lambda t, x: x[1], lambda a, x: x[1]),
    Case("index (slice)", (S,), lambda t, x: x[1:], lambda a, x: x[1:]),
    Case("cat", (S, S), lambda t, x, y: t.cat([x, y]), lambda a, x, y: a.concatenate([x, y])),
    Case("stack", (S, S), lambda t, x, y: t.stack([x, y]), lambda a, x, y: a.stack([x, y])),
    Case("softmax", (S,), lambda t, x: t.softmax(x, -1), _hips_softmax),
    Case("log_softmax", (S,), lambda t, x: t.log_softmax(x, -1), _hips_log_softmax),
    Case("layer_norm", (S, R, R), lambda t, x, w, b: t.layer_norm(x, (4,), w, b), _hips_layer_norm),
    Case("mse_loss", (S, S), lambda t, x, y: t._C._nn.mse_loss(x, y, 1), lambda a, x, y: a.mean((x - y) ** 2)),
)  # fmt: skip


class Measured(NamedTuple):
    """The ratios of one operator, and our microseconds."""

    name: str
    forward: float | None
    both: float | None
    recorded: float | None
    forward_us: float
    both_us: float


# -- contestants ------------------------------------------------------------------------------------------------------


def values(case: Case) -> list[numpy.ndarray]:
    """Return the operands' numbers. Every derivative is defined at them."""
    return [
        (0.1 + numpy.arange(math.prod(shape), dtype=numpy.float32) / (7 + index)).reshape(shape)
        for index, shape in enumerate(case.shapes)
    ]


def torch_calls(torch: ModuleType, case: Case) -> tuple[Call, Call]:
    """Return calls for forward and for both ways, in the model or in PyTorch."""
    operands = [torch.tensor(value.tolist(), requires_grad=True) for value in values(case)]
    in_use = [operand * 1 for operand in operands]  # so that their AccumulateGrads exist, as in training
    assert all(each.requires_grad for each in in_use)
    gradient = torch.ones_like(case.torch(torch, *operands))

    def both(kept: object = in_use) -> object:
        return torch.autograd.grad(case.torch(torch, *operands), operands, gradient)

    return lambda: case.torch(torch, *operands), both


@contextmanager
def hips_calls(case: Case) -> Iterator[tuple[Call, Call]]:
    """Yield the same calls in HIPS autograd. A trace stays open for the forward."""
    import autograd.numpy as anp
    from autograd.builtins import tuple as boxed_tuple
    from autograd.core import VJPNode, make_vjp
    from autograd.tracer import new_box, trace_stack

    operands = values(case)
    gradient = numpy.ones_like(case.hips(anp, *operands))

    def function(together: Any) -> Any:
        return case.hips(anp, *together)

    def one(operand: Any) -> Any:
        return case.hips(anp, operand)

    several = boxed_tuple(operands) if len(operands) > 1 else operands[0]

    def both() -> object:
        vjp, _ = make_vjp(function if len(operands) > 1 else one, several)
        return vjp(gradient)

    with trace_stack.new_trace() as trace:
        boxes = [new_box(operand, trace, VJPNode.new_root()) for operand in operands]
        yield lambda: case.hips(anp, *boxes), both


def debug_mode(case: Case) -> float | None:
    """Return the seconds per call, both ways, for PyTorch under DebugMode."""
    try:
        import torch
    except ImportError:
        return None
    from torch.utils._debug_mode import DebugMode

    torch.set_num_threads(1)
    _, both = torch_calls(torch, case)
    return _in_batches(both, DebugMode)


def _in_batches(call: Call, watched: Callable[[], Any]) -> float:
    """Return the seconds per call under a tracer, including the tracer's work at its end."""
    times = []
    for _ in range(TRACED_ROUNDS + 1):
        start = time.process_time()
        with watched():
            for _ in range(TRACED_BATCH):
                call()
        times.append((time.process_time() - start) / TRACED_BATCH)
    return statistics.median(times[1:])


def measured(case: Case) -> Measured:
    """Return all numbers of one operator."""
    forward, both = torch_calls(model, case)
    contestants = {"forward": forward, "both": both}
    with hips_calls(case) if is_installed("autograd") else nullcontext() as theirs:
        if theirs is not None:
            contestants |= dict(zip(("hips", "hips both"), theirs, strict=True))
        found = medians(contestants, ROUNDS, BATCH)
    recorded, debugged = _in_batches(both, dispatchviz.record), debug_mode(case)
    return Measured(
        case.name,
        found["forward"] / found["hips"] if "hips" in found else None,
        found["both"] / found["hips both"] if "hips" in found else None,
        None if debugged is None else recorded / debugged,
        found["forward"] * 1e6,
        found["both"] * 1e6,
    )


# -- the block --------------------------------------------------------------------------------------------------------

BATCHES, LENGTH, VOCABULARY, WIDTH, HEADS = 4, 16, 65, 32, 4
"""The sizes of the lesson: some sentences of some characters."""


def block(torch: ModuleType) -> Callable[[], Any]:
    """Return a training step of a small language model with one transformer block, which returns the loss."""
    nn = torch._C._nn  # the source of the operators in torch.nn.functional
    torch.manual_seed(0)

    def weight(*shape: int) -> Any:
        return (torch.randn(*shape) * 0.1).requires_grad_(True)

    tokens, positions = weight(VOCABULARY, WIDTH), weight(LENGTH, WIDTH)
    q, k, v, out = (weight(WIDTH, WIDTH) for _ in range(4))
    up, up_bias, down, down_bias = weight(4 * WIDTH, WIDTH), weight(4 * WIDTH), weight(WIDTH, 4 * WIDTH), weight(WIDTH)
    scales, shifts, head = (
        [weight(WIDTH) for _ in range(3)],
        [weight(WIDTH) for _ in range(3)],
        weight(VOCABULARY, WIDTH),
    )
    text = torch.randint(0, VOCABULARY, (BATCHES, LENGTH + 1))
    mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)

    def normed(x: Any, which: int) -> Any:
        return torch.layer_norm(x, (WIDTH,), scales[which], shifts[which])

    def heads(x: Any) -> Any:
        return x.view(BATCHES, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    def attention(x: Any) -> Any:
        queries, keys, contents = (heads(nn.linear(x, w)) for w in (q, k, v))
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(WIDTH // HEADS) + mask
        mixed = torch.softmax(scores, -1) @ contents
        return nn.linear(mixed.transpose(1, 2).reshape(BATCHES, LENGTH, WIDTH), out)

    def step() -> Any:
        x = torch.embedding(tokens, text[:, :-1]) + positions
        x = x + attention(normed(x, 0))
        x = x + nn.linear(nn.gelu(nn.linear(normed(x, 1), up, up_bias)), down, down_bias)
        logits = nn.linear(normed(x, 2), head)
        loss = nn.cross_entropy_loss(logits.reshape(-1, VOCABULARY), text[:, 1:].reshape(-1), None, 1)  # the mean
        loss.backward()
        return loss

    return step


class Block(NamedTuple):
    """The seconds of the block."""

    plain: float
    recorded: float
    events_made: float
    """The seconds with recording and all events built."""
    events: int


def traced_block(rounds: int = often(5)) -> Block:
    """Return the best of some rounds, after one for warming up."""
    step = block(model)
    plain, recorded, events_made, events = [], [], [], 0
    for _ in range(rounds + 1):
        start = time.perf_counter()
        step()
        plain.append(time.perf_counter() - start)
        start = time.perf_counter()
        with dispatchviz.record() as trace:
            step()
        recorded.append(time.perf_counter() - start)
        events = len(trace)
        events_made.append(time.perf_counter() - start)
    return Block(min(plain[1:]), min(recorded[1:]), min(events_made[1:]), events)


# -- the report -------------------------------------------------------------------------------------------------------


def mean(ratios: list[float]) -> float:
    """Return the geometric mean, which is the right mean for ratios."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def table(found: list[Measured]) -> Iterator[str]:
    """Yield the operators, sorted by the cost in a training step (both ways), worst first."""
    yield f"  {'':<16}{'forward':>10}{'both ways':>11}{'recorded':>10}       us   both us"
    yield f"  {'':<16}{'x HIPS':>10}{'x HIPS':>11}{'x DebugM.':>10}"
    for each in sorted(found, key=lambda each: each.both or each.both_us, reverse=True):
        yield (
            f"  {each.name:<16}{_times(each.forward):>10}{_times(each.both):>11}{_times(each.recorded):>10}"
            f"{each.forward_us:>9.1f}{each.both_us:>10.1f}"
        )


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def results(found: list[Measured], took: Block) -> Iterator[tuple[str, float]]:
    """Yield the measured value of each bar."""
    for name, ratios in {
        "forward, of HIPS autograd": [each.forward for each in found],
        "both ways, of HIPS autograd": [each.both for each in found],
        "recorded, of PyTorch under DebugMode": [each.recorded for each in found],
    }.items():
        known = [ratio for ratio in ratios if ratio is not None]
        if known:
            yield name, mean(known)
    yield "seconds of the traced block", took.events_made


def main() -> int:
    """Print the numbers and return 1 if a bar is missed."""
    found = [measured(case) for case in CASES]
    print("\n".join(table(found)))
    took = traced_block()
    print(
        f"a transformer block, forward and backward: {took.plain * 1e3:.0f} ms; recorded {took.recorded * 1e3:.0f} ms;"
    )
    events_made = f"{took.events / took.events_made:,.0f} events per second"
    print(f"recorded, and its {took.events:,} events made: {took.events_made * 1e3:.0f} ms, {events_made}")
    return judge(dict(results(found, took)), BARS, "autograd", "torch")


if __name__ == "__main__":
    sys.exit(main())
