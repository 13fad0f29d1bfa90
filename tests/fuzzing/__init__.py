"""Trace files that are damaged in every way we could think of, and everything that a reader can do with one.

python -m tests.fuzzing                      100,000 of them: tracebacks, hangs and memory are counted
python -m tests.fuzzing --case 4711          one of them, with its traceback
"""
