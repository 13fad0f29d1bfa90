"""The comparison of a call: its error, or the metadata and numbers of every tensor in the result."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from dispatchviz.core.tensor.conj_neg_bits import is_zerotensor
from dispatchviz.core.tensor.tensor import Tensor
from tests.conformance.opinfo.values import model_dtype, numbers


class Outcome(NamedTuple):
    """The result or the error of a call on one side."""

    result: Any
    error: BaseException | None


def outcome(call: Callable[[], Any]) -> Outcome:
    """Call without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Outcome(call(), None)
        except Exception as error:
            return Outcome(None, error)


class Tolerances(NamedTuple):
    """The tolerances of an OpInfo beyond PyTorch's own defaults, per dtype."""

    by_dtype: dict[torch.dtype, tuple[float, float]]
    """The absolute and the relative tolerance."""
    computed: torch.dtype | None = None
    """The dtype in which a result of another dtype was computed."""
    determined: tuple[Callable[[Any], Any], Callable[[Any], Any]] | None = None
    """Functions that select the comparable numbers of PyTorch's and of the model's result; all numbers if None."""

    def of(self, dtype: torch.dtype) -> tuple[float, float]:
        """Return the absolute and the relative tolerance."""
        known = [self._of(one) for one in (dtype, self.computed) if one is not None]
        return max(absolute for absolute, _ in known), max(relative for _, relative in known)

    def _of(self, dtype: torch.dtype) -> tuple[float, float]:
        relative, absolute = torch.testing._comparison.default_tolerances(dtype)
        wider = self.by_dtype.get(dtype, (0.0, 0.0))
        return max(absolute, wider[0]), max(relative, wider[1])


def tolerances(op: Any) -> Tolerances:
    """Return the tolerances of an OpInfo for the CPU."""
    found: dict[torch.dtype, tuple[float, float]] = {}
    for info in op.decorators or ():
        if getattr(info, "device_type", None) not in (None, "cpu"):
            continue
        for decorator in getattr(info, "decorators", (info,)):
            for dtype, allowed in getattr(decorator, "d", {}).items():
                absolute, relative = allowed if isinstance(allowed, tuple) else (allowed, 0.0)
                old = found.get(dtype, (0.0, 0.0))
                found[dtype] = max(old[0], absolute), max(old[1], relative)
    return Tolerances(found)


def difference(real: Outcome, model: Outcome, given: Sequence[list[Any]], allowed: Tolerances | None) -> str:
    """Return the first difference, or an empty string; ``given`` are the tensors passed on each side.

    Without tolerances numbers are not compared.
    """
    if real.error is not None or model.error is not None:
        return _error_difference(real, model)
    if allowed is not None and allowed.determined is not None:
        return _determined_difference(real.result, model.result, given, allowed)
    found = _result_difference(real.result, model.result, given, allowed, "result")
    for i, pair in enumerate(zip(*given, strict=True)):
        found = found or _tensor_difference(*pair, ([], []), allowed, f"argument {i} afterwards")
    return found


def _determined_difference(real: Any, model: Any, given: Sequence[list[Any]], allowed: Tolerances) -> str:
    """Compare all metadata of the results, but only some of their numbers."""
    assert allowed.determined is not None
    parts = [of(result) for of, result in zip(allowed.determined, (real, model), strict=True)]
    found = _result_difference(real, model, given, None, "result")
    found = found or _result_difference(parts[0], parts[1], ([], []), allowed, "what is determined of the result")
    for i, pair in enumerate(zip(*given, strict=True)):
        compared = None if _position(pair[0], list(real)) is not None else allowed
        found = found or _tensor_difference(*pair, ([], []), compared, f"argument {i} afterwards")
    return found


def _error_difference(real: Outcome, model: Outcome) -> str:
    texts = [_error_text(side.error) for side in (real, model)]
    return "" if texts[0] == texts[1] else f"error: PyTorch {texts[0]} | here {texts[1]}"


def _error_text(error: BaseException | None) -> str:
    if error is None:
        return "none"
    return f"{type(error).__name__}: {str(error).split(chr(10) + 'Exception raised from')[0]}"


