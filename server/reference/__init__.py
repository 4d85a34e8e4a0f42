"""A talker on plain PyTorch: the official qwen-tts, frame by frame, one request at a time.

::

    ServerSession ◀─frames─ ReferenceTalker ◀─thread─ Generation ◀─hook─ QwenModel ─▶ qwen_tts
    (decoder.wire)             (talker.py)          (generation.py)     (model.py)  (official.py)

Everything around the talker (handshake, sessions, cancel, voices, health) is the emulator's server with a
scenario that does nothing wrong. It is for correctness and for one listener; see README.md.
"""
