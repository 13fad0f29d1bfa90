"""``torch._inductor.config``: options of a compiler. NB: settings have no effect, and the other defaults are
missing.
"""

from types import SimpleNamespace

triton = SimpleNamespace()
"""The options of Triton kernels."""
