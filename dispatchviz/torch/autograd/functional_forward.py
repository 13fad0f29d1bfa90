"""``torch.autograd.functional.jacobian`` by forward mode, all columns at once (``torch/autograd/functional.py``).

NB: PyTorch creates dual tensors under the legacy vmap; here it is ``torch.vmap`` of ``torch.func.jvp``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd.functional_arguments import Function, as_tuple

_NOT_TOGETHER = (
    'torch.autograd.functional.jacobian: `{0}=True` and `strategy="forward-mode"` are not supported together (yet). '
    'Please either set `{0}=False` or `strategy="reverse-mode"`.'
)


def jacfwd(func: Function, given: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """Return the Jacobian of every output by every input. Raise NotImplementedError or RuntimeError for cases that
    PyTorch lacks too.
    """
    if create_graph:
        raise NotImplementedError(_NOT_TOGETHER.format("create_graph"))
    if strict:
        raise RuntimeError(_NOT_TOGETHER.format("strict"))
    inputs_were_tuple, inputs = as_tuple(given, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    counts = [tensor.numel() for tensor in inputs]  # type: ignore[attr-defined]
    outputs_were_tuple, columns = _columns(func, inputs, _basis(inputs, counts))
    table: Any = [
        [
            part.permute(*range(1, part.ndim), 0).reshape((*part.shape[1:], *tensor._size))
            for part, tensor in zip(column.split(counts, dim=0), inputs, strict=True)
        ]
        for column in columns
    ]
    rows = table if inputs_were_tuple else tuple(row[0] for row in table)
    return rows if outputs_were_tuple else rows[0]


def _basis(inputs: Any, counts: list[int]) -> list[Any]:
    """Return per input its part of the unit vectors of all elements together, in its shape."""
    chunks = []
    for index, (tensor, count) in enumerate(zip(inputs, counts, strict=True)):
        chunk = tensor.new_zeros(sum(counts), count)
        chunk.diagonal(-sum(counts[:index])).fill_(1)
        chunks.append(chunk.view(sum(counts), *tensor.shape))
    return chunks


def _columns(func: Function, inputs: Any, basis: list[Any]) -> tuple[bool, tuple[Any, ...]]:
    found: list[bool] = []

    def flat(*duals: Any) -> Any:
        was_tuple, outputs = as_tuple(func(*duals), "outputs", "None")
        found.append(was_tuple)
        return outputs

    def push(*tangents: Any) -> Any:
        return torch.func.jvp(flat, tuple(inputs), tangents)[1]

    columns = torch.vmap(push)(*basis)
    return found[0], columns
