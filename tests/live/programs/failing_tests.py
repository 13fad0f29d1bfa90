"""Tests that fail, which pytest runs in the program."""

import os
import tempfile

import pytest

TESTS = """
import torch

def test_assertion():
    assert [1, 2] == [1, 3]

def test_error_of_a_kernel():
    torch.ones(2) @ torch.ones(3)

def test_error_of_a_module():
    torch.nn.Linear(2, 2)(torch.ones(3))

def test_error_of_a_hook():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda gradient: gradient.no_such_name)
    (x * 2).sum().backward()
"""

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("test_it.py", "w") as file:
        file.write(TESTS)
    for style in ("long", "short"):
        print(pytest.main(["-qq", "-p", "no:cacheprovider", f"--tb={style}", "test_it.py"]))
    os.chdir("/")
