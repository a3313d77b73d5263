"""Other users: who is told what. The system instance runs in a mount namespace of its own and leaves nothing behind."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

from support import (
    BIN, NOBODY, PATIENCE, Broker, Client, Sandbox, account, check, equal, event, events, mark, private,
    test)

# Becomes another user (uid, gid, groups). Not through the parent, and not before all is imported: that user may have no
# right to read this interpreter.
BECOME = """
import os, socket, sys
os.setgroups([int(word) for word in sys.argv[3].split()]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[1]))
"""
# Sends the lines of standard input to the socket that is named, and prints what comes back.
ASKER = BECOME + """
s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(sys.argv[4])
lines = sys.stdin.buffer.read(); s.sendall(lines)
text = b""
while text.count(b"\\n") < lines.count(b"\\n"):
    more = s.recv(65536)
    if not more: break
    text += more
sys.stdout.buffer.write(text)
"""


def ask(path, *calls, uid=NOBODY, gid=NOBODY, groups=()):
    """The answers that a process of that user gets; None where the connection was refused or closed."""
    lines = "".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
        for number, (method, params) in enumerate(calls))
    done = subprocess.run(
        [sys.executable, "-c", ASKER, str(uid), str(gid), " ".join(map(str, groups)), path], input=lines.encode(),
        capture_output=True, timeout=PATIENCE)
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    return [answers.get(number) for number in range(len(calls))]


def kind(answer):
    return answer["error"]["data"]["kind"] if answer and "error" in answer else "no error"


@contextlib.contextmanager
def open_directory():
    """A runtime directory that everybody may look into."""
    path = tempfile.mkdtemp(prefix="chatauth-e2e-run.", dir="/tmp")
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@test("another user's process gets no word of a user's own instance", root=True)
def other_user():
    with open_directory() as runtime:
        with Broker(account("bot"), runtime=runtime) as broker:
            broker.save("bot", mark("mine"))
            shutil.copy(os.path.join(BIN, "chatauth"), runtime)
            tool = [os.path.join(runtime, "chatauth"), "--socket", broker.socket_path, "get-token", "bot"]

            def run():
                return subprocess.run(tool, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, cwd="/",
                                      timeout=PATIENCE)
            closed = run()
            equal((closed.returncode, closed.stdout), (3, b""), "the file system's word")
            # As if somebody had opened the socket by mistake.
            os.chmod(broker.socket_path, 0o666)
            opened = run()
            equal((opened.returncode, opened.stdout), (4, b""), "the broker's word")
            got, unknown, listed, status, added, saved = ask(
                broker.socket_path, ("token.get", {"account": "bot"}), ("token.get", {"account": "no-such"}),
                ("account.list", {}), ("daemon.status", {}), ("account.add", {"account": "x"}),
                ("credentials.save_token", {"account": "bot", "token": "evil"}))
            equal(kind(got), "account_unknown", "get")
            equal(got["error"], unknown["error"], "the same answer as for an account that is not there")
            equal(listed["result"]["accounts"], [], "list")
            equal(status["result"]["accounts"]["total"], 0, "status counts nothing")
            check("path" not in status["result"]["store"] and "worker" not in status["result"], "nor says more")
            equal((kind(added), kind(saved)), ("permission_denied", "account_unknown"), "admin and operate")
            denials = [line for line in broker.audit_lines() if b'"denied' in line]
            check(any(b'"uid":65534' in line for line in denials), "denials are in the audit log")


@contextlib.contextmanager
def system(*accounts, settings=""):
    """A system instance whose fixed directories lie in memory that only it sees."""
    script = "mount -t tmpfs tmpfs /var/lib && mount -t tmpfs tmpfs /var/log && exec \"$@\""
    with open_directory() as runtime:
        broker = Broker(*accounts, settings=settings, runtime=runtime, arguments=["--system"],
                        prefix=["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"])
        # The system instance makes no key; it is given one.
        private(os.path.join(broker.state, "master.key"), key())
        with broker:
            yield broker, os.path.join(runtime, "chatauth-admin.sock")


def key():
    """A key in the form that the broker itself writes."""
    with Broker() as other:
        with open(os.path.join(other.state, "master.key"), "rb") as file:
            return file.read()


def admin(path, method, **params):
    client = Client(path, PATIENCE)
    with contextlib.closing(client):
        return client.call(method, params)


@test("R62: the system instance: users and groups get what their rules say, and everybody else nothing", root=True)
def rules():
    accounts = [
        account("by-user", allow={"use": [{"user": "nobody"}]}),
        account("by-group", allow={"use": [{"group": "daemon"}]}),
        account("by-both", allow={"use": [{"user": "nobody", "group": "daemon"}]}),
        account("operated", allow={"operate": [{"user": "nobody"}]}),
        account("hidden"),
    ]
    names = ["by-user", "by-group", "by-both", "operated", "hidden"]
    with system(*accounts) as (broker, admin_path):
        for name in names:
            admin(admin_path, "credentials.save_token", account=name, token=f"token-{name}")
        calls = [("token.get", {"account": name}) for name in names]

        def allowed(**who):
            return [name for name, answer in zip(names, ask(broker.socket_path, *calls, **who)) if "result" in answer]

        equal(allowed(), ["by-user", "operated"], "nobody")
        equal(allowed(groups=[1]), ["by-user", "by-group", "by-both", "operated"], "nobody with the group")
        equal(allowed(uid=1, gid=1), ["by-group"], "another user by primary group")
        equal(allowed(uid=2, gid=2), [], "a stranger")
        equal(allowed(uid=0, gid=0), [], "root, but not on the admin socket")
        saved, operated, listed, reload = ask(
            broker.socket_path, ("credentials.save_token", {"account": "by-user", "token": "x"}),
            ("credentials.save_token", {"account": "operated", "token": "x"}), ("account.list", {}),
            ("daemon.reload", {}))
        equal((kind(saved), kind(reload)), ("permission_denied", "permission_denied"), "roles")
        check("result" in operated, "operate")
        equal([item["account"] for item in listed["result"]["accounts"]], ["by-user", "operated"], "list")
        equal(len(admin(admin_path, "account.list")["accounts"]), 5, "admin's list")
        mode = os.stat(broker.socket_path).st_mode & 0o777, os.stat(admin_path).st_mode & 0o777
        equal(mode, (0o666, 0o660), "modes")
        audit = f"/proc/{broker.pid}/root/var/log/chatauth"
        text = b"".join(open(os.path.join(audit, name), "rb").read() for name in os.listdir(audit))
        check(b'"uid":65534' in text and b'"denied' in text and b'"handed_out' in text, "audit log")


@test("a user that may only use an account forces one refresh in 30 s; an operator may more often", root=True)
def forcing():
    with Sandbox() as sandbox:
        rules = {"use": [{"user": "nobody"}], "operate": [{"user": "daemon"}]}
        with system(account("bot", sandbox.source("bot"), allow=rules)) as (broker, admin_path):
            force = ("token.get", {"account": "bot", "force": True})
            # Not while the first one is out, which a forced call would share and which counts for nobody.
            admin(admin_path, "token.get", account="bot")
            first, = ask(broker.socket_path, force)
            second, = ask(broker.socket_path, force)
            check("result" in first, first)
            equal((kind(second), second["error"]["data"]["retry_after_seconds"] > 20), ("rate_limited", True), "again")
            asked = len(sandbox.journal("bot"))
            rejected, = ask(broker.socket_path, ("token.reject", {"account": "bot"}))
            equal(kind(rejected), "rate_limited", "reject falls under the same limit")
            equal(len(sandbox.journal("bot")), asked, "nothing was asked")
            operator, = ask(broker.socket_path, force, uid=1, gid=1)
            check("result" in operator, "operator")


@test("one user's connections take none of another's", root=True)
def shares():
    with system(account("bot", allow={"use": [{"user": "nobody"}]}), settings="[limits]\nconnections_shared = 4\n") as (
            broker, admin_path):
        admin(admin_path, "credentials.save_token", account="bot", token="t")
        flood = BECOME + f"""
