"""The process of a program: how it ends, its output, its signals and its children, all as under Python itself."""