def _result_difference(real: Any, model: Any, given: Any, allowed: Tolerances | None, where: str) -> str:
    if isinstance(real, torch.Tensor) and isinstance(model, Tensor):
        return _tensor_difference(real, model, given, allowed, where)
    if isinstance(real, (list, tuple)) and isinstance(model, (list, tuple)):
        kinds = [f"{type(part).__name__} of {len(part)}" for part in (real, model)]
        if kinds[0] != kinds[1]:
            return f"{where}: PyTorch {kinds[0]} | here {kinds[1]}"
        for i, parts in enumerate(zip(real, model, strict=True)):
            found = _result_difference(*parts, given, allowed, f"{where}[{i}]")
            if found:
                return found
        return ""
    if isinstance(real, torch.dtype):
        return "" if model is model_dtype(real) else f"{where}: PyTorch {real} | here {model}"
    same = type(real) is type(model) and (real == model or allowed is None or _close_numbers(real, model, allowed))
    return "" if same else f"{where}: PyTorch {real!r:.80} | here {model!r:.80}"


def _close_numbers(real: Any, model: Any, allowed: Tolerances) -> bool:
    if not isinstance(real, (float, complex)):
        return False
    dtype = torch.float32 if isinstance(real, float) else torch.complex64
    absolute, relative = allowed.of(dtype)
    return _close(torch.tensor(real), torch.tensor(model), absolute, relative)


def _tensor_difference(real: torch.Tensor, model: Tensor, given: Any, allowed: Tolerances | None, where: str) -> str:
    facts = _facts(real, model, given)
    for name, (there, here) in facts.items():
        if there != here:
            return f"{where}: {name}: PyTorch {there} | here {here}"
    if allowed is None:
        return ""
    there, here = numbers(real), numbers(model)
    absolute, relative = allowed.of(real.dtype)
    if torch.equal(there, here) or _close(there, here, absolute, relative):
        return ""
    return f"{where}: numbers of {real.dtype}: PyTorch {_first(there, here)}"


def _close(there: torch.Tensor, here: torch.Tensor, absolute: float, relative: float) -> bool:
    try:
        torch.testing.assert_close(here, there, rtol=relative, atol=absolute, equal_nan=True)
    except AssertionError:
        return False
    return True


def _first(there: torch.Tensor, here: torch.Tensor) -> str:
    """Return the two numbers that are furthest apart."""
    flat = there.reshape(-1), here.reshape(-1)
    wide = [part.to(torch.complex128) for part in flat]
    apart = (wide[0] - wide[1]).abs().nan_to_num(nan=-1.0)
    apart[wide[0].isnan() != wide[1].isnan()] = float("inf")
    at = int(apart.argmax())
    return f"{flat[0][at].item()} | here {flat[1][at].item()}"


def _facts(real: torch.Tensor, model: Tensor, given: Any) -> dict[str, tuple[Any, Any]]:
    """Return the metadata of a tensor on both sides."""
    side: Any = model
    return {
        "dtype": (str(real.dtype), str(side.dtype)),
        "shape": (tuple(real.shape), tuple(side.shape)),
        "strides": (tuple(real.stride()), tuple(side.stride())),
        "offset": (real.storage_offset(), side.storage_offset()),
        "conjugate bit": (real.is_conj(), side.is_conj()),
        "negative bit": (real.is_neg(), side.is_neg()),
        "zero tensor": (torch._is_zerotensor(real), is_zerotensor(model)),
        "requires_grad": (real.requires_grad, side.requires_grad),
        "grad_fn": (_node(real), _node(side)),
        "is a leaf": (real.is_leaf, side.is_leaf),
        "is argument": (_position(real, given[0]), _position(side, given[1])),
        "has memory of argument": _sharing(real, model, given),
        "is a view": (real._is_view(), side._is_view()),
        "base": (_base(real, given[0]), _base(side, given[1])),
    }


def _node(tensor: Any) -> str | None:
    return None if tensor.grad_fn is None else tensor.grad_fn.name()  # type: ignore[no-any-return]


def _position(tensor: Any, given: list[Any]) -> int | None:
    return next((i for i, one in enumerate(given) if one is tensor), None)


def _base(tensor: Any, given: list[Any]) -> Any:
    return _position(tensor._base, given) if tensor._base is not None else None


def _sharing(real: torch.Tensor, model: Tensor, given: Any) -> tuple[list[int], list[int]]:
    memory = real.untyped_storage()._cdata
    return (
        [i for i, one in enumerate(given[0]) if one.untyped_storage()._cdata == memory],
        [i for i, one in enumerate(given[1]) if one._storage is model._storage],
    )
