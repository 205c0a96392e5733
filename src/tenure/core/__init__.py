"""Entities, transition tables, pure decisions and errors.

Nothing here does I/O, reads a clock or draws a random number: what a function needs to know is an argument,
and what it decides is its return value. Structs that cross the border between worker and control plane carry
the protocol's field names, so that `wire` wraps them without copying.
"""
