"""Fifty sentences that no training text contains, each with the words a recogniser should hear."""

from __future__ import annotations

import re

_TEXTS: tuple[str | tuple[str, str], ...] = (
    "Good morning, and welcome to the harbour museum.",
    "The kettle is boiling, so please bring two cups from the cupboard.",
    "A narrow path leads from the old mill to the river.",
    "She closed the heavy door behind her and walked into the rain.",
    "Nobody expected the orchestra to play that quietly.",
    "My brother repaired the engine with a piece of copper wire.",
    "The library will be closed on Friday because of the holiday.",
    "Fresh bread and butter were waiting on the kitchen table.",
    "Most of the islands can only be reached by boat.",
    "Your message was delivered a moment ago.",
    "The doctor said that sleep is the best medicine.",
    "We planted apple trees along the southern wall.",
    "In the evening the wind dropped and the sea became calm.",
    "He has been a teacher in this village since the war.",
    "Please keep your tickets until the end of the journey.",
    "The children built a castle out of sand and shells.",
    "An honest answer is worth more than a clever one.",
    "The museum bought the painting for an unknown sum.",
    "Snow was falling on the mountains when they arrived.",
    "Every window in the house was open.",
    # Numbers, dates, times, prices.
    (
        "The ferry leaves at 7:45 from pier 12.",
        "the ferry leaves at seven forty five from pier twelve",
    ),
    (
        "The bridge was finished in 1937 and is 2,737 metres long.",
        "the bridge was finished in nineteen thirty seven "
        "and is two thousand seven hundred thirty seven meters long",
    ),
    (
        "Add 250 grams of flour and 3 eggs.",
        "add two hundred fifty grams of flour and three eggs",
    ),
    (
        "There were 48 students and 6 teachers on the bus.",
        "there were forty eight students and six teachers on the bus",
    ),
    (
        "Call 5 5 5, 0 1 9 4 before noon.",
        "call five five five zero one nine four before noon",
    ),
    (
        "About 70 percent of the surface is covered with water.",
        "about seventy percent of the surface is covered with water",
    ),
    (
        "The temperature will fall to 15 degrees by 9 o'clock.",
        "the temperature will fall to fifteen degrees by nine o'clock",
    ),
    (
        "The second world record was broken on the 21st of August.",
        "the second world record was broken on the twenty first of august",
    ),
    # Names.
    "Margaret and Anthony travelled from Edinburgh to Barcelona.",
    "Professor Higgins lives in the north of Philadelphia.",
    "Have you met Catherine, the new director from Melbourne?",
    "Benjamin Franklin was born in Boston, Massachusetts.",
    "Doctor Watson never trusted the letters from Switzerland.",
    "Isabella plays the violin better than Frederick.",
    # Questions.
    "Where did you put the keys to the garage?",
    "Would you like some more coffee?",
    "How long does it take to walk to the station?",
    "Why are all the lights in the building still on?",
    "Can anybody here speak Portuguese?",
    "What is the difference between weather and climate?",
    # Shouting capitals.
    "LOOK OUT, THE LADDER IS FALLING!",
    "DO NOT TOUCH THE WET PAINT!",
    "PLEASE LEAVE THE BUILDING IMMEDIATELY!",
    # Short ones.
    "Thank you very much.",
    "Not today, I'm afraid.",
    "Turn left at the corner.",
    # Several clauses, quotations, lists.
    "If the battery is low, the lamp turns red; otherwise, it stays green.",
    "We need paper, scissors, glue, string and a little patience.",
    "The captain smiled and said, there is no hurry at all.",
    # One long paragraph.
    "When the first settlers came to the valley they found a wide river, dark forests and almost no "
    "open land. They cut the trees, burned the roots and planted corn between the stones. The winters "
    "were long and the summers were short, but every year the fields grew a little larger. After twenty "
    "years there was a church, a school and a road to the coast. Today nobody remembers their names, "
    "but the walls they built from the stones of the fields can still be seen on every hill.",
)


def spoken_words(text: str) -> list[str]:
    """Return the words of ``text``, lower case, without punctuation."""
    return re.findall(r"[a-z']+", text.lower().replace("’", "'").replace("-", " "))


def evaluation_texts() -> list[tuple[str, list[str]]]:
    """Return each text with its spoken words."""
    pairs = ((entry, entry) if isinstance(entry, str) else entry for entry in _TEXTS)
    return [(text, spoken_words(words)) for text, words in pairs]
