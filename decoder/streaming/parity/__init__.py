"""Whether what is heard here is what the official decoder says, and what another server would have sent.

``compare`` decodes the same codes in several ways and holds each against the official whole forward.
``two_servers`` compares the sound of a server that decodes with ours, as far as that can be done.
``report`` and ``agreement`` need no torch.
"""
