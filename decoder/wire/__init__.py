"""The wire of ``/v1/audio/speech/stream``: packets, messages, and both ends of a session without I/O.

Client and servers share these classes, so what one side can write the other can read.
"""
