"""What deploys a talker: image, Compose, systemd and nginx, as far as it goes without a GPU or an engine."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import yaml
from websockets.asyncio.client import connect

from server.emulator.emulator import Emulator
from server.emulator.scenario import Scenario
from server.emulator.talkers import SyntheticTalker
from tests.helpers.servers import certificate

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "server" / "deploy"
CONF = (FOLDER / "nginx.conf").read_text("utf-8")
UNIT = FOLDER / "nearfield-talker.service"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="apt-get install nginx-light")
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="apt-get install systemd")

KNOWN_OF_A_SERVICE = {
    "build", "cap_drop", "depends_on", "deploy", "env_file", "image", "init", "ports", "read_only", "restart",
    "security_opt", "shm_size", "stop_grace_period", "tmpfs", "volumes",
}  # fmt: skip
"""Keys of the Compose specification that this file uses; anything else is a typing error or needs a look."""


@pytest.fixture(scope="module")
def dockerfile() -> ModuleType:
    path = ROOT / "packaging/container/dockerfile.py"
    spec = importlib.util.spec_from_file_location("dockerfile", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Where dataclasses look for the types of their fields.
    sys.modules["dockerfile"] = module
    spec.loader.exec_module(module)
    return module


def test_there_is_nothing_to_complain_about_in_the_image(dockerfile: ModuleType) -> None:
    """Pinned images, no root, no secrets, every COPY exists and is let in."""
    ignored = dockerfile.Ignored((ROOT / ".dockerignore").read_text())
    assert dockerfile.complaints((FOLDER / "Dockerfile").read_text(), ignored) == []


def test_the_image_has_the_release_that_the_plug_in_is_for(dockerfile: ModuleType) -> None:
    stages = dockerfile.read_stages((FOLDER / "Dockerfile").read_text())
    assert stages[-1].image == "vllm/vllm-omni:v0.30.0"
    copied = [word for step in stages[-1].steps if step.keyword == "COPY" for word in step.words()]
    said = stages[-1].last("CMD").words()
    deploy = Path(said[said.index("--deploy-config") + 1]).name
    assert f"server/deploy/{deploy}" in copied
    check = json.loads(stages[-1].last("HEALTHCHECK").text.removeprefix("CMD "))
    assert f"server/deploy/{Path(check[1]).name}" in copied


def test_the_image_carries_what_the_plug_in_is_built_from(dockerfile: ModuleType) -> None:
    """Also what its wheel takes from outside of its folder."""
    ignored = dockerfile.Ignored((ROOT / ".dockerignore").read_text())
    first = dockerfile.read_stages((FOLDER / "Dockerfile").read_text())[0]
    copied = [source for step in first.steps if step.keyword == "COPY" for source in step.words()[:-1]]
    project = (ROOT / "server/omni_plugin/pyproject.toml").read_text("utf-8")
    included = re.findall(r'^"\.\./\.\./(.+?)" = ', project, re.MULTILINE)
    assert "decoder/wire" in included
    for source in (*included, "server/omni_plugin"):
        assert any(source == name or source.startswith(f"{name}/") for name in copied), source
        assert dockerfile.files_of(source, ignored), source


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_services_say_only_what_compose_knows(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service.keys() <= KNOWN_OF_A_SERVICE
    for volume in service["volumes"]:
        source = re.sub(r"^\$\{\w+:-(.*?)\}", r"\1", volume).split(":")[0]
        assert (
            source in COMPOSE["volumes"] or source.startswith("../../secrets/") or (FOLDER / source).exists()
        )
    assert service.keys() & {"security_opt"}


def test_the_talker_gets_a_gpu_and_its_key_from_outside() -> None:
    talker = COMPOSE["services"]["talker"]
    (device,) = talker["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
    assert (
        FOLDER / talker["build"]["context"] / talker["build"]["dockerfile"]
    ).resolve() == FOLDER / "Dockerfile"
    assert "KEY" not in str(talker).replace("VLLM_API_KEY", "")
    assert all(port.startswith("127.0.0.1:") for port in talker["ports"])
    # nginx waits for a talker that would speak, not for one that is only there.
    assert COMPOSE["services"]["nginx"]["depends_on"] == {"talker": {"condition": "service_healthy"}}


def unit_with_a_program(folder: Path, text: str) -> Path:
    program = folder / "vllm"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = folder / UNIT.name
    unit.write_text(text.replace("/opt/nearfield-talker/bin/vllm", str(program)))
    return unit


@needs_systemd
def test_systemd_has_nothing_against_the_unit(tmp_path: Path) -> None:
    assert verified(unit_with_a_program(tmp_path, UNIT.read_text("utf-8"))) == ""


@needs_systemd
@pytest.mark.parametrize("line", ["Restart=forever", "DeviceAllows=char-nvidia rw", "ProtectSystem=all"])
def test_a_mistake_in_the_unit_would_be_noticed(tmp_path: Path, line: str) -> None:
    wrong = UNIT.read_text("utf-8").replace("[Install]", f"{line}\n\n[Install]", 1)
    complaints = verified(unit_with_a_program(tmp_path, wrong))
    assert any(word in complaints for word in line.split("="))


@needs_systemd
def test_the_unit_is_shut_in_as_far_as_systemd_counts(tmp_path: Path) -> None:
    """From 0, safe, to 10: a network server that has to write memory it then runs."""
    unit = unit_with_a_program(tmp_path, UNIT.read_text("utf-8"))
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=30", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def verified(unit: Path) -> str:
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    complaints = done.stdout + done.stderr
    return complaints or ("" if done.returncode == 0 else f"exit code {done.returncode}")


def test_every_way_starts_the_same_command() -> None:
    """As the deploy file's own comment has it."""
    for text in (UNIT.read_text("utf-8"), (FOLDER / "Dockerfile").read_text("utf-8")):
        for word in ("--omni", "--deploy-config", "--trust-remote-code", "8001"):
            assert word in text
        assert "VLLM_OMNI_EVENT_DRIVEN_ORCH=1" in text


