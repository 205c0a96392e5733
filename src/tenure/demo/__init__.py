"""The main story, runnable: a small remote service, capabilities that use it, and a truth to compare with.

`service` is a process of its own, a stand-in for somebody else's render farm and bank that loses and delays
replies on demand; `farm` is its client. `capabilities` holds one capability for each of the rules that the
story shows, `sources` and its neighbours the work they do, and `truth` computes the same without Tenure.
"""
