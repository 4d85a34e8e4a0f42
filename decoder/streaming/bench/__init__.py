"""Measuring the decoder: what a step costs here, against what it could cost and what others take.

``run.bench(BenchRequest(...))`` measures, ``report.BenchReport`` says what came out. Cases that are to be
compared are run in turn within one process, because absolute times on a machine that does other things
as well mean little, and ratios of interleaved runs mean something.

``timing``, ``report`` and ``memory`` need no torch.
"""
