"""``torch.hub``: the folder of downloaded models (``torch/hub.py``). NB: the model downloads nothing."""

from __future__ import annotations

import os
import re
from typing import Any, NoReturn
from urllib.parse import urlparse as urlparse

from dispatchviz.torch.missing_names import stub as _stub

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
"""The hash in a file's name."""

_hub_dir: str | None = None


def get_dir() -> str:
    """Return the folder that ``set_dir``, ``TORCH_HOME`` or ``XDG_CACHE_HOME`` names."""
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def _get_torch_home() -> str:
    cache = os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(os.getenv("TORCH_HOME", cache))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


@_stub
def load(repo_or_dir: Any, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    raise NotImplementedError("dispatchviz's model of PyTorch downloads nothing, so torch.hub.load has no models")


@_stub
def load_state_dict_from_url(url: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    raise NotImplementedError(f"dispatchviz's model of PyTorch downloads nothing, so it cannot load {url}")


@_stub
def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> NoReturn:
    """Raise NotImplementedError."""
    load_state_dict_from_url(url)
