"""Small programs about autograd, generated from tables: some for every operator with a derivative, and whole programs.

``OPERATORS`` lists expressions of leaves. Each becomes programs that run backward once, twice, and with one leaf
constant. ``WHOLE`` are the programs of ``programs/autograd_cases.txt``. Random ones are in
``truth/questions/autograd_programs.py``. ``truth/recorders/autograd_cases.py`` records PyTorch's results.
"""

from __future__ import annotations

import re
from pathlib import Path

from truth.programs import parse

LEAVES = {
    "m": "[[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]]",
    "n": "[[2.0, 1.0, 0.5], [-1.0, 3.0, 2.0]]",
    "w": "[[1.0, 0.5], [-1.0, 2.0], [0.25, -0.5]]",
    "v": "[0.5, -1.5, 2.0]",
    "p": "[0.5, 1.5, 2.0]",
    "s": "2.5",
    "b": "[[[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 1.5]]]",
    "q": "[[4.0, 1.0], [1.0, 3.0]]",
    "e": "[[1.0, 1.0, 0.0]]",
    "k": "[[[[1.0, 0.5], [-1.0, 2.0]]]]",
    "i": "[[[[1.0, 2.0, 0.0], [3.0, -1.0, 1.0], [0.5, 4.0, 2.0]]]]",
    "u": "[0.5, -0.5]",
    "t": "[1.0]",
}
"""The leaves by name with their numbers, all float64."""

OPERATORS = """
m + n|m - n|m * n|m / n|m * v|m + s|s - m|m / v|torch.add(m, v, alpha=2)|torch.sub(m, n, alpha=3)|torch.rsub(m, n)
m + 3|3 - m|m * 2|m / 4|1 / m|m ** 2|m ** 3|p ** 0.5|m ** 0|p ** -1|2 ** m|p ** v|m * m|m.mul(m).mul(m)|-m|m.exp()
p.log()|m.sin()|m.cos()|m.tanh()|m.sigmoid()|torch.relu(m)|m.abs()|p.sqrt()|p.rsqrt()|m.reciprocal()|m.sign()
m.square()|m.erf()|m.floor()|m.round()|m.clone()|m.detach() + m|m.sgn()|torch.ops.aten.silu(m)
torch.ops.aten.gelu(m)|torch.ops.aten.gelu(m, approximate='tanh')|torch.maximum(m, n)|torch.minimum(m, n)
torch.maximum(m, m)|torch.atan2(m, n)|torch.lerp(m, n, 0.25)|torch.addcmul(m, n, v, value=2)|m.clamp(-1, 1)
m.clamp(min=0.5)|m.clamp(max=1)|m.clamp(v, p)|torch.clamp_min(m, 0.5)|torch.where(m > 0, m, n)
torch.where(m > 0, m, v)|m.masked_fill(m > 0, 1.5)|m.masked_fill(m > 0, s)|m.to(torch.float32)|m.to(torch.float64)
m.sum()|m.sum(1)|m.sum(-1, keepdim=True)|m.sum((0, 1))|m.mean()|m.mean(0)|m.prod()|e.prod()|m.prod(1)|e.prod(1)
m.max()|e.max()|m.min()|m.max(1)[0]|m.min(0, keepdim=True)[0]|m.amax(1)|e.amax(1)|m.amin((0, 1))|m.var()
m.var(1, correction=0)|m.std(1)|m.std()|m.std(0, keepdim=True)|m.logsumexp(1)|m.logsumexp((0, 1), keepdim=True)
torch.ops.aten.linalg_vector_norm(v)|torch.ops.aten.linalg_vector_norm(m, 2, [1])|m.cumsum(1)|m.cumsum(0)
v.sort()[0]|v.topk(2)[0]|m @ w|m @ v|v @ v|v @ w|b @ b|b @ q|b @ u|torch.mm(m, w)|torch.mv(m, v)|torch.dot(v, p)
torch.bmm(b, b)|torch.addmm(u, m, w, beta=2, alpha=3)|torch.addmv(u, m, v)|torch.outer(u, v)
torch.ops.aten.linear(m, n)|m.t()|torch.ops.aten.linear(m, n, u)|torch.ops.aten.linear(b, q, u)|m.transpose(0, 1)
b.permute(2, 0, 1)|m.view(6)|m.reshape(3, 2)|m.t().reshape(6)|v.expand(2, 3)|e.squeeze()|e.squeeze(0)|m.squeeze(0)
m.unsqueeze(1)|m.select(0, 1)|m.select(-1, -1)|m.narrow(1, 1, 2)|m.diagonal()|m.diagonal(1)|m.flip(0)|m.flip([0, 1])
v.repeat(2, 1)|m.repeat(1, 2)|m.tril()|m.triu(1)|m.as_strided((2, 2), (1, 2))|m.view_as(n)|m.flatten()|v.flatten()
m.index_select(0, torch.tensor([1, 0, 1]))|m.gather(1, torch.tensor([[0, 0], [2, 1]]))
torch.ops.aten.index(m, [torch.tensor([1, 0, 1])])|torch.cat([m, n])|torch.cat([m, n], -1)|torch.stack([m, n], 1)
torch.cat([v, p, v])|m.unbind(1)[1]|m.split(2, 1)[0]|m.split_with_sizes([1, 2], 1)[1]|m.chunk(2, 1)[1]
sum(part.exp().sum() for part in m.split(1, 1))|m.scatter(1, torch.tensor([[0], [2]]), e.t())
m.scatter_add(1, torch.tensor([[0, 0, 2], [2, 1, 1]]), n)|m.index_add(0, torch.tensor([1, 0]), n, alpha=2)
torch.ops.aten.index_put(m, [torch.tensor([1])], v)|m.softmax(1)|m.softmax(0)|m.log_softmax(-1)
torch.ops.aten.mse_loss(m, n)|torch.ops.aten.mse_loss(m, n, 2)|torch.ops.aten.mse_loss(m, n, 0)
torch.ops.aten.cross_entropy_loss(m, torch.tensor([2, 0]))|torch.ops.aten.nll_loss_nd(m, torch.tensor([1, 2]))
torch.ops.aten.layer_norm(m, [3], v, p)|torch.ops.aten.layer_norm(m, [3])
torch.ops.aten.embedding(w, torch.tensor([2, 0, 2]))|torch.ops.aten.embedding(w, torch.tensor([[2, 0], [1, 1]]), 0)
torch.ops.aten.conv2d(i, k, t)|torch.ops.aten.conv2d(i, k, None, [2, 2], [1, 1])
torch.ops.aten.max_pool2d(i, [2, 2], [1, 1])|torch.ops.aten.dropout(m, 0.5, False)
torch.ops.aten.native_dropout(m, 0.0, True)[0]|torch.ops.aten.threshold_backward(m, n, 0)
torch.ops.aten.tanh_backward(m, n)|torch.ops.aten.sigmoid_backward(m, n)
"""

