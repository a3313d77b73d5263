"""What runs inside the machine of machine.py, as root: the installed units at work, in the order of an operator's day."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
RPC, ADMIN = "/run/chatauth/chatauth.sock", "/run/chatauth/chatauth-admin.sock"
CREDENTIAL = "/etc/chatauth/master.key.cred"
UNITS = ["chatauthd.socket", "chatauthd-admin.socket", "chatauth-fetch.socket"]
PATIENCE = 30

SHORT = "--short" in sys.argv
WORDS = [word for word in sys.argv[1:] if not word.startswith("--")]
tests = []


class Skipped(Exception):
    pass


def test(name):
    def register(function):
        tests.append((name, function))
        return function
    return register


def run(*command, user=None, check=False, given=None, timeout=PATIENCE):
    if user:
        command = ("runuser", "-u", user, "--", *command)
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=not isinstance(given, bytes),
                          timeout=timeout, cwd="/")
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{journal()}")
    return done


def journal(lines=40):
    return subprocess.run(["journalctl", "-q", "--no-pager", "-n", str(lines)], stdout=subprocess.PIPE, text=True).stdout


def check(condition, what):
    if not condition:
        raise AssertionError(what() if callable(what) else what)


def equal(found, wanted, what):
    check(found == wanted, f"{what}: {found!r} instead of {wanted!r}")


def eventually(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        check(time.monotonic() < end, lambda: f"{what}\n{journal()}")
        time.sleep(0.05)


def systemctl(*arguments, check=True):
    return run("systemctl", *arguments, check=check, timeout=90).stdout.strip()


def prop(unit, name):
    return systemctl("show", "--value", "-p", name, unit)


def main_pid(unit="chatauthd.service"):
    """The main process; 0 while there is none."""
    return int(prop(unit, "MainPID"))


def kill(unit, number):
    """Sends a signal to the main process, and returns which that was."""
    pid = main_pid(unit)
    check(pid > 1, f"{unit} does not run")
    os.kill(pid, number)
    return pid


def status():
    return json.loads(run("chatauth", "--socket", ADMIN, "status", "--json", check=True).stdout)


def token(account="bot", user="alice", **options):
    return run("chatauth", "get-token", account, user=user, **options)


def write(path, text, mode=0o644):
    with open(path, "wb" if isinstance(text, bytes) else "w") as file:
        file.write(text)
    os.chmod(path, mode)


def encrypt(key):
    """What README tells an operator to do."""
    if os.path.exists(CREDENTIAL):
        os.unlink(CREDENTIAL)
    done = subprocess.run(["systemd-creds", "encrypt", "--with-key=host", "--name=chatauth-master-key", "-", CREDENTIAL],
                          input=key, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f"systemd-creds: {done.stdout!r}")


KEY = os.urandom(32)


def set_up():
    for user in ("alice", "bob", "carol"):
        run("useradd", "-m", user, check=True)
    write("/usr/share/ca.pem", open(f"{HERE}/ca/ca.pem").read())
    write("/etc/chatauth/accounts.d/bot.toml", """
