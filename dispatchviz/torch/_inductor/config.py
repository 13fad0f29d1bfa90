"""``torch._inductor.config``: options of a compiler. NB: what is set here changes nothing, and other defaults are not
here."""

from types import SimpleNamespace

triton = SimpleNamespace()
"""Options of Triton's kernels."""
