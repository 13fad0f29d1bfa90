"""``ufunc.at`` for NumPy and CuPy arrays: unbuffered accumulation, in which a repeated index counts each time.

NumPy supports this for every ufunc, CuPy only where a GPU has atomic operations. For CuPy, the host computes the rest.
"""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.device.array_library import module_of, on_host
from dispatchviz.core.tensor.tensor import Size

ON_GPU = {"add": ("int32", "uint32", "uint64", "float16", "float32", "float64")}
"""The dtypes that CuPy's ``ufunc.at`` supports, by ufunc."""


def ufunc_at(name: str, array: Any, indices: Any, values: Any) -> None:
    """Apply ``array[index] = name(array[index], value)`` for one index after another.

    ``name`` is a NumPy binary ufunc.
    """
    xp = module_of(array)
    if xp is numpy or array.dtype.name in ON_GPU.get(name, ()):
        getattr(xp, name).at(array, indices, values)
        return
    host = on_host(array)
    getattr(numpy, name).at(host, _to_numpy(indices), _to_numpy(values))
    array[...] = xp.asarray(host)


def add_at(array: Any, indices: Any, values: Any) -> None:
    """Apply ``array[index] += value`` for one index after another."""
    ufunc_at("add", array, indices, values)


def index_grid(size: Size, dim: int, indices: Any) -> tuple[Any, ...]:
    """An index of the whole array, one array per dimension, with the given indices along ``dim``; they broadcast."""
    grid = list(module_of(indices).ogrid[tuple(slice(0, length) for length in size)])
    grid[dim] = indices
    return tuple(grid)


def _to_numpy(value: Any) -> Any:
    """An index, or values, as NumPy arrays."""
    if isinstance(value, tuple):
        return tuple(_to_numpy(part) for part in value)
    return on_host(value) if hasattr(value, "get") else value
