"""The folder on the path of a program's child processes, from which Python itself loads ``sitecustomize``."""
