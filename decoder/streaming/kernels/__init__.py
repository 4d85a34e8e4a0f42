"""The decoder's layers in the form that a CPU likes: rows of channels, packed weights, reused memory.

Everything here works on signals ``[T, C]``, one row for each instant, so that every convolution is a matrix
product and no layer transposes. Weights are taken from the modules once; nothing here can be trained.
"""
