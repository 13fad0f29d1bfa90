"""PyTorch's own samples of its operators (``op_db``) run on both sides and compared.

Read in this order: ``values`` (the same tensors on both sides), ``functions`` (which function here is which there),
``comparison`` (what is compared of results), ``checks`` (what is called), ``known`` (what may differ, with reasons),
``report`` (counts). ``python -m tests.conformance.opinfo add mul`` prints the differences of some operators.
"""
