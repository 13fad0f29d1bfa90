"""What PyTorch generates when it is built, written by ``core/codegen`` (``make generate``); never edited by hand.

A module is executed when one of its names is first looked up.
"""

from dispatchviz.foundation.lazy_modules import install_all_in

install_all_in(__name__, folders=False)
