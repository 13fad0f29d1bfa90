"""Sentences for events: the meaning of a step, its reason, and PyTorch's own name and file for it.

Everything here is a function of a ``Trace``. Drawing is in ``outputs`` and ``tui``, and programs run in ``core``.
"""
