"""SQLite: the control plane's store, the worker's local store, and the machinery that both share.

The machinery does not know what the tables mean: a state folder with one owner (`folder`), an opened file
(`connection`, `database`), its schema (`migrations`), named statements (`statements`), the one writing thread
(`writer`, `orders`, `checkpoints`), threads that only look (`readers`) and the room left on the disk
(`space`). Nothing outside this package imports apsw.
"""
