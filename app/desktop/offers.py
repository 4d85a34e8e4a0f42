"""What can be asked of the player in a state, so that a window need not know why."""

from __future__ import annotations

from dataclasses import dataclass

from app.desktop.player_state import Phase, PlayerState

RESTARTS_S = 1.5
"""Who goes back later than this into a sentence wants to hear that one again, not the one before."""


@dataclass(frozen=True)
class Offers:
    """What a window lets a person do now."""

    pause: bool
    """Hold the sound, or let it go on."""
    resumes: bool
    """It would go on."""
    stop: bool
    save: bool
    """Write what was heard to a file: there is all of it that will be."""
    back_to: int | None
    """The sentence to go back to."""
    forward_to: int | None


def offers(state: PlayerState) -> Offers:
    """Return what makes sense in ``state``."""
    here = state.sentence
    back_to = forward_to = None
    if here is not None:
        is_late = state.heard_s - state.sentences[here].starts_s > RESTARTS_S
        back_to = here if is_late or here == 0 else here - 1
        forward_to = here + 1 if here + 1 < len(state.sentences) else None
    elif state.sentences:
        back_to = len(state.sentences) - 1
    return Offers(
        pause=state.is_speaking,
        resumes=state.phase is Phase.PAUSED,
        stop=state.is_speaking,
        save=state.decoded_s > 0 and (state.is_whole or not state.is_speaking),
        back_to=back_to,
        forward_to=forward_to,
    )
