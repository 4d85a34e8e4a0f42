from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config import Config, Profile, ProfilesConfig, ServerConfig, load
from app.desktop.profile_rules import Fault, ProfileError, checked, free_profile_name
from app.desktop.profiles import Profiles, server_of
from app.desktop.secrets import Secrets
from app.desktop.settings import Settings
from app.errors import ConfigError
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left

__all__ = ["no_task_is_left", "no_thread_is_left"]

KEY = "sk-very-secret"
LAB = Profile("Lab", "wss://lab.example")
BOX = Profile("Box", "ws://192.168.1.20:8001", "", True)


class World:
    """The settings, keys and profiles of one start of the program; a second one is the next start."""

    def __init__(self, folder: Path, **arguments: Any) -> None:
        self.path = folder / "config.yaml"
        self.settings = Settings(self.path, **{"environment": {}, **arguments})
        self.secrets = Secrets(folder, lambda: None)
        self.profiles = Profiles(self.settings, self.secrets)
        self.told = 0
        self.profiles.subscribe(self._count)

    def _count(self) -> None:
        self.told += 1

    @property
    def used(self) -> tuple[bool, str, str]:
        """Demo or not, address and key that the window uses."""
        is_demo, server = self.profiles.server()
        return is_demo, server.url, server.api_key

    @property
    def in_terminal(self) -> ServerConfig:
        """What a command uses."""
        return load(self.path, {}).server


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# -- which server ------------------------------------------------------------------------------------------


def test_at_first_there_is_the_demo(world: World) -> None:
    assert (world.profiles.current, world.profiles.saved) == ("Demo", ())
    assert world.used[0] is True


async def test_the_server_of_a_configuration_is_pure(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path, lambda: None)
    await secrets.keep("Lab", KEY)
    saved = (LAB, BOX)
    is_demo, server = server_of(Config(profiles=ProfilesConfig("Lab", saved)), secrets)
    assert (is_demo, server.url, server.api_key) == (False, LAB.url, KEY)
    config = Config(
        profiles=ProfilesConfig("Box", saved), server=ServerConfig(BOX.url, "by hand", "", False, 3.0, 9.0)
    )
    is_demo, server = server_of(config, secrets)
    assert (server.url, server.allow_insecure_key, server.api_key) == (BOX.url, True, "by hand")
    assert (server.connect_timeout_s, server.patience_s) == (3.0, 9.0)
    elsewhere = replace(config, server=ServerConfig("wss://elsewhere", "by hand"))
    assert server_of(elsewhere, secrets)[1].api_key == "", "no key goes to another server"
    assert server_of(replace(config, profiles=ProfilesConfig("Demo", saved)), secrets)[0] is True


async def test_choosing_one_is_for_the_window_and_for_the_terminal(world: World, tmp_path: Path) -> None:
    await world.profiles.add(LAB, KEY)
    await world.profiles.add(BOX)
    assert world.profiles.current == "Demo", "adding is not choosing"
    assert world.in_terminal == ServerConfig()
    await world.profiles.choose("Lab")
    assert world.used == (False, LAB.url, KEY)
    assert world.in_terminal.url == LAB.url
    await world.profiles.choose("Box")
    assert world.used == (False, BOX.url, "")
    assert (world.in_terminal.url, world.in_terminal.allow_insecure_key) == (BOX.url, True)
    await world.profiles.choose("Demo")
    assert world.used[0] is True
    assert world.in_terminal.url == BOX.url, "the terminal has no demo to be switched to"
    assert KEY not in world.path.read_text()

    await world.profiles.choose("Lab")
    again = World(tmp_path)
    assert again.profiles.current == "Lab"
    await again.profiles.load_key()
    assert again.used == (False, LAB.url, KEY)
    with pytest.raises(ConfigError, match="there is no profile Moon"):
        await world.profiles.choose("Moon")


