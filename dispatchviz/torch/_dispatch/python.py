"""``enable_python_dispatcher`` and the like (``torch/_dispatch/python.py``)."""

from __future__ import annotations

from dispatchviz.torch.python_keys import _DisablePythonDispatcher, _EnablePreDispatch, _EnablePythonDispatcher

enable_python_dispatcher = _EnablePythonDispatcher
no_python_dispatcher = _DisablePythonDispatcher
enable_pre_dispatch = _EnablePreDispatch
