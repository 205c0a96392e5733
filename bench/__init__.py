"""Measures this installation: `python -m bench.run`, or `make bench`."""
