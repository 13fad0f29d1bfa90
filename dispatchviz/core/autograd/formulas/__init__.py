"""The functions that formulas of derivatives.yaml call (``torch/csrc/autograd/FunctionsManual.cpp``), by subject;
found by listing this folder.
"""
