"""Hooks on tensors and Nodes."""
