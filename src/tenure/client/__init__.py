"""The other side of the protocol: `Client` for people's programs, and the two ports of a worker over HTTP.

All of it reads the endpoint table of `wire`, shares one way of talking (`http`), and raises the errors of
`core`.
"""
