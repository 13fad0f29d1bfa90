"""Tests of ``mylib.py`` that fail. ``test_mistakes.py`` runs them and reads the reports."""

import torch
from mylib import OnToy

from dispatchviz.testing import assert_golden, assert_kernel_ran, graph, keys

ops = torch.ops.mylib


def test_kernel_for_the_wrong_key(dispatch_trace):
    ops.halve(torch.ones(3))


def test_no_formula(dispatch_trace):
    x = torch.ones(3, requires_grad=True)
    ops.double(x).sum().backward()

    assert graph(dispatch_trace) == "Sum → GeneratedBackwardFor_mylib_double_default → AccumulateGrad(x)"


def test_no_fallthrough(dispatch_trace):
    ops.count(torch.ones(3, requires_grad=True))

    assert keys(dispatch_trace, ops.count) == "CPU"


def test_kernel_of_another_key(dispatch_trace):
    ops.shift(OnToy(torch.ones(3)), 1.0)

    assert_kernel_ran(dispatch_trace, "shift_toy", under="PrivateUse1")


def test_changed_log(dispatch_trace):
    x = torch.ones(3, requires_grad=True)
    ops.double(x).sum().backward()

    assert_golden(dispatch_trace, "double.log", level="calls")


def test_kernel_writes_to_its_input(dispatch_trace):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    ops.twice(y)
    y.sum().backward()
