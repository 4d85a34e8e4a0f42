"""``nearfield doctor``: what is in order here and what is not, with the next step in words."""
