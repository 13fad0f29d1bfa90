"""The engine: the ready queue, the graph task, buffers, and the entry points ``backward`` and ``grad``."""
