"""The HTTP shell around the application service: authentication, limits, streams, and the process's life.

Everything that can be called stands in `wire.endpoints`; here is only how a call is read, answered and
ended. What a call means is decided in `service`.
"""
