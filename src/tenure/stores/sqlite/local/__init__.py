"""The worker's local store: identity, inbox, attempts, ledger, outbox and executors in one SQLite file.

One module per port, thin, over named statements in `sql/`; `rows` turns rows into entities and back. What the
tables mean is `core`'s; final states absorb here too, so that no later writer can undo one.
"""
