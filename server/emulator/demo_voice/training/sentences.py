"""Texts to be read by the voice: two free Debian packages and our own templates.

Sources, none of which is copied into the repository:

* ``wordnet-base`` (WordNet 3.0, WordNet licence): the quoted example sentences of the glosses;
* ``debian-handbook`` (GPL-2+ or CC-BY-SA-3.0): paragraphs of the English HTML;
* templates below: numbers, dates, times, names, questions, shouting capitals, single words.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Iterator
from pathlib import Path

_EXAMPLE = re.compile(r'"([^"]{8,180})"')
_PARAGRAPH = re.compile(r'<div class="para">(.*?)</div>', re.S)
_TAG = re.compile(r"<[^>]+>")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_READABLE = re.compile(r"[A-Za-z][A-Za-z ,;:'.!?\-]+")

_NAMES = [
    "Alice",
    "Bob",
    "Carmen",
    "Daniel",
    "Elena",
    "Farid",
    "Grace",
    "Hiro",
    "Ingrid",
    "James",
    "Katya",
    "Liam",
    "Maria",
    "Noah",
    "Olga",
    "Priya",
    "Quentin",
    "Rosa",
    "Samuel",
    "Tara",
    "Ulrich",
    "Victor",
    "Wendy",
    "Xavier",
    "Yusuf",
    "Zoe",
    "Anderson",
    "Baker",
    "Chen",
    "Dubois",
    "Evans",
    "Fischer",
    "Garcia",
    "Hughes",
    "Ivanov",
    "Johnson",
    "Kim",
    "Lopez",
    "Müller",
    "Nakamura",
    "O'Brien",
    "Patel",
    "Quinn",
    "Rossi",
    "Smith",
    "Thompson",
    "Underwood",
    "Vogel",
    "Williams",
]
_PLACES = [
    "London",
    "Berlin",
    "Paris",
    "Madrid",
    "Chicago",
    "Boston",
    "Toronto",
    "Sydney",
    "Tokyo",
    "Nairobi",
    "Lima",
    "Oslo",
    "Vienna",
    "Prague",
    "Dublin",
    "Rome",
    "Seattle",
    "Denver",
    "Cairo",
    "Mumbai",
    "Singapore",
    "Lisbon",
    "Warsaw",
    "Helsinki",
    "Zurich",
    "Amsterdam",
    "Munich",
    "Brussels",
    "Athens",
    "Seoul",
]
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_THINGS = [
    "train",
    "flight",
    "meeting",
    "package",
    "letter",
    "invoice",
    "report",
    "concert",
    "lesson",
    "appointment",
    "bus",
    "ferry",
    "radio",
    "kitchen",
    "lamp",
    "garden",
    "bicycle",
    "printer",
    "camera",
    "battery",
    "window",
    "ticket",
    "speaker",
    "kettle",
    "timer",
    "alarm",
    "recipe",
]
_TEMPLATES = (
    "The {thing} to {place} leaves at {hour}:{minute} from platform {small}.",
    "{name} was born on {month} {day}, {year}, in {place}.",
    "Your {thing} will arrive on {weekday} between {hour} and {hour2} o'clock.",
    "Could you call {name} at {digits}, please?",
    "It is {temp} degrees in {place}, with a {percent} percent chance of rain.",
    "What time does the {thing} in {place} start?",
    "Did {name} {surname} really pay {money} dollars for that {thing}?",
    "Turn off the {thing} in {small} minutes.",
    "The total is ${money}.{minute}, including {percent}% tax.",
    "In {year}, about {big} people lived in {place}.",
    "Hello {name}, how are you today?",
    "Who left the {thing} on the {thing2}?",
    "I'm sorry, {name}, I don't have a {thing} called {place}.",
    "{name} and {name2} met in {place} on {weekday}, {month} {day}.",
    "Flight {letters} {digits3} is delayed by {small} hours and {minute2} minutes.",
    "Chapter {small}: the {thing} of {place}.",
    "WATCH OUT, {upper}! THE {upperthing} IS ON FIRE!",
    "STOP THAT RIGHT NOW!",
    "Why not take the {thing} at {hour}:{minute}, {name}?",
    "Set an alarm for {hour} a.m. and remind me about the {thing}.",
    "{small}, {small2}, {small3}, go!",
    "Yes.",
    "No, thank you.",
    "{name}!",
    "Okay, {name}: the {thing} is ready.",
    "The code is {letters} {digits3} {letters2}.",
    "Version {small}.{small2}.{small3} was released on {day} {month} {year}.",
    "Is it {small} or {small2}?",
    "Really?",
    "{place}, {place2} and {place3} are {big} kilometres apart.",
)


def _from_wordnet(folder: Path) -> Iterator[str]:
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="utf-8", errors="replace").splitlines():
            _, bar, gloss = line.partition("| ")
            if bar:
                for example in _EXAMPLE.findall(gloss):
                    if _READABLE.fullmatch(example) and example.count(" ") >= 2:
                        text = example[0].upper() + example[1:]
                        yield text if text[-1] in ".!?" else f"{text}."


def _from_handbook(folder: Path) -> Iterator[str]:
    for page in sorted(folder.glob("*.html")):
        for paragraph in _PARAGRAPH.findall(page.read_text(encoding="utf-8", errors="replace")):
            text = " ".join(html.unescape(_TAG.sub("", paragraph)).split())
            for sentence in _SENTENCE_END.split(text):
                if 30 <= len(sentence) <= 240 and re.fullmatch(
                    r"[A-Z][A-Za-z0-9 ,;:'’“”().!?\-]+[.!?]", sentence
                ):
                    yield sentence


def _from_templates(rng: random.Random) -> Iterator[str]:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    while True:
        thing = rng.choice(_THINGS)
        name = rng.choice(_NAMES)
        yield rng.choice(_TEMPLATES).format(
            thing=thing,
            thing2=rng.choice(_THINGS),
            upperthing=thing.upper(),
            name=name,
            name2=rng.choice(_NAMES),
            upper=name.upper(),
            surname=rng.choice(_NAMES),
            place=rng.choice(_PLACES),
            place2=rng.choice(_PLACES),
            place3=rng.choice(_PLACES),
            month=rng.choice(_MONTHS),
            weekday=rng.choice(_DAYS),
            day=rng.randint(1, 31),
            year=rng.randint(1700, 2060),
            hour=rng.randint(1, 12),
            hour2=rng.randint(1, 12),
            minute=f"{rng.randint(10, 59)}",
            minute2=rng.randint(2, 59),
            small=rng.randint(1, 30),
            small2=rng.randint(1, 30),
            small3=rng.randint(1, 30),
            big=f"{rng.randint(101, 999_999):,}",
            percent=rng.randint(1, 100),
            temp=rng.randint(-20, 40),
            money=rng.randint(2, 9999),
            digits=" ".join(str(rng.randint(0, 9)) for _ in range(7)),
            digits3=rng.randint(100, 999),
            letters="".join(rng.sample(letters, 2)),
            letters2=rng.choice(letters),
        )


def sentences(wordnet: Path, handbook: Path, seed: int) -> Iterator[str]:
    """Yield sentences without end: half WordNet examples, a quarter handbook, a quarter templates.

    ``wordnet`` holds ``data.noun`` and its siblings, ``handbook`` the English HTML pages. The order depends
    on ``seed`` alone; WordNet and the handbook start over, newly shuffled, when they are used up.
    """
    rng = random.Random(seed)
    pools = [list(_from_wordnet(wordnet)), list(_from_handbook(handbook))]
    for pool in pools:
        rng.shuffle(pool)
    templates = _from_templates(rng)
    taken = [0, 0]
    while True:
        draw = rng.random()
        if draw < 0.25:
            yield next(templates)
            continue
        which = 0 if draw < 0.75 else 1
        if taken[which] == len(pools[which]):
            rng.shuffle(pools[which])
            taken[which] = 0
        taken[which] += 1
        yield pools[which][taken[which] - 1]