held = []
for _ in range(20):
    s = socket.socket(socket.AF_UNIX); s.connect({broker.socket_path!r}); held.append(s)
print("held", flush=True); sys.stdin.read()
"""
        process = subprocess.Popen(
            [sys.executable, "-c", flood, "2", "2", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with process:
            process.stdout.readline()
            got, = ask(broker.socket_path, ("token.get", {"account": "bot"}))
            check(got and "result" in got, "the named user")
            equal(ask(broker.socket_path, ("rpc.hello", {}), uid=3, gid=3), [None], "another stranger")
            check(admin(admin_path, "daemon.status")["connections"] <= 6, "connections")
            process.stdin.close()
        check(ask(broker.socket_path, ("rpc.hello", {}), uid=3, gid=3)[0], "when they are gone")


@test("events of an account go to those who may use it", root=True)
def filtered():
    with system(account("open", allow={"use": [{"user": "root"}]}), account("closed")) as (broker, admin_path):
        client = broker.client()
        state = events(client, "token")
        equal([item["account"] for item in state["accounts"]], ["open"], "state")
        admin(admin_path, "credentials.save_token", account="closed", token="t")
        admin(admin_path, "credentials.save_token", account="open", token="t")
        equal(event(client, "token.changed")["account"], "open", "the first that comes")
