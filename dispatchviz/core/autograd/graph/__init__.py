"""Nodes, edges, saved variables: the graph that a forward pass records."""
