"""The README's platform sections, carried out as they stand, against the stand-ins.

What is between the fences is what somebody types: nothing is changed in it but the sandbox's port, since another may be in use.
"""

import os
import re
import subprocess
import tempfile

from support import BIN, ROOT, SCRATCH, Broker, Sandbox, check, equal, needs, test


def commands(platform):
    """The block of a platform's section."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        section = re.search(rf"^### {re.escape(platform)}\n(.*?)(?=^### |^## )", file.read(), re.M | re.S)
    check(section, f"the README has a section on {platform}")
    block = re.search(r"^```sh\n(.*?)^```", section[1], re.M | re.S)
    check(block, f"the section on {platform} has commands")
    return block[1]


def count(script):
    """How many commands somebody types: here-documents and continued lines are one."""
    script = re.sub(r"<<'END'\n.*?\nEND\n", "\n", script, flags=re.S)
    script = re.sub(r"(\||\\\\)\n\s+", "| ", script)
    return len(script.strip().split("\n"))


def followed(platform):
    """Runs the block and returns what was printed."""
    needs("curl")
    needs("openssl")
    script = commands(platform)
    check(count(script) <= 6, f"{count(script)} commands for {platform}")
    with Broker() as broker, Sandbox() as sandbox, tempfile.TemporaryDirectory(dir=SCRATCH or None) as place:
        # The sandbox of this test is there already, on a port of its own.
        script = re.sub(r"^chatauth-sandbox .*&\n", "", script, count=1, flags=re.M)
        script = script.replace("127.0.0.1:4180", f"127.0.0.1:{sandbox.port}")
        environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": place, "CHATAUTH_SOCKET": broker.socket_path}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=place, env=environment, capture_output=True, text=True, timeout=120)
        equal(done.returncode, 0, done.stdout + done.stderr)
        equal(sandbox.request("GET", "/_sandbox/violations")["violations"], [], "what the platform complains about")
        return done.stdout


@test("the README's commands for Kindly lead to a token")
def kindly():
    check(re.search(r"^eyJ[\w-]+\.[\w-]+\.[\w-]+$", followed("Kindly"), re.M), "a token")


@test("the README's commands for Chatbase lead to a token")
def chatbase():
    check(re.search(r"^eyJ[\w-]+\.[\w-]+\.[\w-]+$", followed("Chatbase"), re.M), "a token")


@test("the README's commands for social.plus lead to a token")
def social_plus():
    check(re.search(r"^[\w-]+\.[\w-]+\.[\w-]+$", followed("social.plus"), re.M), "a token")
