"""Tests of the answers about tensors and Nodes, and of the way from forward to backward."""
