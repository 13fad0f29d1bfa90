"""``torch.save`` and ``torch.load`` in PyTorch's zip format (``torch/serialization.py``). PyTorch reads the files that
the model writes, and the model reads PyTorch's.

A file is a zip of ``data.pkl``, a pickle in which storages are persistent ids ("storage", class, key, device, number of
elements), and ``data/<key>`` with their bytes.

NB: the format from before PyTorch 1.6, memory-mapped files and packages of other devices are not part of the model.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dispatchviz.core.device.device import Device
from dispatchviz.core.tensor.tensor import Storage
from dispatchviz.torch.pickling import Pickler, allowed_global, is_torch, named_global
from dispatchviz.torch.storage import TypedStorage, UntypedStorage

if TYPE_CHECKING:
    import zipfile

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_DATE = (1980, 1, 1, 0, 0, 0)

# -- saving ------------------------------------------------------------------------------------------------------------


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file. Raise AttributeError for anything but a file."""
    if not (isinstance(f, (str, os.PathLike)) or hasattr(f, "write")):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    import zipfile

    text = io.BytesIO()
    pickler = Pickler(text, pickle_protocol)
    pickler.dump(obj)
    folder = os.path.splitext(os.path.basename(f))[0] if isinstance(f, (str, os.PathLike)) else "archive"
    records: dict[str, bytes] = {"data.pkl": text.getvalue(), ".format_version": b"1", ".storage_alignment": b"64"}
    records["byteorder"] = b"little"
    records |= {f"data/{key}": content for key, content in pickler.contents()}
    records["version"] = b"3\n"
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as file:
        for name, content in records.items():
            file.writestr(zipfile.ZipInfo(f"{folder}/{name}", _DATE), content)


# -- loading -----------------------------------------------------------------------------------------------------------


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that ``save`` wrote; ``map_location`` remaps devices.

    Raise UnpicklingError for anything but tensors and plain containers, unless ``weights_only`` is False.
    """
    only = pickle_module is None if weights_only is None else weights_only
    if only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    source = open(f, "rb") if isinstance(f, (str, os.PathLike)) else f  # noqa: SIM115
    try:
        return _read(source, map_location, only)
    finally:
        if source is not f:
            source.close()


def _read(source: Any, map_location: Any, weights_only: bool) -> Any:
    import zipfile

    content = source.read()
    if not content:
        raise EOFError
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise NotImplementedError("dispatchviz's model of PyTorch reads only zip files, the format since PyTorch 1.6")
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        pickled = next(name for name in file.namelist() if name.endswith("/data.pkl") or name == "data.pkl")
        unpickler = _Unpickler(file, pickled.removesuffix("data.pkl"), map_location, weights_only)
        try:
            return unpickler.load()
        except pickle.UnpicklingError as error:
            raise (pickle.UnpicklingError(_REFUSED.format(error)) if weights_only else error) from None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: zipfile.ZipFile, folder: str, map_location: Any, weights_only: bool) -> None:
        super().__init__(io.BytesIO(file.read(f"{folder}data.pkl")))
        self._file, self._folder = file, folder
        self._map_location, self._weights_only = map_location, weights_only
        self._storages: dict[str, UntypedStorage] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Return the model's object for a global of the file."""
        if self._weights_only:
            return allowed_global(module, name, _safe)
        return named_global(module, name) if is_torch(module) else super().find_class(module, name)

    def persistent_load(self, saved_id: Any) -> TypedStorage:
        """Return a storage, which is created once for all tensors on it."""
        _, kind, key, location, count = saved_id
        if key not in self._storages:
            self._storages[key] = self._loaded(kind.dtype, key, location, count)
        return TypedStorage(self._storages[key], kind.dtype)

    def _loaded(self, dtype: Any, key: str, location: str, count: int) -> UntypedStorage:
        import numpy

        content = bytearray(self._file.read(f"{self._folder}data/{key}"))
        buffer = numpy.frombuffer(content, dtype.numpy, count)
        on_cpu = UntypedStorage(Storage(buffer), Device("cpu"))
        return UntypedStorage(on_cpu._storage, _restore_location(self._map_location, location, on_cpu))


def _restore_location(map_location: Any, location: str, storage: UntypedStorage) -> Device:
    """Return the device that a saved storage goes to."""
    if map_location is None:
        return Device(location)
    if isinstance(map_location, dict):
        return Device(map_location.get(location, location))
    if isinstance(map_location, (str, Device)):
        return Device(map_location) if isinstance(map_location, str) else map_location
    found = map_location(storage, location)
    return Device(location) if found is None else found.device


_REFUSED = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, "
    "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. \n"
    "\t(1) In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source.\n"
    "\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following error "
    "message.\n\tWeightsUnpickler error: {}\n\nCheck the documentation of torch.load to learn more about types "
    "accepted by default with weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)

# -- allowed globals ---------------------------------------------------------------------------------------------------

_safe: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow functions and classes in ``load`` with ``weights_only``."""
    _safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """Return the globals that the user has allowed."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget the globals that the user has allowed."""
    _safe.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow globals for a block."""
    before = list(_safe)
    _safe.extend(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before
