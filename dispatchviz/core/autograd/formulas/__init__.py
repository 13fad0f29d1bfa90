"""The functions that formulas of derivatives.yaml call (``torch/csrc/autograd/FunctionsManual.cpp``), by subject. They
are found by listing this folder. A module is executed when one of its functions is first looked up.
"""

from dispatchviz.foundation.lazy_modules import install_all_in

install_all_in(__name__)
