"""Tools to test Tenure, and capabilities built on it, with real processes and a real network.

`processes` starts programs and leaves nothing running, `gates` halts them at named fault points, `proxy`
stands between a worker and its server and spoils the traffic on demand. None of them simulates anything.
"""
