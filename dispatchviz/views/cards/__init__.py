"""Cards of the commands as text, with one module for each command that answers questions about operators and keys."""
