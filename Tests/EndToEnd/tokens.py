"""Saving and getting credentials, and the forms in which the command line gives them."""

import base64
import json
import os
import subprocess
import time

from support import BIN, Broker, Sandbox, account, check, equal, eventually, mark, needs, refused, test

LONGEST = 256 * 1024


def jwt(**claims):
    """A JWT whose signature is made up."""
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    return ".".join(part(json.dumps(piece).encode()) for piece in ({"alg": "HS256"}, claims)) + "." + part(os.urandom(32))


@test("a saved credential is handed out, and again after a restart")
def saved():
    with Broker(account("bot")) as broker:
        refused("no_source", broker.get, "bot")
        token, expiry = mark("saved"), int(time.time()) + 3600
        equal(broker.save("bot", token, expires_at=expiry)["generation"], 1, "generation")
        for _ in range(2):
            answer = broker.get("bot")
            equal(answer["bearer_token"], token, "bearer")
            equal((answer["expires_at"], answer["expiry_source"]), (expiry, "hint"), "expiry")
            equal((answer["generation"], answer["token_type"], answer["state"]), (1, "Bearer", "fresh"), "facts")
            broker.restart()


@test("a credential that was killed with its broker is there again")
def killed():
    with Broker(account("bot")) as broker:
        token = mark("killed")
        broker.save("bot", token)
        broker.kill()
        broker.start()
        equal(broker.get("bot")["bearer_token"], token, "bearer")


@test("saving replaces the whole credential, and what is given out is of one generation")
def wholesale():
    with Broker(account("bot")) as broker:
        broker.call("credentials.save", account="bot", id_token="id-1", access_token="access-1", issuer="https://i")
        answer = broker.get("bot")
        equal((answer["bearer_token"], answer["companion_access_token"], answer["issuer"]),
              ("id-1", "access-1", "https://i"), "pair")
        broker.call("credentials.save", account="bot", access_token="access-2")
        answer = broker.get("bot")
        equal((answer["bearer_token"], answer["generation"]), ("access-2", 2), "second")
        check("companion_access_token" not in answer and "issuer" not in answer, "nothing stays of the first")
        broker.call("credentials.delete", account="bot")
        refused("no_source", broker.get, "bot")
        refused("credential_empty", broker.call, "credentials.save", account="bot", id_token="")


@test("the expiry that ends first wins, and hostile ones count as unknown")
def expiries():
    now = int(time.time())
    with Broker(account("bot")) as broker:
        for hint, wanted, source in [
                (now + 600, now + 600, "hint"), ((now + 600) * 1000, now + 600, "hint"),
                (str(now + 600), now + 600, "hint"), (now + 600.9, now + 600, "hint"),
                ("2099-01-01T00:00:00Z", now + 900, "exp"), (1e300, now + 900, "exp"), ("soon", now + 900, "exp")]:
            broker.save("bot", jwt(exp=now + 900), expires_at=hint)
            answer = broker.get("bot")
            equal((answer["expires_at"], answer["expiry_source"]), (wanted, source), f"hint {hint!r}")
        for hint in (0, -5):
            broker.save("bot", "opaque", expires_at=hint)
            refused("no_source", broker.get, "bot")
        broker.save("bot", "opaque")
        answer = broker.get("bot")
        equal((answer["expires_at"], answer["refresh_at"]), (None, None), "unknown is for ever")


@test("tokens of 70 KB and 256 KiB and a pair of them pass; one byte more is refused, saved or fetched")
def sizes():
    with Sandbox() as sandbox:
        sandbox.settings("long", token_bytes=LONGEST)
        sandbox.settings("pair", token_bytes=LONGEST, fields={"id_token": "token", "access_token": "second"})
        sandbox.settings("longer", token_bytes=LONGEST + 1)
        pair = sandbox.source("pair", fields={"id_token": "token", "access_token": "second"})
        with Broker(account("bot"), account("long", sandbox.source("long")), account("pair", pair),
                    account("longer", sandbox.source("longer"))) as broker:
            for size in (70_000, LONGEST):
                broker.save("bot", "t" * size)
                check(broker.get("bot")["bearer_token"] == "t" * size, f"{size} bytes by RPC")
                equal(broker.cli("get-token", "bot").stdout, b"t" * size + b"\n", f"{size} bytes by command line")
            broker.call("credentials.save", account="bot", id_token="i" * LONGEST, access_token="a" * LONGEST)
            answer = broker.get("bot")
            check(answer["bearer_token"] == "i" * LONGEST, "the pair's first")
            check(answer["companion_access_token"] == "a" * LONGEST, "the pair's second")
            refused("credential_too_large", broker.save, "bot", "t" * (LONGEST + 1))
            refused("credential_too_large", broker.call, "credentials.save", account="bot", id_token="i",
                    access_token="a" * (LONGEST + 1))
            check(broker.get("bot")["bearer_token"] == "i" * LONGEST, "what was refused changed nothing")
            equal(len(broker.get("long")["bearer_token"]), LONGEST, "fetched")
            answer = broker.get("pair")
            found = len(answer["bearer_token"]), len(answer["companion_access_token"])
            equal(found, (LONGEST, LONGEST), "pair fetched")
            refused("credential_too_large", broker.get, "longer")
            broker.restart()
            check(broker.get("bot")["bearer_token"] == "i" * LONGEST, "and after a restart")


