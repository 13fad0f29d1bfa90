"""PyTorch's own samples of its operators (``op_db``), run on both sides and compared.

Read in this order: ``values`` (the same tensors on both sides), ``functions`` (the matching functions), ``comparison``
(the comparison of results), ``checks`` (the calls), ``known`` (allowed differences, with reasons), ``report`` (counts).
``python -m tests.conformance.opinfo add mul`` prints the differences of some operators.
"""
