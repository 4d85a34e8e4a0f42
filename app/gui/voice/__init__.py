"""Who speaks and how."""
