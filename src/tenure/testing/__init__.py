"""Tools to test Tenure, and capabilities built on it, with real processes and a real network.

`processes` starts programs and leaves nothing running, `gates` halts them at named fault points, `proxy`
stands between a worker and its server and spoils the traffic on demand. None of them simulates anything.
`attempt` and `async_attempt` make attempts in memory, for the unit tests of capabilities.
"""

from tenure.testing.attempt import async_attempt, attempt

__all__ = ["async_attempt", "attempt"]
