"""Keys above the backends with a fallback or kernels of their own, each in a folder.

A module is executed when one of its names is first looked up.
"""

from dispatchviz.foundation.lazy_modules import install_all_in

install_all_in(__name__)
