"""The way from Python arguments to an operator call (``torch/csrc/utils/python_arg_parser.cpp`` and the code that is
generated around it).
"""
