"""How a run of a program is watched, on a real torch or a modelled one."""