@test("R210: the command line writes the token in every format, and nothing when it fails")
def formats():
    with Broker(account("bot"), account("none")) as broker:
        saved = broker.cli("save", "bot", given=b"tok'en\n")
        equal((saved.returncode, saved.stderr), (0, b""), "save from stdin")
        for form, wanted in [("token", b"tok'en\n"), ("header", b"Authorization: Bearer tok'en\n"),
                             ("headers", b"Authorization: Bearer tok'en\n")]:
            equal(broker.cli("get-token", "bot", "--format", form).stdout, wanted, form)
        shell = broker.cli("get-token", "bot", "--format", "env").stdout.decode()
        name = shell.partition("=")[0].removeprefix("export ")
        shown = subprocess.run(["sh", "-c", f'{shell}\nprintf %s "${name}"'], capture_output=True)
        equal(shown.stdout, b"tok'en", f"env: {shell!r}")
        document = json.loads(broker.cli("get-token", "bot", "--format", "exec-credential").stdout)
        equal((document["kind"], document["status"]["token"]), ("ExecCredential", "tok'en"), "exec-credential")
        equal(json.loads(broker.cli("get-token", "bot", "--json").stdout)["bearer_token"], "tok'en", "json")
        for name, status in [("none", 5), ("nobody", 4)]:
            result = broker.cli("get-token", name)
            equal((result.returncode, result.stdout), (status, b""), name)
            check(result.stderr.startswith(b"chatauth: ") and result.stderr.count(b"\n") == 1, "one line on stderr")
        equal(broker.cli("get-token").returncode, 2, "usage")
        broker.kill()
        equal(broker.cli("get-token", "bot").returncode, 3, "no daemon")


@test("curl and other programs get the token without it standing in an argument")
def used():
    needs("curl")
    token = mark("used")
    with Sandbox() as sandbox, Broker(account("bot")) as broker:
        broker.save("bot", token)
        sandbox.settings("api", require_headers={"Authorization": f"Bearer {token}"})
        tool = f'"{BIN}/chatauth" --socket "{broker.socket_path}"'
        url = sandbox.url("api", "http")
        script = f'{tool} get-token bot --format curl | curl --silent --fail -K - -d "{{}}" {url}'
        asked = subprocess.run(["sh", "-c", script], capture_output=True, timeout=30)
        check(b'"token"' in asked.stdout, f"{asked.stdout} {asked.stderr}")
        by_name = broker.cli("exec", "bot", "--env", "TOKEN", "--", "sh", "-c", 'printf %s "$TOKEN"; exit 7')
        equal((by_name.stdout.decode(), by_name.returncode), (token, 7), "exec with a variable")
        by_number = broker.cli("exec", "bot", "--fd", "3", "--", "sh", "-c", "cat <&3")
        equal(by_number.stdout.decode(), token, "exec with a descriptor")
        equal(broker.cli("exec", "nobody", "--env", "T", "--", "true").returncode, 4, "exec without an account")


@test("a reader that leaves early, and output that cannot be written, are failures")
def output():
    with Broker(account("bot")) as broker:
        broker.save("bot", "x" * 200_000)
        script = f'set -o pipefail; "{BIN}/chatauth" --socket "{broker.socket_path}" get-token bot | head -c1'
        piped = subprocess.run(["bash", "-c", script], capture_output=True, timeout=30)
        equal((piped.stdout, piped.returncode), (b"x", 1), "head -c1")
        full = subprocess.run(
            ["sh", "-c", f'"{BIN}/chatauth" --socket "{broker.socket_path}" get-token bot > /dev/full'],
            capture_output=True, timeout=30)
        equal(full.returncode, 1, "a full device")


@test("names with line ends, control bytes and slashes are refused and change nothing that is printed")
def names():
    with Broker(account("bot")) as broker:
        for name in ("a\nb", "a\r\nb", "a\x1b[2Jb", "../a", ".a", "-a", "a b", "", "a" * 65, "ä"):
            refused("account_invalid", broker.call, "account.add", account=name)
            refused("account_unknown", broker.get, name)
        result = broker.cli("get-token", "a\nb\x1b[2J")
        equal((result.returncode, result.stdout), (2, b""), "by command line")
        check(b"\x1b" not in result.stderr and result.stderr.count(b"\n") == 1, "one line, no escapes")
        check("\x1b" not in broker.logged(), "none in the log")
        equal(len(broker.call("account.list")["accounts"]), 1, "accounts")


@test("account.add is kept through a restart, account.remove too, and configured names are taken")
def added():
    with Broker(account("configured")) as broker:
        broker.call("account.add", account="rpc", allow={"use": [{"user": "root"}]})
        refused("account_exists", broker.call, "account.add", account="rpc")
        refused("account_exists", broker.call, "account.add", account="configured")
        refused("account_invalid", broker.call, "account.add", account="file",
                source={"kind": "file", "path": "/etc/passwd"})
        refused("account_invalid", broker.call, "account.add", account="head", source={
            "kind": "http", "url": "http://127.0.0.1:1/", "headers": {"X-A": {"file": "/etc/passwd"}}})
        broker.save("rpc", mark("added"))
        broker.restart()
        shown = broker.call("account.show", account="rpc")
        equal((shown["origin"], shown["state"]), ("rpc", "fresh"), "after a restart")
        refused("account_invalid", broker.call, "account.remove", account="configured")
        broker.call("account.remove", account="rpc")
        broker.restart()
        refused("account_unknown", broker.get, "rpc")
        broker.call("account.add", account="rpc")
        refused("no_source", broker.get, "rpc")


@test("a stopped account hands out nothing until it is started")
def stopped():
    with Broker(account("bot"), account("later", autostart=False)) as broker:
        broker.save("bot", "one")
        broker.call("account.stop", account="bot")
        refused("account_stopped", broker.get, "bot")
        refused("account_stopped", broker.get, "later")
        equal(broker.cli("get-token", "bot").returncode, 6, "exit status")
        broker.call("account.start", account="bot")
        eventually(lambda: broker.get("bot")["bearer_token"] == "one", "token after start")