async def test_listeners_hear_of_list_choice_and_key(world: World) -> None:
    for change in (
        lambda: world.profiles.add(LAB),
        lambda: world.profiles.choose("Lab"),
        lambda: world.profiles.change("Lab", LAB, KEY),
        lambda: world.profiles.change("Lab", replace(LAB, url="wss://other")),
        lambda: world.profiles.choose("Demo"),
        lambda: world.profiles.remove("Lab"),
    ):
        before = world.told
        await change()
        assert world.told == before + 1, "once: a listener may connect anew"
    world.settings.update(**{"audio.volume": 0.5})
    assert world.told == before + 1


# -- changing ----------------------------------------------------------------------------------------------


async def test_changing_the_one_in_use_changes_what_is_used(world: World) -> None:
    await world.profiles.add(LAB, KEY)
    await world.profiles.choose("Lab")
    await world.profiles.change("Lab", Profile(" Labor ", " wss://new.example "))
    assert world.profiles.current == "Labor"
    assert world.used == (False, "wss://new.example", KEY), "its key has moved with it"
    assert world.in_terminal.url == "wss://new.example"
    await world.profiles.change("Labor", Profile("Labor", "wss://new.example"), "another")
    assert world.used[2] == "another"
    await world.profiles.change("Labor", Profile("Labor", "wss://new.example"), "")
    assert world.used[2] == ""
    assert not world.secrets.path.exists()


async def test_a_profile_whose_key_cannot_be_got_is_not_renamed_away_from_it(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "config.yaml", {})

    def locked() -> None:
        raise OSError("locked")

    profiles = Profiles(settings, Secrets(tmp_path, locked))
    await profiles.add(LAB)
    with pytest.raises(ConfigError, match="cannot be renamed"):
        await profiles.change("Lab", replace(LAB, name="Labor"))
    await profiles.change("Lab", replace(LAB, url="wss://new.example"))
    assert profiles.saved == (replace(LAB, url="wss://new.example"),)


async def test_changing_another_leaves_the_one_in_use(world: World) -> None:
    await world.profiles.add(LAB, KEY)
    await world.profiles.add(BOX)
    await world.profiles.choose("Lab")
    await world.profiles.change("Box", replace(BOX, name="Kitchen"))
    assert [p.name for p in world.profiles.saved] == ["Lab", "Kitchen"]
    assert world.used == (False, LAB.url, KEY)
    with pytest.raises(ConfigError, match="no profile Box"):
        await world.profiles.change("Box", BOX)


async def test_removing_the_one_in_use_goes_back_to_the_demo_and_takes_the_key(world: World) -> None:
    await world.profiles.add(LAB, KEY)
    await world.profiles.choose("Lab")
    await world.profiles.remove("Lab")
    assert (world.profiles.current, world.used[0], world.profiles.saved) == ("Demo", True, ())
    assert not world.secrets.path.exists()
    with pytest.raises(ConfigError, match="no profile Lab"):
        await world.profiles.remove("Lab")


# -- what was given at the start ---------------------------------------------------------------------------


async def test_a_server_given_at_the_start_is_used_until_another_is_chosen(tmp_path: Path) -> None:
    first = World(tmp_path)
    await first.profiles.add(LAB, "key of the lab")
    await first.profiles.choose("Lab")
    world = World(
        tmp_path, environment={"NEARFIELD_API_KEY": KEY}, flags={"server.url": "wss://given.example"}
    )
    assert (world.profiles.current, world.used) == ("", (False, "wss://given.example", KEY))
    await world.profiles.add(BOX)
    assert world.used == (False, "wss://given.example", KEY), "adding is not choosing"
    await world.profiles.change("Lab", replace(LAB, name="Labor"))
    assert world.profiles.current == ""
    assert World(tmp_path).profiles.current == "Labor", "nor is renaming"
    await world.profiles.choose("Labor")
    assert world.used == (False, LAB.url, "key of the lab")
    await world.profiles.choose("Box")
    assert world.used == (False, BOX.url, ""), "the key that was given goes to no other server"
    await world.profiles.choose("Demo")
    assert world.used[0] is True
    content = world.path.read_text()
    assert "given.example" not in content
    assert KEY not in content


