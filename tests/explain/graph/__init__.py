"""The backward graph as a value: what belongs to its Nodes, what comes from where, what has changed."""
