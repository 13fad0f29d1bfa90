"""Small programs at the corners of kernels: temporary tensors, empty tensors, saved tensors. PyTorch and the model do
the same in each.
"""

from __future__ import annotations

import pytest

from dispatchviz.cli.check_runs import PHRASES, two_runs
from dispatchviz.running.program_source import Code
from dispatchviz.views.cards.check_text import check_lines
from dispatchviz.views.text.console import Console
from tests.amounts import some

BEGIN = "import torch\nF = torch.nn.functional\n"

ON_META = """
line = torch.ones(3, device="meta")
square = torch.ones(3, 3, device="meta")
F.logsigmoid(line)
F.multilabel_soft_margin_loss(square, square)
for name in ("inv", "det", "cholesky", "qr", "svd", "eigh", "eigvalsh", "pinv", "eig"):
    getattr(torch.linalg, name)(square)
torch.tensor([1.0, 2.0], device="meta")
torch.cummax(square, 0), torch.cummin(square, 1), torch.logcumsumexp(square, 0)
square.repeat(2, 2), square.tile(2, 2)
torch.stft(torch.ones(300, device="meta"), 20, return_complex=True)
torch.fft.rfftn(torch.ones(2, 3, 4, device="meta"), dim=(0, 2))
"""
"""Python meta functions, to which PyTorch gives other strides than it begins with."""

CONVOLUTIONS = """
def run(convolve, *sizes):
    for wanted in ((0,), (1,), (2,), (0, 1), (0, 1, 2)):
        x, weight, bias = (torch.ones(size).requires_grad_(place in wanted) for place, size in enumerate(sizes))
        convolve(x, weight, bias if 2 in wanted else None).sum().backward()
image, volume = (2, 3, 6, 5), (1, 3, 4, 5, 6)
run(lambda *three: F.conv2d(*three, dilation=2), image, (4, 3, 2, 2), (4,))
run(F.conv_transpose2d, image, (3, 4, 2, 2), (4,))
run(lambda *three: F.conv3d(*three, dilation=2), volume, (4, 3, 2, 2, 2), (4,))
run(F.conv_transpose3d, volume, (3, 4, 2, 2, 2), (4,))
run(F.conv3d, volume, (4, 3, 2, 2, 2), (4,))
"""
"""Columns and views of one image, in the order in which PyTorch makes them."""

RESIZED = """
volume = torch.ones(1, 2, 2, 2, 2, requires_grad=True)
F.interpolate(volume, scale_factor=2).sum().backward()
F.interpolate(volume, size=(3, 3, 3), mode="nearest-exact").sum().backward()
F.interpolate(volume, scale_factor=2, mode="trilinear").sum().backward()
for mode in ("nearest", "bilinear", "bicubic"):
    F.interpolate(volume.detach()[0], scale_factor=3, mode=mode)
image = torch.ones(2, 4, 4, 5)
for given in (image, image.contiguous(memory_format=torch.channels_last), image.transpose(2, 3)):
    for size in ((2, 2), (2, 5), (7, 3)):
        F.interpolate(given, size, mode="bilinear", antialias=True)
        F.interpolate(given, size, mode="bicubic", antialias=True)
F.interpolate(torch.ones(1, 1, 4, dtype=torch.uint8), 5)
F.affine_grid(torch.ones(1, 2, 3), (1, 1, 1, 2), align_corners=False)
torch._weight_norm(torch.ones(3, 4, requires_grad=True), torch.ones(1, 4, requires_grad=True), 1).sum().backward()
torch.aminmax(torch.ones(2, 3)), torch.aminmax(torch.ones(2, 3), dim=1)
table, places = torch.ones(5, 3, requires_grad=True), torch.tensor([0, 1, 1, 4])
for mode in ("sum", "mean", "max"):
    F.embedding_bag(places, table.detach(), torch.tensor([0, 2]), mode=mode)
    F.embedding_bag(places, table, torch.tensor([0, 2]), mode=mode).sum().backward()
F.embedding_bag(places, table, torch.tensor([0, 2]), scale_grad_by_freq=True, padding_idx=1).sum().backward()
F.embedding_bag(places, table, torch.tensor([0, 2]), mode="sum", per_sample_weights=table[:4, 0]).sum().backward()
"""
"""Indices and weights that the loops for any number of dimensions make."""

EMPTY = """
empty, query = torch.empty(0, 3, requires_grad=True), torch.empty(1, 2, 0, 4, requires_grad=True)
empty.prod().backward()
empty.prod(0).sum().backward()
empty.prod(1).sum().backward()
torch.linalg.det(torch.empty(0, 0, requires_grad=True)).backward()
torch.linalg.det(torch.empty(0, 2, 2, requires_grad=True)).sum().backward()
F.scaled_dot_product_attention(query, query, query).sum().backward()
empty.norm().backward()
empty.cumprod(0).sum().backward()
"""
"""Empty products are written into the result, not into a view of it. If no gradient has memory, its storage decides
whether ``.grad`` shares it.
"""

SAVED = """
P, L, U = torch.linalg.lu(torch.eye(2, 3).requires_grad_())
(L.sum() + U.sum()).backward()
images, mean, variance = torch.ones(2, 2, 3, 3, requires_grad=True), torch.zeros(2), torch.ones(2)
for training in (False, True):
    torch._native_batch_norm_legit(images, None, None, mean, variance, training, 0.1, 1e-5)[0].sum().backward()
"""
"""A Node that the first result does not have, and an operator that writes to arguments but returns others."""

BETWEEN = """
import torch.autograd.forward_ad as forward
leaf = torch.tensor([[3.0, 1.0], [4.0, 0.0]], requires_grad=True)
low, high = torch.aminmax(leaf)
(low + 2 * high).backward()
with forward.dual_level():
    dual = forward.make_dual(torch.ones(2, 3), torch.ones(2, 3))
    torch.amax(dual), torch.aminmax(dual), torch.aminmax(dual, dim=1)
for number in (3, 5):
    torch.isin(number, torch.tensor([3, 1, 3]))
torch.isin(torch.ones(20), torch.arange(50.0)), torch.isin(torch.ones(20), torch.arange(50.0), invert=True)
torch.cosine_similarity(torch.ones(1, 2, requires_grad=True), torch.ones(3, 2)).sum().backward()
image = torch.ones(3, 6, 4, 5).contiguous(memory_format=torch.channels_last)
torch.group_norm(image, 2, torch.ones(6), torch.ones(6))
numbers = torch.ones(2, dtype=torch.complex64)
torch.dot(numbers.conj(), numbers.conj())
"""
"""Intermediate tensors: their sizes, their order, wrapped numbers that a kernel returns."""

LEAF_VIEWS = """
leaf = torch.ones(4)
view = leaf.view(2, 2).requires_grad_()
with torch.no_grad():
    view.add_(1)
    leaf.mul_(2)
view.sum().backward()
"""
"""A view that is a leaf and that is changed while nothing is recorded."""

PROGRAMS = [ON_META, CONVOLUTIONS, RESIZED, EMPTY, SAVED, BETWEEN, LEAF_VIEWS]


@pytest.mark.torch
@pytest.mark.long
@pytest.mark.parametrize("program", some(PROGRAMS, 7))
def test_corner_cases_run_as_in_pytorch(program: str) -> None:
    found = two_runs(Code(BEGIN + program), ())
    assert found.same, "\n".join(check_lines(found, PHRASES, Console(100, False), every=True))
