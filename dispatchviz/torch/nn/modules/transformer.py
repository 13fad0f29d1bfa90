"""``Transformer`` and its layers (``torch/nn/modules/transformer.py``)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.core.thread.warning import warn_python_once
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn.init import xavier_uniform_
from dispatchviz.torch.nn.modules.attention import MultiheadAttention, blocked_by_autograd
from dispatchviz.torch.nn.modules.container import ModuleList
from dispatchviz.torch.nn.modules.dropout import Dropout
from dispatchviz.torch.nn.modules.linear import Linear
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.modules.normalization import LayerNorm


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
    """Return a mask with minus infinity above the diagonal."""
    return torch.triu(torch.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation: str) -> Callable[..., Any]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu  # type: ignore[no-any-return]
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _get_seq_len(src: Any, batch_first: bool) -> int:
    size = src.size()
    return int(size[0] if len(size) == 2 else size[1 if batch_first else 0])


def _detect_is_causal_mask(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Return the given ``is_causal``, or whether the mask is the causal one."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = _generate_square_subsequent_mask(mask.size(-2) if size is None else size, mask.device, mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


class _Layer(Module):
    """Base class with the feed-forward half, and the construction of both kinds of layers."""

    def _make_rest(
        self, d_model: int, dim_feedforward: int, dropout: float, eps: float, norm_first: bool, count: int, options: Any
    ) -> None:
        bias = {"bias": options["bias"]}
        factory_kwargs = {"device": options["device"], "dtype": options["dtype"]}
        self.linear1 = Linear(d_model, dim_feedforward, **bias, **factory_kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **bias, **factory_kwargs)
        self.norm_first = norm_first
        for number in range(1, count + 1):
            setattr(self, f"norm{number}", LayerNorm(d_model, eps=eps, **bias, **factory_kwargs))
        for number in range(1, count + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))

    def _attend(self, attention: Module, drop: Module, x: Any, mem: Any, mask: Any, padding: Any, causal: bool) -> Any:
        options = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": causal, "need_weights": False}
        return drop(attention(x, mem, mem, **options)[0])

    def _feed(self, drop: Module, x: Any) -> Any:
        return drop(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Self attention and a feed-forward network, each added to its input and normalized.

    Inference on batches runs one operator, ``_transformer_encoder_layer_fwd``.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: Any = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **options)
        self._make_rest(d_model, dim_feedforward, dropout, layer_norm_eps, norm_first, 2, options)
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        self.activation_relu_or_gelu = 0
        if activation is F.relu or isinstance(activation, torch.nn.ReLU):
            self.activation_relu_or_gelu = 1
        elif activation is F.gelu or isinstance(activation, torch.nn.GELU):
            self.activation_relu_or_gelu = 2
        self.activation = activation

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        """Input and output: (length, batch, d_model), batch first, or unbatched."""
        other = F._none_or_dtype(src_mask)
        padding = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask", other, "src_mask", src.dtype)
        mask = F._canonical_mask(src_mask, "src_mask", None, "", src.dtype, check_other=False)
        if self._takes_fast_path(src):
            return self._fast_path(src, mask, padding)
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self._attend(self.self_attn, self.dropout1, x, x, attn_mask, key_padding_mask, is_causal)

    def _ff_block(self, x: Any) -> Any:
        return self._feed(self.dropout2, x)

    # -- inference in one operator ------------------------------------------------------------------------------------

    def _takes_fast_path(self, src: Any) -> bool:
        """Return whether ``why_not_sparsity_fast_path`` is empty."""
        attention = self.self_attn
        return (
            torch.backends.mha.get_fastpath_enabled()
            and src.dim() == 3
            and not self.training
            and attention.batch_first
            and attention.in_proj_bias is not None
            and attention._qkv_same_embed_dim
            and bool(self.activation_relu_or_gelu)
            and self.norm1.eps == self.norm2.eps
            and attention.num_heads % 2 == 0
            and not torch.is_autocast_enabled()
            and not any(module._forward_hooks or module._forward_pre_hooks for module in self.modules())
            and not blocked_by_autograd((src, *self._tensors()))
        )

    def _tensors(self) -> tuple[Any, ...]:
        attention = self.self_attn
        owners = (attention.out_proj, self.norm1, self.norm2, self.linear1, self.linear2)
        pairs = [tensor for owner in owners for tensor in (owner.weight, owner.bias)]
        return (attention.in_proj_weight, attention.in_proj_bias, *pairs)

    def _fast_path(self, src: Any, mask: Any, padding: Any) -> Any:
        merged, kind = self.self_attn.merge_masks(mask, padding, src)
        tensors = self._tensors()
        flags = (self.activation_relu_or_gelu == 2, self.norm_first, self.norm1.eps)
        sizes = (self.self_attn.embed_dim, self.self_attn.num_heads)
        return torch._transformer_encoder_layer_fwd(src, *sizes, *tensors[:4], *flags, *tensors[4:], merged, kind)


class TransformerDecoderLayer(_Layer):
    """Self attention, attention to the encoder's output, a feed-forward network."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: Any = {"bias": bias, "device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, **options}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self._make_rest(d_model, dim_feedforward, dropout, layer_norm_eps, norm_first, 3, options)
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """Target and memory: (length, batch, d_model), batch first, or unbatched."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = tgt + self._sa_block(self.norm1(tgt), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(tgt + self._sa_block(tgt, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self._attend(self.self_attn, self.dropout1, x, x, attn_mask, key_padding_mask, is_causal)

    def _mha_block(self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self._attend(self.multihead_attn, self.dropout2, x, mem, attn_mask, key_padding_mask, is_causal)

    def _ff_block(self, x: Any) -> Any:
        return self._feed(self.dropout3, x)


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other.

    NB: in inference, PyTorch converts padded batches to nested tensors, which are not in the model. Here the layers get
    the batch with its mask, and the padding is zero in the end, as in PyTorch.
    """

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _why_not_nested(encoder_layer)
        if enable_nested_tensor and reason:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
            )
            self.use_nested_tensor = False

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        """Input and output: (length, batch, d_model), batch first, or unbatched."""
        other = F._none_or_dtype(mask)
        padding = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask", other, "mask", src.dtype)
        mask = F._canonical_mask(mask, "mask", None, "", src.dtype, check_other=False)
        output = src
        nested = self._becomes_nested(src, padding, mask)
        if nested:
            kept = padding.logical_not()
            warn_python_once("nested tensor", _PROTOTYPE, "aten/src/ATen/NestedTensorImpl.cpp:177")
        causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if nested:
            output = torch.where(kept.unsqueeze(-1), output, 0.0)
        return output if self.norm is None else self.norm(output)

    def _becomes_nested(self, src: Any, padding: Any, mask: Any) -> bool:
        """Return whether PyTorch removes the padding from the batch, and restores it in the end."""
        first = self.layers[0]
        if not (torch.backends.mha.get_fastpath_enabled() and self.use_nested_tensor) or first.training:
            return False
        if src.dim() != 3 or padding is None:
            return False
        if self.mask_check and not torch._nested_tensor_from_mask_left_aligned(src, padding.logical_not()):
            return False
        if mask is not None or torch.is_autocast_enabled():
            return False
        return not blocked_by_autograd((src, *first._tensors()))


_PROTOTYPE = (
    "The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend "
    "specifying layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has "
    "better operator coverage, and works with torch.compile."
)


def _why_not_nested(layer: Any) -> str:
    """Return the reason that the layers cannot take nested tensors, or an empty string."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, "encoder_layer.norm_first was True"),
        (
            not attention.batch_first,
            "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, "encoder_layer.self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "encoder_layer.self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "encoder_layer.activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "encoder_layer.self_attn.num_heads is odd"),
    )
    return next((reason for holds, reason in reasons if holds), "")


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, *masks: Any, tgt_is_causal: bool | None = None, **more: Any
    ) -> Any:
        """Target and memory: as for a decoder layer."""
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask, *masks, tgt_is_causal=causal, **more)
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder. Raise RuntimeError for inputs of other widths or batches."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        options: Any = {"bias": bias, "device": device, "dtype": dtype}
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*shape, **options),
            num_encoder_layers,
            LayerNorm(d_model, eps=layer_norm_eps, **options),
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*shape, **options),
            num_decoder_layers,
            LayerNorm(d_model, eps=layer_norm_eps, **options),
        )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Source and target: (length, batch, d_model), batch first, or unbatched."""
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """Return a mask with minus infinity above the diagonal."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)
