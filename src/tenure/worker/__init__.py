"""The drivers: a supervisor that imports no user code, no store and no HTTP.

`runtime` assembles the parts and runs them. One session at a time (`session`) carries three of them:
`keeper` renews, `intake` takes commands, `sender` delivers facts. Beside them, whatever the sessions do,
`running` gives attempts to executors and `effects` answers what their code asks. All facts are in the local
store first; what is kept in memory (`books`) describes this process only.
"""
