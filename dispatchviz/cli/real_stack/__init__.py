"""The real C++ stack of one call: gdb runs a program on an installed release build and stops in it."""
