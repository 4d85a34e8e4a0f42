"""What the connection chip says: which server, what is going on with it, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

from app.engine.events import DecoderState, LinkStatus
from app.session.events import LinkState
from decoder.wire.events import Mode


class LinkKind(Enum):
    """What is going on, as the person in front of it would ask."""

    ASLEEP = "connects when you speak"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    """Who decodes is not known yet."""
    PREPARING = "preparing the decoder"
    CODEC = "ready: codec tokens"
    PCM = "ready: the server decodes"
    NO_DECODER = "the decoder cannot be used"
    """And it is not known that the server would decode instead."""
    OFFLINE = "offline"
    REFUSED = "refused"


@dataclass(frozen=True)
class LinkView:
    """What is shown of a server; made new with every event."""

    kind: LinkKind
    title: str
    """Which server: the name of its profile, or its address."""
    detail: str = ""
    """Why, as the engine says it."""
    retry_at_s: float | None = None
    """When it is tried again, on the clock of whoever made this."""

    def seconds_left(self, now_s: float) -> int | None:
        """Return the whole seconds to the next try; 0 if it is due, ``None`` if none will be made."""
        return None if self.retry_at_s is None else max(0, math.ceil(self.retry_at_s - now_s))

    @property
    def can_try_now(self) -> bool:
        """Whether it makes a difference to ask for a try now."""
        return self.kind in (LinkKind.ASLEEP, LinkKind.OFFLINE, LinkKind.REFUSED)


@dataclass(frozen=True)
class LinkStory:
    """What was told of one server so far; starts empty with each server."""

    title: str
    link: LinkStatus | None = None
    was_reached: bool = False
    """Whether the link that is gone now had been made: one that was is made again with the next text."""
    retry_at_s: float | None = None
    decoder: DecoderState | None = None

    def told(self, event: LinkStatus | DecoderState, now_s: float) -> LinkStory:
        """Return the story with ``event``, which came at ``now_s``."""
        if isinstance(event, DecoderState):
            return replace(self, decoder=event)
        was_ready = self.link is not None and self.link.state is LinkState.READY
        return replace(
            self,
            link=event,
            was_reached=event.state is LinkState.OFFLINE and (was_ready or not event.detail),
            retry_at_s=None if event.retry_in_s is None else now_s + event.retry_in_s,
        )

    def view(self) -> LinkView:
        """Return what to show."""
        link, decoder = self.link, self.decoder
        if link is not None and link.state is LinkState.READY:
            return self._ready(link)
        if link is not None and link.state is LinkState.CONNECTING:
            return LinkView(LinkKind.CONNECTING, self.title, link.detail)
        if link is not None and link.refused:
            return LinkView(LinkKind.REFUSED, self.title, link.detail)
        if link is not None and not self.was_reached:
            return LinkView(LinkKind.OFFLINE, self.title, link.detail, self.retry_at_s)
        if decoder is not None and decoder.is_broken:
            return LinkView(LinkKind.NO_DECODER, self.title, decoder.detail)
        if decoder is not None and not decoder.ready:
            return LinkView(LinkKind.PREPARING, self.title, decoder.detail)
        return LinkView(LinkKind.ASLEEP, self.title, "" if link is None else link.detail)

    def _ready(self, link: LinkStatus) -> LinkView:
        decoder = self.decoder
        if link.mode is Mode.PCM:
            return LinkView(LinkKind.PCM, self.title, link.detail)
        if decoder is not None and decoder.is_broken:
            return LinkView(LinkKind.NO_DECODER, self.title, decoder.detail)
        if decoder is None or not decoder.ready:
            return LinkView(LinkKind.PREPARING, self.title, "" if decoder is None else decoder.detail)
        if link.mode is Mode.CODEC:
            return LinkView(LinkKind.CODEC, self.title, link.detail)
        return LinkView(LinkKind.CONNECTED, self.title, link.detail)
