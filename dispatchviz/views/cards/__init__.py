"""Cards of the commands as text: one module per command that answers about operators and keys."""
