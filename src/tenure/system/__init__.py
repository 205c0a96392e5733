"""The real world behind the injected ports: clocks, ids, the environment, fault points and files.

Only the composition root and the test tools reach in here; everything else asks a port.
"""
