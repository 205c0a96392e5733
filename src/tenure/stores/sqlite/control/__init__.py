"""The control plane's store: tasks, claims, workers, commands, facts and verdicts in one SQLite file.

In: one module and one file of statements per port, the rows' way into entities and back, the schema. Not in:
what may happen to a task, which `core` decides; files, threads and commits, which the machinery beside has.
Everything here runs within one transaction on one connection.
"""
