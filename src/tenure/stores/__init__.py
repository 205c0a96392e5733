"""The stores: each implements the ports over one kind of storage and passes one conformance kit.

In: one folder per kind of storage, with its SQL beside it. Not in: what the tables mean, which `core`
decides, and which store a process uses, which `wiring` decides. Stores do not know each other.
"""
