"""Running a program, recorded: its lines and names, its process, and how it ends."""
