"""``_fused_sdp_choice``: chooses the backend of scaled dot product attention
(``aten/src/ATen/native/transformers/sdp_utils_cpp.{h,cpp}``).

On the CPU it chooses the flash kernel if that is enabled and supports the inputs, otherwise the math backend.

NB: on CUDA, PyTorch chooses between several fused kernels. Here it is always the math backend, as long as any backend
is enabled. If none is left, the warnings give reasons for the flash kernel only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from dispatchviz.core.tensor.dtype import bfloat16, float16, float32, float64, type_meta_name
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread import warning
from dispatchviz.core.thread.context import context


class SDPBackend(Enum):
    """The backends of scaled dot product attention (``torch.nn.attention.SDPBackend``)."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


class SDPParams(NamedTuple):
    """The arguments on which the choice of a backend depends."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    dropout: float
    enable_gqa: bool


def fused_sdp_choice(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, enable_gqa: bool
) -> SDPBackend:
    """The backend. Raise RuntimeError if all are disabled or no enabled one supports the inputs."""
    params = SDPParams(query, key, value, attn_mask, dropout_p, enable_gqa)
    if query._device.type == "cpu":
        return _choice_cpp(params)
    if not (context.math_sdp or context.flash_sdp or context.mem_efficient_sdp or context.cudnn_sdp):
        _raise_all_disabled()
    return SDPBackend.MATH


def _choice_cpp(params: SDPParams) -> SDPBackend:
    """The backend (``_fused_sdp_choice_cpp``).

    Raise RuntimeError if none is available, with a warning that gives the reason.
    """
    if not (context.math_sdp or context.flash_sdp):
        _raise_all_disabled()
    unmet = next((constraint for constraint in CONSTRAINTS if not constraint.met(params)), None)
    if unmet is None:
        return SDPBackend.FLASH_ATTENTION
    if not context.math_sdp:
        _warn("Flash attention kernel not used because:", "sdp_utils_cpp.cpp:99")
        if text := unmet.text(params[:3]):
            _warn(text, unmet.location)
        raise RuntimeError("No available kernel.  Aborting execution.")
    return SDPBackend.MATH


def _raise_all_disabled() -> None:
    raise RuntimeError(
        "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
        "kernel and the fused kernels."
    )


def _warn(text: str, location: str) -> None:
    warning.warn(text, f"aten/src/ATen/native/transformers/{location}")


# -- conditions of the flash kernel ------------------------------------------------------------------------------------


def _flash_is_enabled(params: SDPParams) -> bool:
    return context.flash_sdp


def _no_dropout(params: SDPParams) -> bool:
    return not params.dropout > 0.0


def _four_dimensions(params: SDPParams) -> bool:
    return all(len(tensor._size) == 4 for tensor in params[:3])


def _one_batch_size(params: SDPParams) -> bool:
    return params.query._size[0] == params.key._size[0] == params.value._size[0]


def _groups_of_heads(params: SDPParams) -> bool:
    return not params.enable_gqa or params.key._size[1] == params.value._size[1]


def _groups_go_up(params: SDPParams) -> bool:
    return not params.enable_gqa or params.query._size[1] % params.key._size[1] == 0


def _one_count_of_heads(params: SDPParams) -> bool:
    """Return whether all have the same heads. One head of keys and values is broadcast."""
    heads, keys, values = (tensor._size[1] for tensor in params[:3])
    return params.enable_gqa or (keys == values and keys in (1, heads))


def _constant_mask(params: SDPParams) -> bool:
    mask = params.attn_mask
    return mask is None or not (mask._requires_grad or mask._grad_fn is not None)


def _mask_fits(params: SDPParams) -> bool:
    mask, (batch, heads, rows, _) = params.attn_mask, params.query._size
    if mask is None:
        return True
    wanted = {2: (rows, params.key._size[2]), 4: (batch, heads, rows, params.key._size[2])}.get(len(mask._size))
    return wanted is not None and all(size in (1, whole) for size, whole in zip(mask._size, wanted, strict=True))


def _one_width(params: SDPParams) -> bool:
    return params.query._size[3] == params.key._size[3] == params.value._size[3]


def _dense_rows(params: SDPParams) -> bool:
    return all(tensor._stride[-1] == 1 for tensor in params[:3])


def _floating(params: SDPParams) -> bool:
    return params.query._dtype in (float32, float64, bfloat16, float16)


class Constraint(NamedTuple):
    """One condition of the flash kernel."""

    met: Callable[[SDPParams], bool]
    location: str = ""
    """The place in PyTorch's sources that warns if the condition is not met."""
    text: Callable[[Sequence[Tensor]], str] = lambda _: ""
    """The text of the warning, made from queries, keys and values; empty if there is no warning."""


