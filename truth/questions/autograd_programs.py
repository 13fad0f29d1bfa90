"""Random programs that exercise autograd. A seed gives the same source text on every machine.

A program creates leaves, builds a graph of them (operators, views, writes through views, modes, threads), registers
hooks, and runs backward in several ways. The generator keeps track of shapes, so most statements run. Statements that
fail must fail in the same way in both. ``programs.py`` has programs for the dispatch log.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import NamedTuple

from truth.questions.autograd_program_parts import (
    ALONG,
    BOUNDED,
    MODES,
    NORMS,
    OVER_ALL,
    PARTS,
    RESHAPED_IN_PLACE,
    SAME_SHAPE,
    SHAPES,
    TWO,
    WITH_DIM,
    WRITES,
    WRITES_TWO,
    Shape,
)

PREAMBLE = """\
import threading
import torch

def show(name, *gs):
    numbers = [v for g in gs if g is not None for v in g.detach().reshape(-1).tolist()]
    print(name, *["%.5g" % (0.0 if abs(v) < 1e-9 else v) for v in numbers], len(gs))

def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

"""
"""Definitions that every program uses.

Numbers are printed with few digits because libraries round the last one differently.
"""


class Variable(NamedTuple):
    """A tensor of the program."""

    name: str
    shape: Shape


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """The broadcast shape of two shapes, or None if there is none."""
    width = max(len(a), len(b))
    pairs = list(zip((1,) * (width - len(a)) + a, (1,) * (width - len(b)) + b, strict=True))
    if any(x != y and 1 not in (x, y) for x, y in pairs):
        return None
    return tuple(y if x == 1 else x for x, y in pairs)


def program(seed: int) -> str:
    """The source text for a seed."""
    return Writer(Random(seed)).write()


class Writer:
    """A generator of one program."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.lines: list[str] = []
        self.variables: list[Variable] = []
        self.leaves: list[Variable] = []
        self.handles: list[str] = []
        self.numbers = iter(range(1000))

    def write(self) -> str:
        """The whole source text."""
        self._leaves()
        kinds = (*(self._operator,) * 8, *(self._view,) * 4, *(self._write,) * 3, self._hook, self._hook, self._mode)
        for _ in range(self.dice.randint(2, 9)):
            self.dice.choice((*kinds, self._other))()
        for _ in range(self.dice.randint(0, 2)):
            self._hook()
        for _ in range(self.dice.choice((1, 1, 1, 2, 2, 3))):
            self._backward()
        return PREAMBLE + "\n".join(self.lines) + "\n"

    # -- leaves and operators

    def _leaves(self) -> None:
        for number in range(self.dice.randint(1, 3)):
            shape = self.dice.choice(SHAPES)
            wanted = number == 0 or self.dice.random() < 0.75
            text = f"torch.tensor({self._data(shape)}, dtype=torch.float64, requires_grad={wanted})"
            self.lines.append(f"x{number} = {text}")
            self.variables.append(Variable(f"x{number}", shape))
            self.leaves.append(self.variables[-1])

    def _data(self, shape: Shape) -> object:
        if not shape:
            return self.dice.choice([0.25, 0.5, 1.0, 1.5, 2.0, -0.5, -1.25])
        return [self._data(shape[1:]) for _ in range(shape[0])]

    def _new(self, text: str, shape: Shape) -> Variable:
        made = Variable(f"y{next(self.numbers)}", shape)
        self.lines.append(f"{made.name} = {text}")
        self.variables.append(made)
        return made

    def _some(self) -> Variable:
        """A variable, usually one of the last four."""
        return self.dice.choice(self.variables[-4:] if self.dice.random() < 0.7 else self.variables)

    def _operator(self) -> None:
        kinds = (*(self._same_shape,) * 5, *(self._two,) * 5, self._reduction, self._along, self._matrix, self._joined)
        rarer = (self._reduction, self._bounded, self._picked, self._layer, self._norm)
        text, shape = self.dice.choice((*kinds, *rarer))()
        self._new(text, shape)

    def _same_shape(self) -> tuple[str, Shape]:
        x = self._some()
        return self.dice.choice(SAME_SHAPE).format(x.name), x.shape

    def _two(self) -> tuple[str, Shape]:
        x = self._some()
        y, shape = self.dice.choice([(v, s) for v in self.variables if (s := broadcast(x.shape, v.shape)) is not None])
        return self.dice.choice(TWO).format(x.name, y.name), shape

    def _reduction(self) -> tuple[str, Shape]:
        x = self._some()
        if not x.shape or self.dice.random() < 0.5:
            return f"{x.name}.{self.dice.choice(OVER_ALL)}()", ()
        dim, keepdim, rest = self._reduced(x)
        return f"{x.name}.{self.dice.choice(WITH_DIM).format(dim, keepdim)}", rest

    def _reduced(self, x: Variable) -> tuple[int, bool, Shape]:
        """A dimension, whether it is kept, and the resulting shape."""
        at, keepdim = self.dice.randrange(len(x.shape)), self.dice.random() < 0.5
        rest = x.shape[:at] + ((1,) if keepdim else ()) + x.shape[at + 1 :]
        return (at - len(x.shape) if self.dice.random() < 0.5 else at), keepdim, rest

    def _norm(self) -> tuple[str, Shape]:
        x, order = self._some(), self.dice.choice(NORMS)
        if not x.shape or self.dice.random() < 0.4:
            return f"torch.ops.aten.linalg_vector_norm({x.name}, {order})", ()
        dim, keepdim, rest = self._reduced(x)
        return f"torch.ops.aten.linalg_vector_norm({x.name}, {order}, [{dim}], {keepdim})", rest

    def _along(self) -> tuple[str, Shape]:
        x = self._some()
        dim = self.dice.randint(-1 if x.shape else 0, max(len(x.shape) - 1, 0))
        how = self.dice.choice(ALONG if x.shape else ALONG[:4])
        return f"{x.name}.{how.format(dim)}", x.shape

    def _bounded(self) -> tuple[str, Shape]:
        x = self._some()
        fitting = [v.name for v in self.variables if v.shape in (x.shape, ())]
        return self.dice.choice(BOUNDED).format(x.name, self.dice.choice(fitting), self.dice.choice(fitting)), x.shape

    def _picked(self) -> tuple[str, Shape]:
        """Some elements of a variable, by indices or a mask."""
        x = self.dice.choice(self.variables)
        if not x.shape:
            return f"{x.name}.masked_select({x.name} == {x.name})", (1,)
        size, rest = x.shape[0], x.shape[1:]
        rows = [self.dice.randrange(size) for _ in range(self.dice.randint(1, 3))]
        whole = f"torch.tensor({rows}).view({(-1, *[1] * len(rest))}).expand({(len(rows), *rest)})"
        other = self.dice.choice([v for v in self.variables if v.shape == x.shape]).name
        return self.dice.choice(
            (
                (f"{x.name}.gather(0, {whole})", (len(rows), *rest)),
                (f"{x.name}.index_select(0, torch.tensor({rows}))", (len(rows), *rest)),
                (f"{x.name}.scatter(0, torch.tensor([0]).view({(1,) * len(x.shape)}), 2.0)", x.shape),
                (f"{x.name}.index_add(0, torch.tensor({list(range(size))[::-1]}), {other}, alpha=2)", x.shape),
                (f"{x.name}.scatter_add(0, torch.zeros({x.shape}, dtype=torch.int64), {other})", x.shape),
                (f"{x.name}.topk(1, 0)[0]", (1, *rest)),
                (f"{x.name}.masked_select({x.name} == {x.name})", (prod(x.shape),)),
                (f"{x.name}.masked_scatter({x.name} > 0, {other})", x.shape),
                (f"torch.ops.aten.index({x.name}, [torch.tensor({rows})])", (len(rows), *rest)),
                (f"torch.ops.aten.index_put({x.name}, [torch.tensor([0])], {other}.select(0, 0), True)", x.shape),
                (f"{x.name}.repeat({(2,) * len(x.shape)})", tuple(2 * length for length in x.shape)),
            )
        )

    def _layer(self) -> tuple[str, Shape]:
        """A layer of a network."""
        x = self._some()
        if not x.shape:
            return self._same_shape()
        other = self.dice.choice([v for v in self.variables if v.shape == x.shape]).name
        last = x.shape[-1:]
        weights = [v.name for v in self.variables if v.shape == last] or ["None"]
        weight, bias = self.dice.choice(weights), self.dice.choice([*weights, "None"])
        reduction = self.dice.randrange(3)
        return self.dice.choice(
            (
                (f"torch.ops.aten.layer_norm({x.name}, {list(last)}, {weight}, {bias})", x.shape),
                (f"torch.ops.aten.layer_norm({x.name}, {list(last)})", x.shape),
                (f"torch.ops.aten.mse_loss({x.name}, {other}, {reduction})", () if reduction else x.shape),
                (f"torch.ops.aten.linear({x.name}, {x.name})", (*x.shape[:-1], x.shape[0]))
                if len(x.shape) == 2
                else (f"{x.name} @ {x.name}", ())
                if len(x.shape) == 1
                else (f"torch.bmm({x.name}, {other}.transpose(1, 2))", (*x.shape[:-1], x.shape[1])),
            )
        )

    def _matrix(self) -> tuple[str, Shape]:
        pairs = [
            (a, b)
            for a in self.variables
            for b in self.variables
            if 1 <= len(a.shape) <= 3 and 1 <= len(b.shape) <= 2 and a.shape[-1] == b.shape[0]
        ]
        if not pairs:
            return self._same_shape()
        a, b = self.dice.choice(pairs)
        return f"{a.name} @ {b.name}", a.shape[:-1] + b.shape[1:]

    def _joined(self) -> tuple[str, Shape]:
        x = self._some()
        y = self.dice.choice([v for v in self.variables if v.shape == x.shape])
        if x.shape and self.dice.random() < 0.5:
            at = self.dice.randrange(len(x.shape))
            size = (*x.shape[:at], 2 * x.shape[at], *x.shape[at + 1 :])
            return f"torch.cat([{x.name}, {y.name}], {at})", size
        return f"torch.stack([{x.name}, {y.name}])", (2, *x.shape)

    # -- views

    def _view(self) -> None:
        x, count = self._some(), self.dice.random()
        if x.shape and count < 0.25:
            self._several_views(x)
            return
        text, shape = self.dice.choice(self._views(x.shape))
        self._new(text.format(x.name), shape)

    def _views(self, shape: Shape) -> list[tuple[str, Shape]]:
        size = prod(shape)
        found: list[tuple[str, Shape]] = [("{0}.unsqueeze(0)", (1, *shape)), ("{0}.detach()", shape)]
        found += [
            ("{0}.reshape(-1)", (size,)),
            (f"{{0}}.expand({(2, *shape)})", (2, *shape)),
            ("{0}.view_as({0})", shape),
        ]
        found += [("{0}.squeeze()", tuple(length for length in shape if length != 1))]
        if shape:
            found += [("{0}.select(0, 0)", shape[1:]), ("{0}.select(0, -1)", shape[1:])]
            found += [(f"{{0}}.narrow(0, 0, {shape[0]})", shape), ("{0}.narrow(0, 0, 1)", (1, *shape[1:]))]
            found += [("{0}.select(-1, 0)", shape[:-1]), ("{0}.view(-1)", (size,))]
            found += [("{0}.flip(0)", shape), ("{0}.index_select(0, torch.tensor([0, 0]))", (2, *shape[1:]))]
        if len(shape) == 2:
            found += [("{0}.t()", shape[::-1]), ("{0}.transpose(0, 1)", shape[::-1]), ("{0}.diagonal()", (min(shape),))]
            found += [("{0}.permute(1, 0)", shape[::-1]), ("{0}.tril()", shape)]
        return [view for view in found if len(view[1]) <= 3]

    def _several_views(self, x: Variable) -> None:
        at = self.dice.randrange(len(x.shape))
        rest = x.shape[:at] + x.shape[at + 1 :]
        how = self.dice.choice(("unbind", "split", "chunk"))
        if how == "unbind":
            shapes, text = [rest] * x.shape[at], f"{x.name}.unbind({at})"
        else:
            shapes, text = [(*x.shape[:at], 1, *x.shape[at + 1 :])] * x.shape[at], f"{x.name}.split(1, {at})"
            if how == "chunk":
                text = f"{x.name}.chunk({x.shape[at]}, {at})"
        made = [Variable(f"y{next(self.numbers)}", shape) for shape in shapes]
        self.lines.append(f"{', '.join(v.name for v in made)}, = {text}")
        self.variables += made

    # -- writes

    def _write(self) -> None:
        candidates = [v for v in self.variables if v not in self.leaves] if self.dice.random() < 0.93 else self.leaves
        if not candidates:
            return self._operator()
        x = self.dice.choice(candidates)
        fitting = [v for v in self.variables if broadcast(x.shape, v.shape) == x.shape]
        if len(x.shape) <= 2 and self.dice.random() < 0.04:
            how = self.dice.choice(RESHAPED_IN_PLACE if x.shape else RESHAPED_IN_PLACE[:2])
            self.lines.append(how.format(x.name) + f".view({x.shape})" * (self.dice.random() < 0.5))
        elif x.shape and self.dice.random() < 0.35:
            part = self.dice.choice(PARTS).format(x.name)
            self.lines.append(self.dice.choice(WRITES).format(part))
        elif x.shape and self.dice.random() < 0.2:
            written = self.dice.choice(("fill_(2.5)", f"copy_({self._some().name})"))
            self.lines.append(f"{x.name}.select(0, 0).{written}")
        elif self.dice.random() < 0.5:
            self.lines.append(self.dice.choice(WRITES).format(x.name))
        else:
            self.lines.append(self.dice.choice(WRITES_TWO).format(x.name, self.dice.choice(fitting).name))
        return None

    # -- modes, threads and the rest

    def _mode(self) -> None:
        start, known = len(self.lines), len(self.variables)
        for _ in range(self.dice.randint(1, 2)):
            self.dice.choice((self._operator, self._operator, self._view, self._view, self._write, self._mode))()
        mode = self.dice.choice(MODES)
        if self.dice.random() < 0.15 and len(self.variables) > known:
            self._in_thread(start, known)
        else:
            self.lines[start:] = [f"with {mode}:", *(f"    {line}" for line in self.lines[start:])]

    def _in_thread(self, start: int, known: int) -> None:
        """Move the last lines into a new thread.

        Its errors are printed; variables that it should create are created before.
        """
        made = [v.name for v in self.variables[known:]]
        spare = [f"{v.name} = torch.zeros({v.shape}, dtype=torch.float64)" for v in self.variables[known:]]
        inside = ["try:", *(f"    {line}" for line in self.lines[start:]), "except RuntimeError as error:"]
        inside.append("    print(type(error).__name__, str(error).split(chr(10))[0])")
        body = [f"global {', '.join(made)}", *inside]
        number = next(self.numbers)
        define = [f"def work{number}():", *(f"    {line}" for line in body)]
        self.lines[start:] = [*spare, *define, f"in_thread(work{number})"]

    def _other(self) -> None:
        x = self._some()
        kinds: tuple[Callable[[], str], ...] = (
            lambda: (
                f"{x.name}.retain_grad() if {x.name}.requires_grad and ({x.name}.is_leaf or {x.name}.grad_fn) else None"
            ),
            lambda: f"{x.name}.requires_grad_()",
            lambda: self._if(f"{x.name}.grad_fn", f"{x.name}.grad_fn._set_sequence_nr({self.dice.randint(0, 20)})"),
            lambda: f"{self.dice.choice(self.leaves).name}.grad = None",
            lambda: f"{self.dice.choice(self.leaves).name}.requires_grad_(False)",
            lambda: f"{x.name}.detach_()",
            lambda: self._if(f"{x.name}.grad_fn is None", f"{x.name}.requires_grad_({self.dice.random() < 0.5})"),
            lambda: f"{x.name}.retain_grad()",
            lambda: (
                f"{self.dice.choice(self.leaves).name}.grad = torch.ones_like({self.dice.choice(self.leaves).name})"
            ),
            lambda: f"{x.name} = {x.name}.detach().requires_grad_()",
            lambda: f"print({x.name}.is_leaf, {x.name}._is_view(), {x.name}.output_nr)",
        )
        weights = (6, 2, 3, 1, 1, 1, 1, 1, 1, 1, 2)
        self.lines.append(self.dice.choices(kinds, weights)[0]())

    def _if(self, condition: str, text: str) -> str:
        """The text, usually with a condition under which it is allowed."""
        return f"{text} if {condition} else None" if self.dice.random() < 0.9 else text

    # -- hooks

    def _hook(self) -> None:
        x, name = self._some(), f"h{next(self.numbers)}"
        gradient = self.dice.choice(("None", "None", "g * 2", "g + 1", "g.clone()", "g.detach()"))
        grads = self.dice.choice(("None", "None", "tuple(None if g is None else g * 3 for g in gs)", "gs"))
        leaf = self.dice.choice(self.leaves)
        kinds = (
            f'{x.name}.register_hook(lambda g: (show("{name}", g), {gradient})[1])',
            f'{x.name}.grad_fn.register_prehook(lambda gs: (show("{name}", *gs), {grads})[1])',
            f'{x.name}.grad_fn.register_hook(lambda gs, outs: (show("{name}", *gs, *outs), {grads})[1])',
            f'{leaf.name}.register_hook(lambda g: (show("{name}", g), {gradient})[1])',
            f'{leaf.name}.register_post_accumulate_grad_hook(lambda p: show("{name}", p.grad))',
            f'torch.autograd.graph.register_multi_grad_hook([{x.name}, {leaf.name}], lambda gs: show("{name}", *gs))',
        )
        if self.handles and self.dice.random() < 0.1:
            gone = self.dice.choice(self.handles)
            self.lines.append(f"{gone}.remove() if {gone} else None")
            return
        node, requires_grad = f"{x.name}.grad_fn", f"{leaf.name}.requires_grad"
        both = f"{x.name}.requires_grad and {x.name}.is_leaf in (True, False) and {leaf.name}.requires_grad"
        fresh = f"{x.name}.requires_grad and ({x.name}.is_leaf or {node})"  # PyTorch crashes on hooks of stale views
        conditions = (fresh, node, node, requires_grad, f"{requires_grad} and {leaf.name}.is_leaf", both)
        text, condition = self.dice.choices(list(zip(kinds, conditions, strict=True)), (6, 3, 3, 3, 2, 1))[0]
        self.lines.append(f"{name} = {text} if {condition} else None")
        self.handles.append(name)

    # -- backward

    def _backward(self) -> None:
        roots = [
            self.variables[-1],
            *self.dice.sample(self.variables, self.dice.choice((0, 0, 1, 2)) % len(self.variables)),
        ]
        if self.dice.random() < 0.6:
            roots.append(self.leaves[0])
        loss = " + ".join(f"{root.name}.sum()" for root in roots)
        kept = self.dice.choice(("", "", "", *(", retain_graph=True",) * 2, *(", create_graph=True",) * 2))
        some = self.dice.sample(self.variables, min(len(self.variables), self.dice.randint(1, 3)))
        names = ", ".join(v.name for v in some)
        leaves = ", ".join(v.name for v in self.leaves)
        ones = ", ".join(f"torch.ones_like({root.name})" for root in roots)
        several = f"[{', '.join(root.name for root in roots)}], [{ones}]"
        extra = self.dice.choice((", allow_unused=True", ", allow_unused=True", "", ", materialize_grads=True"))
        of_leaves = several.replace("], [", f"], [{leaves}], [", 1)
        result = f"g{next(self.numbers)}"
        ways = (
            [f"({loss}).backward({kept[2:]})"],
            [f"torch.autograd.backward({several}{kept})"],
            [f"({loss}).backward(inputs=[{names}]{kept})"],
            [f"{result} = torch.autograd.grad({loss}, [{names}]{extra}{kept})", f"show('{result}', *{result})"],
            [f"{result} = torch.autograd.grad({of_leaves}, allow_unused=True{kept})"],
            [
                f"{result} = torch.autograd.grad({loss}, [{leaves}], create_graph=True, allow_unused=True)",
                f"show('{result}', *{result})",
                f"sum(g.pow(2).sum() for g in {result} if g is not None).backward({kept[2:]})",
            ],
            [f"with torch.no_grad():\n    ({loss}).backward({kept[2:]})"],
            [
                f"{result} = torch.autograd.grad({loss}, [{leaves}], create_graph=True, allow_unused=True)",
                f"loss = sum(g.sin().sum() for g in {result} if g is not None)",
                f"{result} = torch.autograd.grad(loss, [{leaves}], create_graph=True, allow_unused=True)",
                f"sum(g.pow(2).sum() for g in {result} if g is not None).backward({kept[2:]})",
            ],
            [f"with torch.autograd.set_detect_anomaly(True):\n    ({loss}).backward({kept[2:]})"],
            [f"({loss}).backward(torch.tensor(2.0, dtype=torch.float64){kept})"],
        )
        self.lines += self.dice.choices(ways, (6, 3, 3, 3, 1, 3, 1, 2, 1, 1))[0]
