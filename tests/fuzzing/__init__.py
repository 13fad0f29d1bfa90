"""Trace files with every kind of damage that we could think of, and everything that a reader can do with one.

python -m tests.fuzzing                      100,000 files; counts tracebacks, hangs and memory
python -m tests.fuzzing --case 4711          one file, with its traceback
"""
