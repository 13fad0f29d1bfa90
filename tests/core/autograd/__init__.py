"""Tests of Nodes, hooks, views and the engine."""
