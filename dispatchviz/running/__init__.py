"""Running and recording a program: its lines and names, its process, and how it ends."""
