"""Autograd: Nodes and edges, saved variables, views, and the engine that runs the backward pass.

This package mirrors ``torch/csrc/autograd``. The formulas are not here: ``native/derivatives.yaml`` has them, and
``generated/nodes.py`` is written from it.
"""