async def test_a_key_given_at_the_start_belongs_to_the_server_of_the_start(tmp_path: Path) -> None:
    first = World(tmp_path)
    await first.profiles.add(LAB)
    await first.profiles.add(BOX)
    await first.profiles.choose("Lab")
    world = World(tmp_path, environment={"NEARFIELD_API_KEY": KEY})
    assert world.used == (False, LAB.url, KEY)
    await world.profiles.choose("Box")
    assert world.used == (False, BOX.url, "")
    await world.profiles.choose("Lab")
    assert world.used == (False, LAB.url, KEY)
    assert not world.secrets.path.exists()


async def test_the_demo_can_be_chosen_in_place_of_a_server_that_was_given(tmp_path: Path) -> None:
    world = World(tmp_path, flags={"server.url": "wss://given.example"})
    await world.profiles.choose("Demo")
    assert (world.profiles.current, world.used[0]) == ("Demo", True)


async def test_a_given_key_does_not_go_to_the_server_that_the_file_had_all_along(tmp_path: Path) -> None:
    first = World(tmp_path)
    await first.profiles.add(LAB)
    await first.profiles.choose("Lab")
    world = World(
        tmp_path, environment={"NEARFIELD_API_KEY": KEY}, flags={"server.url": "wss://given.example"}
    )
    await world.profiles.choose("Lab")
    assert world.used == (False, LAB.url, "")


async def test_demo_on_the_command_line_counts_more_than_a_server_in_the_environment(tmp_path: Path) -> None:
    environment = {"NEARFIELD_SERVER": "wss://given.example"}
    assert World(tmp_path, environment=environment).used[0] is False
    world = World(tmp_path, environment=environment, flags={"profiles.current": "Demo"})
    assert (world.profiles.current, world.used[0]) == ("Demo", True)


async def test_a_profile_that_is_gone_is_not_left_chosen_behind_a_flag(tmp_path: Path) -> None:
    first = World(tmp_path)
    await first.profiles.add(LAB)
    await first.profiles.choose("Lab")
    world = World(tmp_path, flags={"profiles.current": "Demo"})
    await world.profiles.remove("Lab")
    assert World(tmp_path).profiles.current == "Demo"


# -- what was written by hand ------------------------------------------------------------------------------


