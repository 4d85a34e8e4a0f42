"""The tools, as an assistant sees them: what they are for, take and answer; the door to ``mcp``'s server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from app.errors import NearfieldError
from app.headless.mcp.speaker import Speaker, Spoken, Voices
from app.text import clean, is_speakable
from decoder.errors import DecoderError

T = TypeVar("T")

INSTRUCTIONS = (
    "Speaks text aloud on the loudspeaker of the machine that this server runs on. Write what is to be heard "
    "as plain sentences: markup, tables and code are read out character by character. Texts are queued and "
    "spoken one after the other; speaking goes on while you do something else."
)
Text = Annotated[str, Field(description="What to say, in plain sentences. Up to 100,000 characters.")]
Voice = Annotated[
    str | None,
    Field(description="One of those that `voices` lists. Leave it out for the one that is configured."),
]
InterruptWord = Annotated[
    Literal["no", "now", "after_sentence", "after_utterance"],
    Field(
        description="What becomes of what is being heard: `no` waits for everything that is queued; `now` "
        "ends it at once; `after_sentence` ends it where its next sentence begins; `after_utterance` lets it "
        "finish and goes in front of what waits."
    ),
]
Wait = Annotated[
    bool,
    Field(
        description="Answer only when the last word was heard, which takes as long as the speech itself: "
        "about a second for 15 characters. Otherwise the answer comes at once, with the id of the text."
    ),
]
Id = Annotated[
    str | None, Field(description="The id that `speak` returned. Leave it out to end everything, queue too.")
]


@dataclass(frozen=True)
class Stopped:
    """The answer of ``stop``."""

    stopped: bool
    """False if there was nothing to end."""


def server(speaker: Callable[[], Awaitable[Speaker]]) -> MCPServer[Any]:
    """Return the server; ``speaker`` finds whoever speaks, each time that a tool is used."""
    made: MCPServer[Any] = MCPServer(
        "nearfield",
        title="Nearfield",
        instructions=INSTRUCTIONS,
        version=version("nearfield"),
        log_level="WARNING",
    )

    async def told(asked: Callable[[Speaker], Awaitable[T]]) -> T:
        try:
            return await asked(await speaker())
        except (NearfieldError, DecoderError) as error:
            raise ToolError(str(error)) from None

    @made.tool(
        title="Speak aloud",
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True),
    )
    async def speak(
        text: Text, voice: Voice = None, interrupt: InterruptWord = "no", wait: Wait = False
    ) -> Spoken:
        """Say a text aloud on the loudspeaker of this machine. A person hears it."""
        if not is_speakable(clean(text)):
            raise ToolError("there is nothing to say in this text: it has no letter and no number")
        return await told(lambda s: s.speak(text, voice, interrupt, wait))

    @made.tool(
        title="Stop speaking",
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True),
    )
    async def stop(id: Id = None) -> Stopped:  # noqa: A002
        """Be silent at once: end one text, or what is heard and everything that waits."""
        return Stopped(await told(lambda s: s.stop(id)))

    @made.tool(title="What is being spoken", annotations=ToolAnnotations(read_only_hint=True))
    async def status() -> dict[str, Any]:
        """Tell what is heard and what waits, and whether a text would be heard now.

        `healthy` is false if not; `link` (the speech server), `decoder` and `output` (the sound device) then
        say why.
        """
        return await told(lambda s: s.status())

    @made.tool(title="List the voices", annotations=ToolAnnotations(read_only_hint=True))
    async def voices() -> Voices:
        """List the names that `speak` takes as `voice`."""
        return await told(lambda s: s.voices())

    return made
