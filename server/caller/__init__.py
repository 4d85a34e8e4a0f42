"""One who calls a server to have texts spoken, and notes when what arrived: what parity and load are made of.

The wire is the client's own (``decoder.wire.client``). How a link is dialled is handed in, so that addresses,
keys, certificates and proxies are dealt with where the client deals with them.
"""

from __future__ import annotations

from server.caller.caller import Caller, CallError, Dial, Link
from server.caller.contact import Contact, make_contact
from server.caller.heard import Arrival, Heard

__all__ = ["Arrival", "CallError", "Caller", "Contact", "Dial", "Heard", "Link", "make_contact"]
