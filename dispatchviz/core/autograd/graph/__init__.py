"""Nodes, edges, saved variables: what a forward pass leaves behind."""