def _sizes(text: str, tensors: Sequence[Tensor]) -> str:
    return text.format(*(list(tensor._size) for tensor in tensors))


CONSTRAINTS = (
    Constraint(_flash_is_enabled),
    Constraint(_no_dropout, "sdp_utils_cpp.h:241", lambda _: "Both fused kernels do not support non-zero dropout."),
    Constraint(
        _four_dimensions,
        "sdp_utils_cpp.h:327",
        lambda tensors: (
            "All fused kernels requires query, key and value to be 4 dimensional, but got Query dim: {}, Key dim: {}, "
            "Value dim: {} instead.".format(*(len(tensor._size) for tensor in tensors))
        ),
    ),
    Constraint(
        _one_batch_size,
        "sdp_utils_cpp.h:417",
        lambda tensors: _sizes(
            "For dense inputs, both fused kernels require query, key and value to have the same batch_size. "
            "Query.sizes(): {}, Key.sizes(): {}, Value.sizes(): {} instead. To broadcast dense inputs, try using "
            "unsqueeze and expand_to before passing them into the kernel.",
            tensors,
        ),
    ),
    Constraint(
        _groups_of_heads,
        "sdp_utils_cpp.h:365",
        lambda tensors: _sizes(
            "Both fused kernels require key and value to have the same num_heads and batch_size but got: "
            "Key sizes: {1}, Value sizes: {2}, Query sizes: {0} instead.",
            tensors,
        ),
    ),
    Constraint(
        _groups_go_up,
        "sdp_utils_cpp.h:381",
        lambda tensors: (
            "The number of heads in key/value must divide number of heads in query.Got input Key sizes(): {1}, "
            "Value sizes(): {2}, Query sizes(): {0} instead.".format(*(tensor._size[1] for tensor in tensors))
        ),
    ),
    Constraint(
        _one_count_of_heads,
        "sdp_utils_cpp.h:437",
        lambda tensors: _sizes(
            "For dense input, both fused kernels require query, key and value to have the same num_heads. "
            "Query.sizes(): {}, Key sizes(): {}, Value sizes(): {} instead. To broadcast dense inputs, try using "
            "unsqueeze and expand_to before passing them into the kernel.",
            tensors,
        ),
    ),
    Constraint(_constant_mask),
    Constraint(
        _mask_fits,
        "sdp_utils_cpp.h:314",
        lambda _: (
            "Please use the following attn mask shapes: 2d - ({Q_seq_len, 1}  x {KV_seq_len, 1}); "
            "4d - ({Batch, 1} x {Num_heads, 1} x {Q_seq_len, 1}  x {KV_seq_len, 1})"
        ),
    ),
    Constraint(
        _one_width,
        "sdp_utils_cpp.cpp:21",
        lambda tensors: (
            "Flash attention requires q,k,v to have the same last dimension. Got Query.size(-1): {}, Key.size(-1): {}, "
            "Value.size(-1): {} instead.".format(*(tensor._size[-1] for tensor in tensors))
        ),
    ),
    Constraint(
        _dense_rows,
        "sdp_utils_cpp.h:546",
        lambda tensors: (
            "All fused kernels require the last dimension of the input to have stride 1. Got Query.stride(-1): {}, "
            "Key.stride(-1): {}, Value.stride(-1): {}".format(*(tensor._stride[-1] for tensor in tensors))
        ),
    ),
    Constraint(
        _floating,
        "sdp_utils_cpp.h:91",
        lambda tensors: (
            "Expected query, key and value to all be of dtype: {{Float, Double, BFloat16, Half}}. Got Query dtype: {}, "
            "Key dtype: {}, and Value dtype: {} instead.".format(*(type_meta_name(tensor._dtype) for tensor in tensors))
        ),
    ),
)
"""The conditions in the order in which they are checked. Only the first that is not met is reported."""
