"""The screen with a lane for each process of a program."""
