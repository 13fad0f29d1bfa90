"""Keys with a backend fallback or kernels of their own above the backends, a folder each.

A module is executed when one of its names is first looked up.
"""

from dispatchviz.foundation.lazy_modules import install_all_in

install_all_in(__name__)
