"""Tests of vmap, grad and the other transforms as layers of dispatch."""