[account.bot]
provider = "generic"
[account.bot.source]
kind = "http"
url = "https://backend.test:18443/backend/bot/token"
fields = { id_token = "token" }
ca_file = "/usr/share/ca.pem"
[account.bot.allow]
use = [{ user = "alice" }]
""")
    run("systemd-run", "--unit=backend", "/usr/bin/chatauth-sandbox", "--port", "18080", "--tls-port", "18443",
        "--certificate", f"{HERE}/ca/server.pem", "--key", f"{HERE}/ca/server.key", check=True)
    run("systemd-sysusers", check=True)
    run("systemd-tmpfiles", "--create", "/usr/lib/tmpfiles.d/chatauth.conf", check=True)
    encrypt(KEY)
    systemctl("daemon-reload")
    systemctl("enable", "chatauthd.service", *UNITS, "chatauth-unseal.service")
    systemctl("start", *UNITS)

    def is_up():
        try:
            return urllib.request.urlopen("http://127.0.0.1:18080/_sandbox/journal?backend=bot", timeout=2).status == 200
        except OSError:
            return False
    eventually(is_up, "the stand-in backend does not answer")


@test("the first request of an ordinary user starts the broker, opens the store and gets a token over TLS")
def first_token():
    equal(prop("chatauthd.service", "ActiveState"), "inactive", "before the first request")
    got = token()
    check(got.returncode == 0 and len(got.stdout.strip()) > 20, lambda: f"{got.returncode} {got.stderr}\n{journal()}")
    now = status()
    equal(now["store"]["state"], "open", "store")
    equal(now["worker"], {"state": "running", "kind": "unit"}, "worker")
    equal(now["instance"], "system", "instance")
    eventually(lambda: "1 accounts fresh" in prop("chatauthd.service", "StatusText"), "status text")


@test("another user gets no token, and learns of no account")
def denied():
    got = token(user="bob")
    equal((got.returncode, got.stdout), (4, ""), "bob")
    unknown = token("no-such", user="bob")
    equal(got.stderr.replace("bot", "no-such"), unknown.stderr, "the same words")
    refused = run("chatauth", "--socket", ADMIN, "status", user="bob")
    check(refused.returncode != 0, "the administration socket is closed to bob")


@test("a rule by unit lets a process of that unit in, and the same user outside of it not")
def rule_by_unit():
    write("/etc/chatauth/accounts.d/kiosk.toml", open("/etc/chatauth/accounts.d/bot.toml").read().replace(
        "account.bot", "account.kiosk").replace('{ user = "alice" }', '{ user = "alice", unit = "kiosk.service" }'))
    systemctl("reload", "chatauthd.service")
    eventually(lambda: status()["accounts"]["total"] == 2, "the account is not there")

    def within(unit):
        return run("systemd-run", "--quiet", "--pipe", "--wait", "--collect", f"--unit={unit}", "-p", "User=alice",
                   "/usr/bin/chatauth", "get-token", "kiosk")
    inside = within("kiosk.service")
    check(inside.returncode == 0 and inside.stdout.strip(), lambda: f"{inside.stderr}\n{journal()}")
    for refused in (token("kiosk"), within("other.service")):
        equal((refused.returncode, refused.stdout), (4, ""), "outside of the unit")
    os.unlink("/etc/chatauth/accounts.d/kiosk.toml")
    systemctl("reload", "chatauthd.service")
    eventually(lambda: status()["accounts"]["total"] == 1, "the account is still there")


@test("broker and worker are other users, behind the walls of their units")
def walls():
    broker, worker = main_pid(), main_pid("chatauth-fetch.service")
    names = {pid: open(f"/proc/{pid}/status").read() for pid in (broker, worker)}
    uids = {pid: next(line.split()[1] for line in text.splitlines() if line.startswith("Uid:")) for pid, text in names.items()}
    equal(int(uids[broker]), int(run("id", "-u", "chatauth", check=True).stdout), "the broker's user")
    check(uids[worker] not in (uids[broker], "0"), "the worker's user")
    for pid, text in names.items():
        values = dict(line.split(":", 1) for line in text.splitlines())
        equal((values["CapEff"].strip(), values["CapBnd"].strip()), ("0" * 16, "0" * 16), "capabilities")
        equal((values["NoNewPrivs"].strip(), values["Seccomp"].strip()), ("1", "2"), "seccomp")
    own, theirs = (os.readlink(f"/proc/{pid}/ns/net") for pid in ("self", broker))
    check(own != theirs, "the broker has no network")
    equal(os.readlink(f"/proc/{worker}/ns/net"), own, "the worker has the machine's")
    # The store lies where the unit says, and nobody but the broker can read it.
    for path in ("/var/lib/chatauth", "/var/lib/chatauth-epoch", "/var/log/chatauth"):
        equal(os.stat(path).st_mode & 0o777, 0o700, path)
    check(os.path.exists("/var/lib/chatauth/store.db"), "SQLite under full hardening")
    equal(prop("chatauth-fetch.service", "DynamicUser"), "yes", "dynamic")


@test("the worker's socket is the broker's alone, and the worker asks the kernel who came")
def worker_socket():
    path = "/run/chatauth/fetch.sock"
    equal(os.stat(path).st_mode & 0o777, 0o600, "mode")
    code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({path!r}); s.sendall(b'x\\n'); print(s.recv(10))"
    refused = run("python3", "-c", code, user="alice")
    check("PermissionError" in refused.stderr, "the file system's word")
    # As if somebody had opened it by mistake.
    os.chmod(path, 0o666)
    try:
        closed = run("python3", "-c", code, user="alice")
        check("b''" in closed.stdout or "ConnectionReset" in closed.stderr or "BrokenPipe" in closed.stderr,
              f"the worker's word: {closed.stdout} {closed.stderr}")
    finally:
        os.chmod(path, 0o600)
    check(token().returncode == 0, "the broker is served on")


@test("a worker that is killed is replaced, and the broker finds the next one")
def worker_dies():
    run("chatauth", "--socket", ADMIN, "auth", "refresh", "bot", check=True)
    before = kill("chatauth-fetch.service", signal.SIGKILL)
    admin = ("chatauth", "--socket", ADMIN, "auth", "refresh", "bot")
    eventually(lambda: run(*admin).returncode == 0, "no refresh after the worker was killed")
    after = main_pid("chatauth-fetch.service")
    check(after not in (0, before), "another worker")


@test("journal fields and message ids are there to be searched for")
def journal_fields():
    lines = run("journalctl", "-q", "--no-pager", "-o", "json", "-u", "chatauthd.service", check=True).stdout.splitlines()
    entries = [json.loads(line) for line in lines]
    ids = {entry["MESSAGE_ID"] for entry in entries if "MESSAGE_ID" in entry and "CHATAUTH_COUNT" in entry}
    check(any(name.startswith("5a4f0c1a6f6b4cb5") for name in ids), f"{ids}")


@test("the broker reloads by systemctl, and says so")
def reload():
    before = main_pid()
    write("/etc/chatauth/accounts.d/two.toml", """
