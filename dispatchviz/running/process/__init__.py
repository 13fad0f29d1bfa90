"""A program's process: how it ends, what it writes, its signals and its children, as Python does it on its own."""
