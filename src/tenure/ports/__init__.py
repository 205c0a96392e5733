"""Protocols between the parts; the contract is the docstring.

A store, a transport or a clock is whatever keeps these promises. Methods take and return core types only,
never rows and never envelopes. Where a port belongs to a `Transaction`, all its calls happen inside that one
transaction.
"""
