"""What a server does when many are served at once: how soon, how evenly, and whether each gets its own.

::

    texts ─▶ run (sessions, one process, asyncio) ─▶ results ─▶ report ─▶ table, JSON, plot
                      │                                 ▲
        solo runs ────┴──▶ crosstalk, continuity ───────┘   (pure)

Only ``run``, ``session``, ``references`` and ``lag`` do I/O or know a clock.
"""
