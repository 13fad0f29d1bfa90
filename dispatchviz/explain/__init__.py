"""From events to words: what a step means, why it happens, PyTorch's own name and file for it.

Everything here is a function of a ``Trace``; nothing draws (``render``, ``tui``) and nothing runs programs (``core``).
"""
