"""Random programs with ``torch.autograd.Function``, as hypothesis strategies.

A program defines one Function of random style. It returns new tensors, its inputs as they are, views of them or inputs
that it wrote to; it marks and saves some. Its backward returns gradients of random kinds, some of them wrong. The
program then calls it on leaves, computed tensors, views and plain tensors, uses or writes to the results, and runs
backward, perhaps twice. Many programs fail; they must fail alike.
"""

from __future__ import annotations

from hypothesis import strategies as st

OUTPUTS = ("a * b", "a * 2", "a.exp()", "a", "b", "a.view(2, 1)", "b.view(2, 1)", "a > 0", "7", "a.detach()")
DIRTY = ("a", "b")
MARKS = (
    "",
    "",
    "",
    "",
    "",
    "ctx.mark_non_differentiable(y)",
    "ctx.set_materialize_grads(False)",
    "ctx.set_materialize_grads(False)",
    "ctx._is_pure_view = True",
    "ctx._materialize_non_diff_grads = False\n{0}ctx.mark_non_differentiable(y)",
)
SAVED = ("", "a, b", "a", "y", "b, None, y", "z")
GRADIENTS = (
    "g * 2", "g * 3", "g.exp()", "None", "g.view(2)", "zero + 1", "g.double()", "torch.tensor([1.0, 2.0, 3.0])",
)  # fmt: skip
INPUTS = ("x", "p", "u", "v", "w", "x", "u")
USES = (
    "",
    "",
    "",
    "{0}.add_(1)",
    "{0}.mul_(2)",
    "u.add_(1)",
    "w.mul_(3)",
    "{0}.detach_()",
    "if {0}.requires_grad: {0}.register_hook(lambda g: g * 2)",
    "if {0}.grad_fn: {0}.grad_fn.register_hook(lambda gi, go: print(len(gi), len(go)))",
    "if {0}.requires_grad: {0}.retain_grad()",
)
BACKWARD = (
    "loss.backward()",
    "loss.backward(retain_graph=True)\nloss.backward()",
    "loss.backward()\nloss.backward()",
    "(found,) = torch.autograd.grad(loss, x, allow_unused=True)",
    "(found,) = torch.autograd.grad(loss, x, create_graph=True)\nfound.sum().backward()",
    "loss.backward(inputs=[x])",
)


@st.composite
def function_programs(draw: st.DrawFn) -> str:
    """Return the source text of a program."""
    lines = ["import torch", "", "class F(torch.autograd.Function):"]
    own_setup = draw(st.booleans())
    y, z = draw(st.sampled_from(OUTPUTS)), draw(st.sampled_from((*OUTPUTS, "", "", "")))
    dirty = draw(st.sampled_from(("", "", "", *DIRTY)))
    if dirty and draw(st.integers(0, 4)):
        y = dirty
    if draw(st.integers(0, 2)) == 0 or (dirty and y == z):  # returning one twice can fail an assertion of PyTorch
        z = ""
    lines += _forward(draw, own_setup, y, z, dirty)
    lines += _backward(draw)
    lines += [
        "x = torch.tensor([0.5, 2.0], requires_grad=True)",
        "p = torch.tensor([1.5, 0.25])",
        "u = x * 2",
        "v = u.view(2, 1).view(2)",
        "w = x * 3",
    ]
    a, b = draw(st.sampled_from(INPUTS)), draw(st.sampled_from((*INPUTS, "3")))
    mode = draw(st.sampled_from(("", "", "", "", "", "with torch.no_grad():\n    ")))
    several = bool(z)
    lines.append(f"{mode}{'y, z' if several else 'y'} = F.apply({a}, {b})")
    lines += ["loss = x.sum()"]
    for name in ("y", "z") if several else ("y",):
        use = draw(st.sampled_from(USES)).format(name)
        lines += [use] if use else []
        output = y if name == "y" else z
        if output != "7" and draw(st.booleans()):
            lines.append(f"loss = loss + ({name} * x.view({'2, 1' if 'view' in output else '2'})).sum()")
    lines.append(draw(st.sampled_from(BACKWARD)))
    return "\n".join(lines) + "\n"


def _forward(draw: st.DrawFn, own_setup: bool, y: str, z: str, dirty: str) -> list[str]:
    ctx_calls = ["ctx.z = z"] if z else []
    ctx_calls += [f"ctx.mark_dirty({dirty})"] if dirty else []
    mark = draw(st.sampled_from(MARKS)).format(" " * 8)
    ctx_calls += [mark] if mark else []
    saved = draw(st.sampled_from(SAVED))
    ctx_calls += [f"ctx.save_for_backward({saved})"] if saved and (z or "z" not in saved) else []
    body = [f"{dirty}.mul_(2)"] if dirty else []
    body += [f"y = {y}", *([f"z = {z}"] if z else [])]
    result = "y, z" if z else "y"
    ctx_calls = [line for line in ctx_calls if line != "ctx.z = z"]
    if not own_setup:
        text = ["@staticmethod", "def forward(ctx, a, b):", *(f"    {line}" for line in (*body, *ctx_calls))]
        return [f"    {line}" for line in (*text, f"    return {result}")]
    unpacked = ["a, b = inputs", f"{result} = output"]
    text = ["@staticmethod", "def forward(a, b):", *(f"    {line}" for line in body), f"    return {result}"]
    text += ["@staticmethod", "def setup_context(ctx, inputs, output):"]
    return [f"    {line}" for line in (*text, *(f"    {line}" for line in (*unpacked, *ctx_calls)))]


def _backward(draw: st.DrawFn) -> list[str]:
    first, second = draw(st.sampled_from(GRADIENTS)), draw(st.sampled_from(GRADIENTS[:5]))
    returned = draw(st.sampled_from((f"{first}, {second}",) * 6 + (first, f"{first}, {second}, None", "3, None")))
    body = [
        "g, *rest = grads",
        "print([grad if grad is None else grad.tolist() for grad in grads], torch.is_grad_enabled())",
        "print(ctx.needs_input_grad, len(ctx.saved_tensors))",
        "zero = torch.tensor([0.0, 0.0])",
        "g = zero if g is None or g.dtype is torch.bool else g",
        f"return {returned}",
    ]
    once = ["    @torch.autograd.function.once_differentiable"] if draw(st.integers(0, 4)) == 0 else []
    return ["    @staticmethod", *once, "    def backward(ctx, *grads):", *(f"        {line}" for line in body)]