def test_the_unit_says_how_its_deploy_file_gets_there() -> None:
    text = UNIT.read_text("utf-8")
    (deploy,) = (Path(name) for name in re.findall(r"DEPLOY=(/\S+)", text))
    assert (FOLDER / deploy.name).exists()
    assert f"-t {deploy.parent} server/deploy/{deploy.name}\n" in text


def settings_of_nginx(name: str) -> list[str]:
    return re.findall(rf"^\s*{name}\s+(.*?);", CONF, re.MULTILINE)


def test_nginx_waits_longer_than_a_client_may_be_silent() -> None:
    """A server ends a silent session after 30 s and pings every 20 s; nginx may not be what cuts it."""
    limits = [int(value.removesuffix("s")) for value in settings_of_nginx("proxy_read_timeout")]
    assert limits[0] > 30 + 20


def nginx_conf(folder: Path, port: int, *talkers: int) -> Path:
    """Write the configuration with this machine's names in place of the example's."""
    made = certificate(folder)
    assert made is not None, "apt-get install openssl"
    made[0].rename(folder / "fullchain.pem")
    text = CONF.replace("/etc/nginx/tls", str(folder))
    text = text.replace("/run/nearfield-nginx.pid", str(folder / "nginx.pid"))
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    text = text.replace("/dev/stdout", str(folder / "access.log"))
    servers = "\n".join(f"server 127.0.0.1:{talker};" for talker in talkers)
    text = re.sub(r"server talker:8001.*?;", servers, text)
    # Where a nginx that is not root may write.
    temporary = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{name}_temp_path {folder / name};\n" for name in temporary)
    conf = folder / "nginx.conf"
    conf.write_text(text.replace("http {\n", f"http {{\n{places}", 1))
    return conf


def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def nginx(conf: Path, port: int) -> Iterator[None]:
    process = subprocess.Popen(
        ["nginx", "-c", str(conf), "-g", "daemon off;"], stderr=subprocess.PIPE, text=True
    )
    try:
        ends_s = time.monotonic() + 20
        # It tells nobody when it listens.
        while process.poll() is None and time.monotonic() < ends_s:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
        assert "emerg" not in errors, errors


@needs_nginx
def test_nginx_has_nothing_against_the_configuration(tmp_path: Path) -> None:
    conf = nginx_conf(tmp_path, 1, 2, 3)
    done = subprocess.run(
        ["nginx", "-t", "-c", str(conf)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "test is successful" in done.stderr


@needs_nginx
async def test_two_talkers_behind_nginx_share_sockets_and_see_the_key(tmp_path: Path) -> None:
    """TLS, the upgrade, the key passed on, the fewest connections first, and nothing else reachable.

    That nginx's processes count together what each has open takes a zone; without it this fails now and then.
    """
    first = Emulator(SyntheticTalker(), Scenario(), api_key="k3y")
    second = Emulator(SyntheticTalker(), Scenario(), api_key="k3y")
    port = unused_port()
    async with first, second:
        with nginx(nginx_conf(tmp_path, port, first.port, second.port), port):
            context = ssl.create_default_context(cafile=tmp_path / "fullchain.pem")
            address = f"wss://127.0.0.1:{port}/v1/audio/speech/stream"
            key = {"Authorization": "Bearer k3y"}
            async with (
                connect(address, ssl=context, additional_headers=key) as one,
                connect(address, ssl=context, additional_headers=key) as other,
            ):
                for end in (one, other):
                    await end.send(json.dumps({"type": "session.config", "output_mode": "codec_tokens"}))
                    await end.send('{"type": "input.cancel"}')
                    assert "input.cancelled" in str(await end.recv())
                assert (len(first.sessions), len(second.sessions)) == (1, 1)
            async with httpx.AsyncClient(verify=context, base_url=f"https://127.0.0.1:{port}") as client:
                assert (await client.get("/health")).status_code == 200
                assert (await client.get("/v1/models")).status_code == 401
                assert (await client.get("/v1/models", headers=key)).status_code == 200
                assert (await client.get("/v1/audio/voices", headers=key)).status_code == 200
                assert (await client.get("/metrics", headers=key)).status_code == 404
    # A key stands in no log.
    assert "k3y" not in (tmp_path / "access.log").read_text()


@needs_nginx
async def test_nginx_passes_over_a_talker_that_is_gone(tmp_path: Path) -> None:
    port, gone = unused_port(), unused_port()
    async with Emulator(SyntheticTalker(), Scenario()) as there:
        with nginx(nginx_conf(tmp_path, port, gone, there.port), port):
            context = ssl.create_default_context(cafile=tmp_path / "fullchain.pem")
            for _ in range(3):
                async with connect(f"wss://127.0.0.1:{port}/v1/audio/speech/stream", ssl=context) as end:
                    await end.send(json.dumps({"type": "session.config", "output_mode": "codec_tokens"}))
                    await end.send('{"type": "input.cancel"}')
                    assert "input.cancelled" in str(await end.recv())
