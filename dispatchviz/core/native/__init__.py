"""Kernels by subject, and the yaml files that name their operators (``aten/src/ATen/native``).

A module is executed when one of its kernels is first looked up.
"""

from dispatchviz.foundation.lazy_modules import install_all_in

install_all_in(__name__)
