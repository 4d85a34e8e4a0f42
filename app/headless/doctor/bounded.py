"""Runs a check, and goes on without it if it hangs or fails: one ill part must not silence the doctor."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from app.desktop.background import in_thread
from app.errors import NearfieldError
from app.headless.doctor.finding import Finding, Verdict
from decoder.errors import DecoderError

log = logging.getLogger("nearfield.doctor")


@dataclass(frozen=True)
class Check:
    """Something to look at."""

    name: str
    look: Callable[[], Finding]
    """Blocks, in a thread of its own."""
    limit_s: float
    """More than every bound within the check together."""
    if_stuck: str = "restart the machine's service that it waits for, and run the doctor again"
    """The next step if it does not come back."""


async def run(check: Check) -> Finding:
    """Return what ``check`` found, within its limit, whatever happens in it."""
    try:
        return await asyncio.wait_for(in_thread(f"looking at {check.name}", check.look), check.limit_s)
    except asyncio.TimeoutError:
        text = f"looking at it took longer than {check.limit_s:g} s and was given up"
        return Finding(check.name, Verdict.PROBLEM, text, check.if_stuck)
    except (NearfieldError, DecoderError) as error:
        return Finding(check.name, Verdict.PROBLEM, str(error))
    except Exception as error:
        log.exception("the check of %s failed", check.name)
        text = f"looking at it failed ({type(error).__name__}: {error})"
        return Finding(check.name, Verdict.PROBLEM, text, "run it again with -v, and report what it says")
