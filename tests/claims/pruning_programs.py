"""Random programs that request only some gradients from the engine, with graphs of all shapes."""

from __future__ import annotations

from random import Random

UNARY = ("exp", "sin", "cos", "relu", "neg", "abs")


def program(seed: int) -> str:
    """Return a program, always the same for the same seed."""
    draw = Random(seed)
    lines, names = ["import torch"], list[str]()
    for i in range(draw.randint(1, 4)):
        values = [round(draw.uniform(0.5, 2), 2) for _ in range(2)]
        lines.append(f"x{i} = torch.tensor({values}, requires_grad={i == 0 or draw.random() < 0.8})")
        names.append(f"x{i}")
    for i in range(draw.randint(2, 14)):
        lines.append(f"v{i} = {_operation(draw, names)}")
        names.append(f"v{i}")
    lines += [_watched(draw, names) for _ in range(draw.randint(0, 3))]
    return "\n".join([*lines, *(_backward(draw, names, i) for i in range(draw.randint(1, 3)))])


def _operation(draw: Random, names: list[str]) -> str:
    a, b, c = (draw.choice(names) for _ in range(3))
    return draw.choices(
        [
            f"{a}.{draw.choice(UNARY)}()",
            f"{a} {draw.choice('*+-')} {b}",
            f"torch.atan2({a}, {b})",
            f"torch.stack([{a}, {b}]).sum(0)",
            f"{a}.detach() * {b}",
            f"{a}.clone().mul_(2)",
            f"torch.where({a} > 1, {b}, {c})",
        ],
        weights=[8, 7, 1, 1, 1, 1, 1],
    )[0]


def _watched(draw: Random, names: list[str]) -> str:
    call = draw.choice(["retain_grad()", "register_hook(lambda grad: grad * 2)"])
    return f"watched = {draw.choice(names)}\nif watched.requires_grad: handle = watched.{call}"


def _backward(draw: Random, names: list[str], i: int) -> str:
    last = names[-6:]
    roots = draw.sample(last, min(len(last), draw.choice([1, 1, 1, 2])))
    inputs = draw.sample(names, min(len(names), draw.randint(1, 3)))
    sums = ", ".join(f"{name}.sum()" for name in roots)
    asked, recorded, kept = ", ".join(inputs), draw.random() < 0.15, draw.random() < 0.6
    call = draw.choices(
        [
            f"torch.autograd.backward([{sums}], inputs=[{asked}], retain_graph={kept})",
            f"g{i} = torch.autograd.grad([{sums}], [{asked}], None, {kept}, {recorded}, allow_unused=True)",
            f"torch.autograd.backward([{sums}], retain_graph={kept})",
        ],
        weights=[4, 5, 1],
    )[0]
    needed = " and ".join(f"{name}.requires_grad" for name in dict.fromkeys([*roots, *inputs]))
    return f"if {needed}: {call}"
