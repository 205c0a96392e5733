"""Event names, and what becomes of an event that is told: lines for people and for machines.

Metrics and traces join here later, from the same events.
"""
