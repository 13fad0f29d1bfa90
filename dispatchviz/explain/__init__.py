"""From events to sentences: what a step means, why it happens, and PyTorch's own name and file for it.

Everything here is a function of a ``Trace``; nothing draws (``outputs``, ``tui``) and nothing runs programs (``core``).
"""
