"""A trace and what is explained of it, rendered: logs, cards of commands, the backward graph."""