WRITES = """
neg_()|exp_()|sin_()|cos_()|tanh_()|sigmoid_()|relu_()|sqrt_()|abs_()|zero_()|fill_(2)|mul_(2)|mul_(n)|add_(n)
add_(n, alpha=2)|sub_(v)|div_(n)|pow_(2)|clamp_(-1, 1)|masked_fill_(n > 0, 3.0)|copy_(n)|copy_(v)|square_()
reciprocal_()|log_()|floor_()|clamp_min_(0.5)|lerp_(n, 0.75)|addcmul_(n, v)|index_add_(0, torch.tensor([1, 0]), n)
scatter_add_(0, torch.tensor([[1, 0, 1]]), n)
"""
"""In-place operators, applied to a value and to a part of one through a view."""

TWICE_NOT = (
    *(
        "masked_fill(m > 0, s)",
        "linalg_vector_norm",
        "e.prod",
        "gelu",
        "layer_norm",
        "conv2d",
        "max_pool2d",
        "embedding",
    ),
    *("index_put", "native_dropout"),
)
"""Parts of expressions without a second derivative in the model."""


def _expressions(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[|\n]", text) if part.strip()]


def _leaves(expression: str, constant: str = "") -> list[str]:
    used = [name for name in LEAVES if re.search(rf"(?<![\w.']){name}(?![\w'(=])", expression)]
    return [f"{n} = torch.tensor({LEAVES[n]}, dtype=torch.float64, requires_grad={n != constant})" for n in used]


def _of_operator(number: int, expression: str) -> dict[str, str]:
    """The programs of an expression: backward once, with the second leaf constant, and twice."""
    leaves = _leaves(expression)
    names = [line.split(" ")[0] for line in leaves]
    once = [f"z = {expression}", "(z * z).sum().backward()"]
    programs = {f"operator_{number}": [*leaves, *once]}
    if len(names) > 1:
        programs[f"operator_{number}_partly"] = [*_leaves(expression, names[1]), *once]
    if not any(word in expression for word in TWICE_NOT):
        listed = ", ".join(names)
        grad = f"gs = torch.autograd.grad((z * z).sum(), [{listed}], create_graph=True, allow_unused=True)"
        second = "sum((g * g).sum() for g in gs if g is not None).backward()"
        programs[f"operator_{number}_twice"] = [*leaves, f"z = {expression}", grad, second]
    return {name: "\n".join(lines) for name, lines in programs.items()}


def _of_write(number: int, write: str) -> dict[str, str]:
    """The programs of a write: to a value, to a part through a view, to a leaf (which is refused), and in no_grad."""
    leaves = _leaves(f"m + {write}")
    ends = ["loss = (y * y).sum()", "loss.backward()"]
    through = re.sub(r"\bn\b", "n.narrow(0, 0, 1)", write)
    programs = {
        f"write_{number}": [*leaves, "y = m * 1", f"y.{write}", *ends],
        f"write_{number}_through_a_view": [*leaves, "y = m * 1", f"y.narrow(0, 0, 1).{through}", *ends],
        f"write_{number}_to_a_leaf": [*leaves, f"m.{write}"],
        f"write_{number}_in_no_grad": [*leaves, "y = m * 1", "with torch.no_grad():", f"    y.{write}", *ends],
    }
    return {name: "\n".join(lines) for name, lines in programs.items()}


def table() -> dict[str, str]:
    """The source text of all programs of the tables, by name."""
    found: dict[str, str] = {}
    for number, expression in enumerate(_expressions(OPERATORS)):
        found |= _of_operator(number, expression)
    for number, write in enumerate(_expressions(WRITES)):
        found |= _of_write(number, write)
    return {name: f"import torch\n\n{text}\n" for name, text in found.items()}


def whole() -> dict[str, str]:
    """The programs of ``programs/autograd_cases.txt``."""
    return parse((Path(__file__).parents[1] / "programs" / "autograd_cases.txt").read_text(encoding="utf-8"))
