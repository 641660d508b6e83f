"""The side of the benchmark that measures nothing itself: it makes venvs, asks workers in turn, judges and draws.

Standard library only, so that `python benchmarks/bench.py` needs no environment of its own.
"""
