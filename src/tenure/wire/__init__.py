"""What travels: the protocol's messages with their endpoint table and codec, and the executors' frames.

Messages wrap the structs of `core` without copying them. Nothing here opens a connection.
"""
