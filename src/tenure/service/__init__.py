"""The control plane's one application service.

Submission, dispatch, settlement, witnesses, verdicts, janitor.

It knows ports only. The modules hold plain functions over a `Transaction`; `plane` runs them through the
store's gate and is what the HTTP shell, an in-process Runtime, the tests and the simulator call.
"""