async def test_a_server_that_was_written_by_hand_becomes_a_profile_before_it_is_replaced(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.yaml").write_text(f"server: {{url: 'wss://mine.example', api_key: {KEY}}}")
    world = World(tmp_path)
    assert world.profiles.current == "Demo"
    await world.profiles.add(LAB)
    assert world.in_terminal.api_key == KEY
    await world.profiles.choose("Lab")
    assert world.used == (False, LAB.url, "")
    assert (world.in_terminal.url, world.in_terminal.api_key) == (LAB.url, ""), "nor does a command send it"
    assert [p.name for p in world.profiles.saved] == ["Lab", "mine.example"]
    await world.profiles.choose("mine.example")
    assert world.used == (False, "wss://mine.example", KEY)
    assert [p.name for p in world.profiles.saved] == ["Lab", "mine.example"]
    assert KEY not in world.path.read_text()


async def test_a_key_that_was_written_by_hand_stays_with_its_own_server(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(f"server: {{url: '{LAB.url}', api_key: {KEY}}}")
    world = World(tmp_path)
    await world.profiles.add(LAB)
    await world.profiles.choose("Lab")
    assert world.used == (False, LAB.url, KEY)
    assert world.in_terminal.api_key == KEY
    await world.profiles.add(BOX)
    await world.profiles.choose("Box")
    assert world.in_terminal.api_key == ""
    await world.profiles.choose("Lab")
    assert world.used == (False, LAB.url, KEY)
    assert len(world.profiles.saved) == 2


async def test_a_profile_that_was_written_by_hand_meanwhile_stays(world: World) -> None:
    await world.profiles.add(LAB)
    text = world.path.read_text().replace("- name: Lab", "- {name: Mine, url: box}\n  - name: Lab")
    for change in (
        lambda: world.profiles.add(BOX),
        lambda: world.profiles.change("Mine", Profile("Mine too", "box")),
        lambda: world.profiles.choose("Mine"),
        lambda: world.profiles.remove("Lab"),
    ):
        world.path.write_text(text)
        await change()
        names = [profile.name for profile in load(world.path, {}).profiles.saved]
        assert any(name.startswith("Mine") for name in names), names


# -- rules -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "key", "fault"),
    [
        (Profile(" ", "ws://h"), "", Fault.NO_NAME),
        (Profile("x" * 61, "ws://h"), "", Fault.LONG_NAME),
        (Profile("lab", "ws://h"), "", Fault.NAME_TAKEN),
        (Profile(" DEMO", "ws://h"), "", Fault.NAME_TAKEN),
        (Profile("a", ""), "", Fault.ADDRESS),
        (Profile("a", "ftp://h"), "", Fault.ADDRESS),
        (Profile("a", "ws://me:pass@h"), "", Fault.LOGIN),
        (Profile("a", "wss://h"), "kéy", Fault.KEY),
        (Profile("a", "ws://8.8.8.8"), KEY, Fault.KEY_IN_CLEAR),
        (Profile("a", "wss://h", "/there/is/none.pem"), "", Fault.CA_FILE),
    ],
)
async def test_what_cannot_be_used_is_told_by_field_and_not_saved(
    world: World, profile: Profile, key: str, fault: Fault
) -> None:
    await world.profiles.add(LAB)
    before = world.path.read_text()
    with pytest.raises(ProfileError) as raised:
        await world.profiles.add(profile, key)
    assert raised.value.fault is fault
    assert KEY not in str(raised.value)
    assert world.path.read_text() == before
    assert not world.secrets.path.exists()


@pytest.mark.parametrize(
    ("profile", "key"),
    [
        (Profile("a", "box"), ""),
        (Profile("a", "ws://127.0.0.1:8001"), KEY),
        (Profile("a", "ws://8.8.8.8", "", True), KEY),
        (Profile("a", "wss://8.8.8.8/some/path"), KEY),
        (Profile("办公室", "http://h:1"), ""),
    ],
)
def test_what_can_be_used(profile: Profile, key: str) -> None:
    assert checked(profile, key, (LAB,)) == profile


async def test_a_key_that_cannot_be_kept_saves_no_profile(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = Settings(tmp_path / "config.yaml", {})
    profiles = Profiles(settings, Secrets(tmp_path / "file", lambda: None))
    with pytest.raises(ConfigError, match="cannot be kept"):
        await profiles.add(LAB, KEY)
    assert profiles.saved == ()


def test_a_free_name_is_that_of_the_host() -> None:
    assert free_profile_name("wss://lab.example:1/path", ()) == "lab.example"
    others = (Profile("Lab.example", "x"), Profile("lab.example 2", "x"))
    assert free_profile_name("lab.example", others) == "lab.example 3"
    assert free_profile_name("ws://demo", ()) == "demo 2"


async def test_the_file_says_what_a_person_would_write(world: World) -> None:
    await world.profiles.add(LAB)
    await world.profiles.add(BOX)
    await world.profiles.choose("Box")
    assert yaml.safe_load(world.path.read_text()) == {
        "server": {"url": BOX.url, "allow_insecure_key": True},
        "profiles": {
            "current": "Box",
            "saved": [
                {"name": "Lab", "url": LAB.url},
                {"name": "Box", "url": BOX.url, "allow_insecure_key": True},
            ],
        },
    }
