"""A softmax over many classes in clusters, the most frequent ones first (``torch/nn/modules/adaptive.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn.modules.container import ModuleList, Sequential
from dispatchviz.torch.nn.modules.linear import Linear
from dispatchviz.torch.nn.modules.module import Module


class _ASMoutput(NamedTuple):
    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax in clusters. The head has the classes below the first cutoff and one entry for each cluster of rarer
    classes. Each cluster has a smaller layer of its own.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            hidden = int(in_features // (div_value ** (i + 1)))
            layers = (
                Linear(in_features, hidden, bias=False, **options),
                Linear(hidden, high - low, bias=False, **options),
            )
            self.tail.append(Sequential(*layers))

    def reset_parameters(self) -> None:
        """Reset the parameters of all layers."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> _ASMoutput:
        """Return the log probabilities of the targets, and minus their mean. Raise RuntimeError for shapes that do not
        fit.
        """
        _check_batch(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        output = input.new_zeros(target.size(0))
        entries = target.new_empty(target.size(0))
        if self._fill(input, target, output, entries) != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        of_head = F.log_softmax(self.head(input), dim=1)
        output += of_head.gather(1, entries.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _fill(self, input: Any, target: Any, output: Any, entries: Any) -> int:
        """Write log probabilities within clusters to ``output``, and each row's entry in the head; return the number of
        rows.
        """
        used = 0
        for i, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            chosen = (target >= low) & (target < high)
            rows = chosen.nonzero().squeeze()
            if rows.numel() == 0:
                continue
            if i == 0:
                entries.index_copy_(0, rows, target[chosen])
            else:
                within = target[chosen] - low
                found = self.tail[i - 1](input.index_select(0, rows))
                entries.index_fill_(0, rows, self.shortlist_size + i - 1)
                own = F.log_softmax(found, dim=1).gather(1, within.unsqueeze(1))
                output.index_copy_(0, rows, own.squeeze(1))
            used += rows.numel()
        return used

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Any:
        out = input.new_empty((head_output.size(0), self.n_classes))
        of_head = F.log_softmax(head_output, dim=1)
        out[:, : self.shortlist_size] = of_head[:, : self.shortlist_size]
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            of_cluster = F.log_softmax(self.tail[i](input), dim=1)
            out[:, low:high] = of_cluster + of_head[:, self.shortlist_size + i].unsqueeze(1)
        return out

    def log_prob(self, input: Any) -> Any:
        """Return the log probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Any:
        """Return the most likely class of each row. Clusters are evaluated only for rows that need them."""
        head_output = self.head(input)
        output = torch.argmax(head_output, dim=1)
        rare = output >= self.shortlist_size
        if not rare.any():
            return output
        if rare.all():
            return torch.argmax(self._get_full_log_prob(input, head_output), dim=1)
        found = self._get_full_log_prob(input[rare], head_output[rare])
        output[rare] = torch.argmax(found, dim=1)
        return output


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = all(low < high for low, high in pairwise(cutoffs))
    if not rising or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
            "is between 1 and n_classes-1"
        )


def _check_batch(input: Any, target: Any) -> None:
    dims = target.dim()
    if dims > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if dims == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != dims + 1:
        raise RuntimeError(
            f"{dims}D target tensor expects {dims + 1}D input tensors, but found inputs with size {input.size()}"
        )
