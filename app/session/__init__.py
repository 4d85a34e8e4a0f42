"""The connection to a server: a thin shell around the wire's client end."""
