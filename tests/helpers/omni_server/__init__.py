"""A vLLM-Omni server without an engine: the released handlers over a talker that is simulated.

Runs in a process of its own (``python -m tests.helpers.omni_server``), started by ``tests.helpers.omni_rig``:
what stands in for vLLM must never be seen by the tests' own interpreter.
"""
