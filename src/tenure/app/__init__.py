"""What a capability's author touches, and the executor process that runs it.

`app` and `attempt` are the author's side; `child` is the main of an executor and `link` its line to the
supervisor. Nothing here loads a server, a client or a store: an executor starts often and has to start fast.
"""
