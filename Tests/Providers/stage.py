"""What the tests against real providers stand on: a provider, a tap before it, and a broker whose account is its client."""

import contextlib
import json
import os
import subprocess
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "Tests/EndToEnd"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Broker, Certificates, Skipped, scratch, toml  # noqa: E402

import glewlwyd  # noqa: E402
from glewlwyd import Glewlwyd  # noqa: E402
from tap import Tap  # noqa: E402

TOKEN_PATH = "/api/oidc/token"
# Tests run beside each other; one of them installs what is missing.
INSTALLING = threading.Lock()


def install():
    """Installs glewlwyd where that can be done, without starting its service; says why where it cannot."""
    with INSTALLING:
        _install()


def _install():
    if not glewlwyd.packages():
        return
    if os.geteuid() != 0:
        raise Skipped("glewlwyd is not installed, and only root can install it")
    policy, made = "/usr/sbin/policy-rc.d", False
    if not os.path.exists(policy):
        with open(policy, "w") as file:
            file.write("#!/bin/sh\nexit 101\n")
        os.chmod(policy, 0o755)
        made = True
    try:
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        for command in (["update"], ["install", "--yes", "--no-install-recommends", *glewlwyd.packages()]):
            done = subprocess.run(
                ["apt-get", "--quiet=2", "--option", "DPkg::Lock::Timeout=300", *command],
                capture_output=True, text=True, env=environment)
            if done.returncode and command[0] == "install":
                raise Skipped("glewlwyd cannot be installed: " + done.stderr.strip().splitlines()[-1])
    finally:
        if made:
            os.unlink(policy)


@contextlib.contextmanager
def provider(access_seconds=60):
    """A glewlwyd behind a tap; its metadata lead to the tap."""
    install()
    # The tap is made first: the provider has to know under which name it is reached.
    tap = Tap(0, Certificates.path("server.pem"), Certificates.path("server.key"), Certificates.path("ca.pem"),
              TOKEN_PATH)
    with tap, Glewlwyd(
            scratch("glewlwyd"), Certificates.path("server.pem"), Certificates.path("server.key"),
            Certificates.path("ca.pem"), url=tap.url, access_seconds=access_seconds) as idp:
        tap.upstream_port = idp.port
        yield idp, tap


def source(idp, **members):
    """An oauth source that is the provider's client."""
    settings = {
        "kind": "oauth", "issuer": idp.issuer, "client_id": glewlwyd.CLIENT,
        "client_secret": {"secret": "desk-secret"}, "ca_file": Certificates.path("ca.pem"), "timeout": 5,
    }
    settings.update(members)
    return {key: value for key, value in settings.items() if value is not None}


def account(name, source, **members):
    """The text of one account of an OAuth provider."""
    lines = [f"[account.{json.dumps(name)}]", 'provider = "oauth"']
    lines += [f"{key} = {toml(value)}" for key, value in members.items()]
    lines += [f"[account.{json.dumps(name)}.source]"]
    lines += [f"{key} = {toml(value)}" for key, value in source.items()]
    return "\n".join(lines) + "\n"


def give(broker, idp, grant="desk", secret=glewlwyd.CLIENT_SECRET):
    """Sets the client's secret and imports a new refresh token, as an operator would."""
    for arguments, value in ((("secret", "set", "desk-secret"), secret), (("grant", "import", grant), idp.sign_in())):
        done = broker.cli(*arguments, given=value.encode() + b"\n")
        if done.returncode:
            raise AssertionError(f"chatauth {' '.join(arguments)}: {done.stderr.decode()}")


def grant(broker, name="desk"):
    """What the broker says of a grant."""
    return next(entry for entry in broker.call("grant.list")["grants"] if entry["grant"] == name)


__all__ = ["Broker", "Skipped", "Tap", "account", "give", "grant", "provider", "source", "glewlwyd"]
