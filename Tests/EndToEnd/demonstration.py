"""`make demo`: it shows what it promises and leaves nothing behind, also when it is interrupted."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

from support import BIN, IS_ROOT, ROOT, Following, check, equal, eventually, needs, test


def demo(temporary, platform=""):
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"CHATAUTH_BIN": BIN, "TMPDIR": temporary, "PLATFORM": platform}
    return ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), os.path.join(ROOT, "scripts/demo")]


@contextlib.contextmanager
def place():
    """A directory through which everybody may pass: the demo shows what another user is told."""
    needs("curl")
    path = tempfile.mkdtemp(prefix="chatauth-e2e-demo.", dir="/tmp")
    os.chmod(path, 0o711)
    try:
        yield path
    finally:
        # A demo that failed to clean up is a failed test, but not a reason to leave its processes behind.
        for pid in left(path):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(path)


def left(temporary):
    """Processes whose command line names the directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if temporary.encode() in file.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


@test("the demo shows a token and its refresh before it ends, and leaves nothing behind", slow=True)
def shown():
    with place() as temporary:
        done = subprocess.run(demo(temporary), capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
        equal(done.returncode, 0, done.stdout[-800:] + done.stderr)
        tokens = re.findall(r"get-token support-bot\n  ([\w-]{40,})\n", done.stdout)
        equal(len(set(tokens)), 2, f"tokens {tokens}")
        check("generation=2" in done.stdout and '"requests":2' in done.stdout, done.stdout)
        if IS_ROOT and shutil.which("setpriv"):
            check("no such account, or not allowed" in done.stdout, "what another user is told")
        equal((os.listdir(temporary), left(temporary)), ([], []), "what is left")


@test("a demo that is interrupted leaves nothing behind")
def interrupted():
    with place() as temporary, Following("setsid", *demo(temporary)) as running:
        running.line("Refreshed before it ends")
        check(len(left(temporary)) >= 2, "it is running")
        # As a terminal does: to the whole group.
        os.killpg(running.process.pid, signal.SIGINT)
        running.line("Ended")
        equal(running.process.wait(20), 130, "exit status")
        eventually(lambda: not os.listdir(temporary) and not left(temporary), "nothing is left")


def shows(platform, *words):
    with place() as temporary:
        done = subprocess.run(
            demo(temporary, platform), capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
        equal(done.returncode, 0, done.stdout[-1500:] + done.stderr)
        for word in ("nothing to complain about", *words):
            check(word in done.stdout, f"{word!r} in {done.stdout}")
        equal((os.listdir(temporary), left(temporary)), ([], []), "what is left")


@test("the demo of Kindly shows a chat that is bound and signed out")
def kindly():
    shows("kindly", "get-token shop-bot\n  eyJ", "backend", "kindly-chat-uuid: ", '"user":"user-42"')


@test("the demo of Chatbase shows an identity, a logout and a refusal")
def chatbase():
    shows("chatbase", "X-User-Token: eyJ", "X-Device-Id: ", "anonymous", "refused")


@test("the demo of social.plus shows a session and a ban")
def socialplus():
    shows("socialplus", "not_logged_in", "established", "terminated")
