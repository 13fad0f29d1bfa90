"""``stft``, ``istft``: short-time Fourier transform and its inverse (``aten/src/ATen/native/SpectralOps.cpp``)."""

from __future__ import annotations

from dispatchviz.core.autograd.variables.legacy_type import legacy_type
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.fft.fft_arguments import BY_N, BY_NONE, BY_ROOT_N
from dispatchviz.core.native.sorting.quantile import is_scalar_tensor_true
from dispatchviz.core.tensor.dtype import float64
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.warning import warn_python_once

_SOURCE = "aten/src/ATen/native/SpectralOps.cpp"
_RECTANGULAR = (
    "To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
_ONE_SIDED = "Cannot have onesided output if window or input is complex"

# -- stft --------------------------------------------------------------------------------------------------------------


def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Tensor:
    """``stft`` of a signal that ``torch.stft`` has already padded if requested."""
    return ops.stft_center.call(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        False,
        "constant",
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


def stft_center(
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Tensor:
    """The spectra (batch, frequencies, frames).

    Raise RuntimeError, which quotes the whole call, for arguments that do not fit.
    """
    _check_window(self, window, center and align_to_window is not None)
    hop = n_fft >> 2 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = _is_complex(self, window, return_complex)
    call = (
        f"stft({_repr(self)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, window={_window(window)}, "
        f"normalized={int(normalized)}, onesided={_optional(onesided)}, return_complex={_optional(return_complex)}, "
        f"align_to_window={_optional(align_to_window)}) "
    )
    _check_signal(self, call)
    signal = ops.unsqueeze.call(self, 0) if len(self._size) == 1 else self
    if center:
        signal = _padded(signal, n_fft, pad_mode)
    _check_lengths(call, signal._size[1], n_fft, hop, length, window)
    frames = _frames(signal, n_fft, hop, length, bool(align_to_window) and not center, window)
    norm = BY_ROOT_N if normalized else BY_NONE
    last = (len(frames._size) - 1,)
    if not frames._dtype.is_complex:
        out = ops._fft_r2c.call(frames, last, norm, True if onesided is None else onesided)
    elif onesided:
        raise RuntimeError(_ONE_SIDED)
    else:
        out = ops._fft_c2c.call(frames, last, norm, True)
    ops.transpose_.call(out, 1, 2)
    if len(self._size) == 1:
        ops.squeeze__dim.call(out, 0)
    return out if is_complex else ops.view_as_real.call(out)


def _check_window(self: Tensor, window: Tensor | None, aligned: bool) -> None:
    if window is None:
        warn_python_once(
            "stft window",
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral "
            "leakage. Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce "
            f"spectral leakage.{_RECTANGULAR}",
            f"{_SOURCE}:835",
        )
    _check_same_device("stft", self, window)
    if aligned:
        raise RuntimeError("stft align_to_window should only be set when center = false.")


def _check_same_device(name: str, self: Tensor, window: Tensor | None) -> None:
    if window is not None and window._device != self._device:
        raise RuntimeError(
            f"{name} input and window must be on the same device but got self on {self._device} and window on "
            f"{window._device}"
        )


def _is_complex(self: Tensor, window: Tensor | None, wanted: bool | None) -> bool:
    """Return whether the result is complex. Raise RuntimeError if ``return_complex`` is not given for a real input."""
    if wanted or (wanted is None and (self._dtype.is_complex or (window is not None and window._dtype.is_complex))):
        return True
    if wanted is None:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    warn_python_once(
        "stft return_complex",
        "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors "
        "for all inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on "
        "the complex output to recover the old return format.",
        f"{_SOURCE}:874",
    )
    return False


def _check_signal(self: Tensor, call: str) -> None:
    if not self._dtype.can_require_grad:
        raise NotImplementedError(f"{call}: expected a tensor of floating point or complex values")
    if not 1 <= len(self._size) <= 2:
        raise RuntimeError(f"{call}: expected a 1D or 2D tensor")


def _check_lengths(call: str, points: int, n_fft: int, hop: int, length: int, window: Tensor | None) -> None:
    if not 0 < n_fft <= points:
        raise RuntimeError(f"{call}: expected 0 < n_fft < {points}, but got n_fft={length}")
    if hop <= 0:
        raise RuntimeError(f"{call}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and window._size != (length,):
        raise RuntimeError(
            f"{call}: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window._size)}"
        )


def _padded(signal: Tensor, n_fft: int, mode: str) -> Tensor:
    """The signal padded by half a window at both ends."""
    padded = ops.pad.call(ops.view.call(signal, (1, *signal._size)), (n_fft // 2, n_fft // 2), mode, None)
    return ops.view.call(padded, padded._size[1:])


def _frames(signal: Tensor, n_fft: int, hop: int, length: int, aligned: bool, window: Tensor | None) -> Tensor:
    """The frames (batch, frame, sample): views of the signal times the window, which is centered in ``n_fft``
    samples.
    """
    points, left = signal._size[1], (n_fft - length) // 2
    if length < n_fft:
        window = _centered(signal, n_fft, left, length, window)
    count = 1 + (points - (length if aligned else n_fft)) // hop
    if aligned:
        signal = ops.pad.call(signal, (left, left), "constant", None)
    row, step = signal._stride
    frames = ops.as_strided.call(signal, (signal._size[0], count, n_fft), (row, hop * step, step), None)
    return frames if window is None else ops.mul_Tensor.call(frames, window)


def _centered(signal: Tensor, n_fft: int, left: int, length: int, window: Tensor | None) -> Tensor:
    """The window, by default ones, padded with zeros to ``n_fft`` samples; ``left`` of them are in front."""
    like = signal if window is None else window
    whole = ops.zeros.call((n_fft,), like._dtype, "strided", like._device, False)
    middle = ops.narrow.call(whole, 0, left, length)
    if window is None:
        ops.fill__Scalar.call(middle, 1)
    else:
        ops.copy_.call(middle, window, False)
    return whole


def _repr(self: Tensor) -> str:
    return f"{legacy_type(self)}{list(self._size)}"


def _window(window: Tensor | None) -> str:
    return "None" if window is None else f"{legacy_type(window)}{{{list(window._size)}}}"


def _optional(number: int | bool | None) -> str:
    """A number as C++ prints it; a bool is printed as a number."""
    return "None" if number is None else str(int(number))


# -- istft -------------------------------------------------------------------------------------------------------------


def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Tensor:
    """The signal: overlapping frames are added up, then divided by the sum of the squared windows."""
    _check_inverse_window(self, window)
    hop = n_fft >> 2 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    call = (
        f"istft({_repr(self)}, n_fft={n_fft}, hop_length={hop}, win_length={width}, window={_window(window)}, "
        f"center={int(center)}, normalized={int(normalized)}, onesided={_optional(onesided)}, "
        f"length={_optional(length)}, return_complex={int(return_complex)}) "
    )
    real = ops.view_as_real.call(ops.resolve_conj.call(self))
    half = _check_spectrum(call, self, n_fft, onesided)
    _check_inverse_lengths(call, n_fft, hop, width, window)
    weights = _inverse_window(window, real, n_fft, width)
    spectra = real if len(real._size) == 4 else ops.unsqueeze.call(real, 0)
    norm = BY_ROOT_N if normalized else BY_N
    signals = _signals(_as_complex(ops.transpose_int.call(spectra, 1, 2)), n_fft, norm, half, window, return_complex)
    added, envelope = _overlap_add(signals, weights, n_fft, hop)
    start, end = _signal_range(added._size[1], n_fft, center, length)
    trimmed = ops.slice_Tensor.call(added, 1, start, end, 1)
    envelope = ops.slice_Tensor.call(envelope, 1, start, end, 1)
    _check_envelope(call, envelope)
    result = ops.div_Tensor.call(trimmed, envelope)
    if len(real._size) == 3:
        result = ops.squeeze_dim.call(result, 0)
    return _zero_padded(result, end - added._size[1])


def _check_inverse_window(self: Tensor, window: Tensor | None) -> None:
    if window is None:
        warn_python_once(
            "istft window",
            "A window was not provided. A rectangular window will be applied.Please provide the same window used by "
            f"stft to make the inversion lossless.{_RECTANGULAR}",
            f"{_SOURCE}:1035",
        )
    _check_same_device("istft", self, window)
    if not self._dtype.is_complex:
        raise TypeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )


def _check_spectrum(call: str, self: Tensor, n_fft: int, onesided: bool | None) -> bool:
    """Return whether the spectrum is one-sided. Dimensions include that of the real and imaginary parts."""
    rank = len(self._size) + 1
    if rank < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}], but got -3)")
    if not numel(self._size):
        raise RuntimeError(f"{call}: input tensor cannot be empty.")
    if rank > 4:
        raise RuntimeError(f"{call}: expected a tensor with 3 or 4 dimensions, but got {rank}")
    points = self._size[-2]
    half = points != n_fft if onesided is None else onesided
    if points != (n_fft // 2 + 1 if half else n_fft):
        wanted = "n_fft / 2 + 1 when onesided=True" if half else "n_fft when onesided=False"
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to match {wanted}, but "
            f"got {points}"
        )
    return half


def _check_inverse_lengths(call: str, n_fft: int, hop: int, width: int, window: Tensor | None) -> None:
    if not 0 < hop <= width:
        raise RuntimeError(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and window._size != (width,):
        raise RuntimeError(f"{call}: Invalid window shape. window has to be 1D and length of `win_length`")


def _inverse_window(window: Tensor | None, like: Tensor, n_fft: int, width: int) -> Tensor:
    """The window, by default ones, padded with zeros on both sides."""
    if window is None:
        window = ops.ones.call((width,), like._dtype, None, like._device, None)
    if width == n_fft:
        return window
    left = (n_fft - width) // 2
    return ops.constant_pad_nd.call(window, (left, n_fft - width - left), 0)


def _as_complex(pairs: Tensor) -> Tensor:
    """Pairs of real numbers as complex ones; a view if possible."""
    even = all(stride % 2 == 0 for stride in pairs._stride[:-1]) and not pairs._offset % 2
    if not even or pairs._stride[-1] != 1:
        pairs = ops.clone.call(pairs, "contiguous_format")
    return ops.view_as_complex.call(pairs)


def _signals(spectra: Tensor, n_fft: int, norm: int, half: bool, window: Tensor | None, return_complex: bool) -> Tensor:
    """The signals (channel, frame, sample) of the spectra."""
    if return_complex:
        if half:
            raise RuntimeError(_ONE_SIDED)
        return ops._fft_c2c.call(spectra, (2,), norm, False)
    if window is not None and window._dtype.is_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not half:
        spectra = ops.slice_Tensor.call(spectra, -1, 0, n_fft // 2 + 1, 1)
    return ops._fft_c2r.call(spectra, (2,), norm, n_fft)


def _overlap_add(signals: Tensor, weights: Tensor, n_fft: int, hop: int) -> tuple[Tensor, Tensor]:
    """The overlapping frames times the window, added up, and the squared windows, added up likewise."""
    channels, frames, _ = signals._size
    points = n_fft + hop * (frames - 1)
    weighted = ops.mul_Tensor.call(signals, ops.view.call(weights, (1, 1, n_fft)))
    added = ops.unfold_backward.call(weighted, (channels, points), 1, n_fft, hop)
    squares = ops.expand.call(ops.pow_Tensor_Scalar.call(weights, 2), (1, frames, n_fft), False)
    return added, ops.unfold_backward.call(squares, (1, points), 1, n_fft, hop)


def _signal_range(points: int, n_fft: int, center: bool, length: int | None) -> tuple[int, int]:
    """The start and end of the signal without its padding; a negative end counts from the end."""
    start = n_fft // 2 if center else 0
    if length is not None:
        return start, start + length
    return start, -(n_fft // 2) if center else points


def _check_envelope(call: str, envelope: Tensor) -> None:
    too_small = ops.lt_Scalar.call(ops.min.call(ops.abs.call(envelope)), 1e-11)
    if is_scalar_tensor_true(too_small):
        ops.to_device.call(too_small, Device("cpu"), float64, False, False, None)  # PyTorch converts it to print it
        raise RuntimeError(f"{call}window overlap add min: 1\n[ {legacy_type(too_small)}{{}} ]")


def _zero_padded(signal: Tensor, missing: int) -> Tensor:
    """The signal padded with zeros at its end."""
    if missing <= 0:
        return signal
    warn_python_once(
        "istft length",
        "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
        "Please check your center and hop_length settings.",
        f"{_SOURCE}:1199",
    )
    return ops.constant_pad_nd.call(signal, (0, missing), 0)
