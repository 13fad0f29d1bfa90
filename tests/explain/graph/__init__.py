"""Tests of the backward graph as a value: the facts about its Nodes, their origins and their changes."""