[account.two]
provider = "generic"
[account.two.allow]
use = [{ user = "bob" }]
""")
    systemctl("reload", "chatauthd.service")
    eventually(lambda: status()["accounts"]["total"] == 2, "the second account is not there")
    equal(main_pid(), before, "the same process")
    equal(prop("chatauthd.service", "ActiveState"), "active", "state")


@test("the sockets stay when the broker stops, and the next request starts it")
def sockets_stay():
    systemctl("stop", "chatauthd.service")
    check(os.path.exists(RPC) and os.path.exists(ADMIN), "sockets")
    equal(prop("chatauthd.service", "Result"), "success", "how it ended")
    check(token().returncode == 0, "a token again")


@test("restarts under load refuse no connection and lose no credential")
def restarts():
    rounds = 10 if SHORT else 100
    stop, failures, answers, retries = threading.Event(), [], [], []

    def load():
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "token.get", "params": {"account": "bot"}}) + "\n"
        script = ("import os,pwd,socket,sys\n"
                  "user=pwd.getpwnam('alice'); os.setgroups([]); os.setgid(user.pw_gid); os.setuid(user.pw_uid)\n"
                  "for line in sys.stdin:\n"
                  "    s=socket.socket(socket.AF_UNIX); s.settimeout(25)\n"
                  f"    try: s.connect({RPC!r})\n"
                  "    except OSError as error: print('refused', error, flush=True); continue\n"
                  "    text=b''\n"
                  "    try:\n"
                  f"        s.sendall({request.encode()!r})\n"
                  "        while not text.endswith(b'\\n'):\n"
                  "            more=s.recv(65536)\n"
                  "            if not more: break\n"
                  "            text+=more\n"
                  "    except TimeoutError as error: text=repr(error).encode()\n"
                  "    except OSError: text=b''\n"
                  "    s.close()\n"
                  "    print('token' if b'bearer_token' in text else 'again '+text.decode(errors='replace').strip(), flush=True)\n")
        process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while not stop.is_set():
            process.stdin.write("\n")
            process.stdin.flush()
            line = process.stdout.readline().strip()
            (answers if line == "token" else failures if line.startswith("refused") else retries).append(line)
        process.stdin.close()
        process.wait(30)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun = time.monotonic()
    try:
        for _ in range(rounds):
            # So many restarts a second are the test's doing, and no crash loop.
            systemctl("reset-failed", "chatauthd.service", check=False)
            served = len(answers)
            systemctl("restart", "chatauthd.service")
            eventually(lambda: len(answers) > served, "nobody was served after a restart")
    finally:
        took = time.monotonic() - begun
        stop.set()
        for thread in threads:
            thread.join()
    print(f"    {rounds} restarts in {took:.1f} s: {len(answers)} tokens, {len(retries)} asked again, {len(failures)} refused")
    equal(failures, [], "refused connections")
    strange = [line for line in retries if line != "again" and "shutting_down" not in line]
    equal(strange[:3], [], "answers that are neither a token nor a word to come again")
    check(len(answers) > rounds, "there were answers")
    check(token().returncode == 0, "and a token after all")


@test("a broker that hangs is ended by the watchdog and comes back")
def watchdog():
    os.makedirs("/run/systemd/system/chatauthd.service.d", exist_ok=True)
    write("/run/systemd/system/chatauthd.service.d/watchdog.conf", "[Service]\nWatchdogSec=2\n")
    systemctl("daemon-reload")
    systemctl("restart", "chatauthd.service")
    before = main_pid()
    time.sleep(5)
    equal(main_pid(), before, "one that lives is left alone")
    kill("chatauthd.service", signal.SIGSTOP)
    eventually(lambda: main_pid() not in (0, before), "it was not replaced", 40)
    check(token().returncode == 0, "it serves again")
    os.unlink("/run/systemd/system/chatauthd.service.d/watchdog.conf")
    systemctl("daemon-reload")


@test("a key that cannot be decrypted leaves a broker that runs, sealed, and says so; the right one opens it later")
def undecryptable():
    systemctl("stop", "chatauthd.service")
    good = open(CREDENTIAL, "rb").read()
    # The key of another machine.
    write(CREDENTIAL, good[:-40] + b"A" * 38 + b"\n", 0o600)
    systemctl("start", "chatauthd.service")
    equal(prop("chatauthd.service", "ActiveState"), "active", "the broker")
    eventually(lambda: prop("chatauth-unseal.service", "ActiveState") == "failed", "the unseal unit did not fail")
    now = status()
    equal((now["state"], now["store"]["state"]), ("running", "sealed"), "state")
    equal(now["store"]["kind"], "store_sealed", "kind")
    check("sealed" in prop("chatauthd.service", "StatusText"), "status text")
    got = token()
    check(got.returncode != 0 and got.stdout == "" and "sealed" in got.stderr, f"{got.stderr}")

    # A key that decrypts and is another one.
    encrypt(os.urandom(32))
    check(run("systemctl", "start", "chatauth-unseal.service").returncode != 0, "a wrong key fails the unit")
    now = status()
    equal((now["store"]["state"], now["store"]["kind"]), ("sealed", "key_wrong"), "after a wrong key")

    write(CREDENTIAL, good, 0o600)
    systemctl("reset-failed", "chatauth-unseal.service")
    systemctl("start", "chatauth-unseal.service")
    equal(status()["store"]["state"], "open", "after the right key")
    check(token().returncode == 0, "a token")


@test("without a credential the broker waits for `chatauth store unseal`")
def by_hand():
    systemctl("stop", "chatauthd.service")
    os.rename(CREDENTIAL, CREDENTIAL + ".away")
    try:
        systemctl("start", "chatauthd.service")
        equal(status()["store"]["state"], "sealed", "state")
        short = run("chatauth", "--socket", ADMIN, "store", "unseal", given=KEY[:31])
        check(short.returncode != 0 and b"32 bytes" in short.stderr, f"{short.stderr}")
        refused = run("chatauth", "store", "unseal", user="alice", given=KEY)
        check(refused.returncode != 0, "not for alice")
        opened = run("chatauth", "store", "unseal", given=KEY)
        check(opened.returncode == 0, f"{opened.stderr}")
        check(token().returncode == 0, "a token")
    finally:
        os.rename(CREDENTIAL + ".away", CREDENTIAL)


@test("a lingering user has an instance of his own")
def user_instance():
    if run("loginctl", "enable-linger", "carol").returncode:
        raise Skipped("no logind here")
    uid = int(run("id", "-u", "carol", check=True).stdout)
    bus = f"/run/user/{uid}/bus"
    try:
        eventually(lambda: os.path.exists(f"/run/user/{uid}/systemd/private"), "the user's manager", 15)
    except AssertionError as reason:
        raise Skipped("no user manager comes up here") from reason
    environment = ("env", f"XDG_RUNTIME_DIR=/run/user/{uid}", f"DBUS_SESSION_BUS_ADDRESS=unix:path={bus}")

    def carol(*command, **options):
        return run(*environment, *command, user="carol", **options)
    os.makedirs("/home/carol/.config/chatauth/accounts.d")
    write("/home/carol/.config/chatauth/accounts.d/mine.toml", open("/etc/chatauth/accounts.d/bot.toml").read().split(
        "[account.bot.allow]")[0].replace("account.bot", "account.mine"), 0o600)
    run("chown", "-R", "carol:carol", "/home/carol", check=True)
    carol("systemctl", "--user", "daemon-reload", check=True)
    carol("systemctl", "--user", "start", "chatauthd.socket", check=True)
    got = carol("chatauth", "get-token", "mine")
    check(got.returncode == 0 and got.stdout.strip(), lambda: f"{got.stderr}\n{journal()}")
    now = json.loads(carol("chatauth", "status", "--json", check=True).stdout)
    equal((now["instance"], now["worker"]["kind"], now["store"]["state"]), ("user", "child", "open"), "status")
    equal(os.stat("/home/carol/.config/chatauth/master.key").st_mode & 0o777, 0o600, "key file")
    refused = run("chatauth", "--socket", f"/run/user/{uid}/chatauth/chatauth.sock", "get-token", "mine", user="bob")
    check(refused.returncode != 0 and refused.stdout == "", "nothing for bob")


def main():
    set_up()
    failures = 0
    for name, function in tests:
        if WORDS and not any(word in name for word in WORDS) and function is not first_token:
            continue
        begun = time.monotonic()
        try:
            function()
        except Skipped as reason:
            print(f"SKIPPED: {name} ({reason})", flush=True)
        except BaseException:
            failures += 1
            print(f"FAILED: {name}", flush=True)
            print("".join(f"    {line}\n" for line in traceback.format_exc().splitlines()[-60:]), flush=True)
        else:
            print(f"PASSED: {name}", flush=True)
            if os.environ.get("CHATAUTH_TIMES"):
                print(f"    {time.monotonic() - begun:.1f} s")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
