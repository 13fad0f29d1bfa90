"""The windows of ``torch.signal`` (``torch/signal/windows/windows.py``), with ``M`` points each.

``sym``: True for a symmetric window for filters. False for a periodic one for spectra, which is the window of one more
point without its last. All take ``dtype`` (float32 or float64), ``layout``, ``device`` and ``requires_grad``, and raise
ValueError for a negative length, a layout other than strided, or another dtype.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any, TypedDict, Unpack

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch


class Options(TypedDict, total=False):
    """The options of a factory function."""

    dtype: Any
    layout: Any
    device: Any
    requires_grad: bool


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **given: Unpack[Options]
) -> Tensor:
    """Return e to the -abs(k - center) / tau. Raise ValueError if tau is not positive, or a symmetric window has a
    center.
    """
    options = _checked("exponential", M, given)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return _empty(options)
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    return torch.exp(-torch.abs(_samples(M, -center, 1 / tau, options)))  # type: ignore[no-any-return]


def cosine(M: int, *, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return half a wave of the sine."""
    options = _checked("cosine", M, given)
    if M == 0:
        return _empty(options)
    return torch.sin(_samples(M, 0.5, torch.pi / (M + 1 if not sym and M > 1 else M), options))  # type: ignore[no-any-return]


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return a Gaussian with a standard deviation. Raise ValueError unless it is positive."""
    options = _checked("gaussian", M, given)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return _empty(options)
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    return torch.exp(-(_samples(M, start, 1 / (std * sqrt(2)), options) ** 2))  # type: ignore[no-any-return]


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return a window of the Bessel function I0. Raise ValueError if beta is negative."""
    options = _checked("kaiser", M, given)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return _short(M, options)
    edge = torch.tensor(beta, dtype=options["dtype"], device=options["device"])
    start = -edge
    step = 2.0 * edge / (M if not sym else M - 1)
    end = torch.minimum(edge, start + (M - 1) * step)
    k = torch.linspace(start=start, end=end, steps=M, **options)
    return torch.i0(torch.sqrt(edge * edge - torch.pow(k, 2))) / torch.i0(edge)  # type: ignore[no-any-return]


def hamming(M: int, *, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return a cosine raised by 0.54."""
    _only_options("hamming", given)
    return general_hamming(M, sym=sym, **given)


def hann(M: int, *, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return a cosine raised by 0.5."""
    _only_options("hann", given)
    return general_hamming(M, alpha=0.5, sym=sym, **given)


def blackman(M: int, *, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return a sum of a constant and two cosines."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **_checked("blackman", M, given))


def bartlett(M: int, *, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return a triangle."""
    options = _checked("bartlett", M, given)
    if M < 2:
        return _short(M, options)
    step = 2 / (M if not sym else M - 1)
    k = torch.linspace(start=-1, end=-1 + (M - 1) * step, steps=M, **options)
    return 1 - torch.abs(k)  # type: ignore[no-any-return]


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return cosines weighted by ``a`` with alternating signs. Raise TypeError for anything but an iterable, ValueError
    if it is empty.
    """
    options = _checked("general_cosine", M, given)
    if M < 2:
        return _short(M, options)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    step = 2 * torch.pi / (M if not sym else M - 1)
    k = torch.linspace(start=0, end=(M - 1) * step, steps=M, **options)
    dtype, device, requires_grad = options["dtype"], options["device"], options["requires_grad"]
    signed = [(-1) ** i * weight for i, weight in enumerate(a)]
    weights = torch.tensor(signed, device=device, dtype=dtype, requires_grad=requires_grad)
    i = torch.arange(weights.shape[0], dtype=weights.dtype, device=weights.device, requires_grad=weights.requires_grad)
    return (weights.unsqueeze(-1) * torch.cos(i.unsqueeze(-1) * k)).sum(0)  # type: ignore[no-any-return]


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return a cosine raised by alpha."""
    _only_options("general_hamming", given)
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **given)


def nuttall(M: int, *, sym: bool = True, **given: Unpack[Options]) -> Tensor:
    """Return a sum of a constant and three cosines."""
    _only_options("nuttall", given)
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **given)


# -- shared ------------------------------------------------------------------------------------------------------------


def _only_options(name: str, given: Options) -> None:
    for word in given:
        if word not in Options.__annotations__:
            raise TypeError(f"{name}() got an unexpected keyword argument '{word}'")


def _checked(name: str, M: int, given: Options) -> Options:
    """Return all options, with defaults (``_window_function_checks``)."""
    _only_options(name, given)
    defaults: Options = {"dtype": None, "layout": torch.strided, "device": None, "requires_grad": False}
    options: Options = {**defaults, **given}
    if options["dtype"] is None:
        options["dtype"] = torch.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if options["layout"] is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {options['layout']}")
    if options["dtype"] not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {options['dtype']}")
    return options


def _empty(options: Options) -> Tensor:
    return torch.empty((0,), **options)  # type: ignore[no-any-return]


def _short(M: int, options: Options) -> Tensor:
    """Return a window of no point, or of one."""
    return torch.ones((1,), **options) if M else _empty(options)


def _samples(M: int, start: float, step: float, options: Options) -> Any:
    return torch.linspace(start=start * step, end=(start + (M - 1)) * step, steps=M, **options)
