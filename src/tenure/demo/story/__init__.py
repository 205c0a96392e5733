"""The story that `tenure demo` tells: real processes, real kills, and what the history says afterwards.

`acts` says what is submitted, `fleet` owns the processes, `script` strikes them and `play` runs it all.
`evidence` and `checks` judge the outcome from what is public: task histories, the remote service's journal,
the files that were read. How it is shown is a `Screen`, which the command line brings.
"""
