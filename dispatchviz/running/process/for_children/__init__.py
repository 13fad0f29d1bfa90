"""The folder that is put on the path of a program's child processes; Python itself loads ``sitecustomize`` from it."""
