"""Secrets are where they must be and nowhere else; what is handed out is written down first."""

import base64
import json
import os
import re

from support import (
    BIN, IS_ROOT, Broker, Following, RPCError, Sandbox, Skipped, account, check, equal, eventually, mark, private,
    refused, scratch, test, vectors)


def forms(secret):
    """A secret as it is, and as it would look in other clothes."""
    data = secret.encode()
    encoded = {base64.b64encode(data)[:40], base64.urlsafe_b64encode(data)[:40], data.hex().encode()[:60]}
    return {data, data[8:40], *encoded}


def tree(directory):
    """The bytes of every file below, with its path."""
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    yield path, file.read()


def process_text(pid):
    for name in ("cmdline", "environ"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                yield f"/proc/{pid}/{name}", file.read()
        except PermissionError:
            # Closed to its own user as well: nothing to find for anybody but root.
            check(name == "environ" and not IS_ROOT, f"{name} cannot be read")


def exercised(log):
    """Uses everything that touches a secret, and returns the secrets and every text that must not have them."""
    secrets = [mark(name) for name in ("saved", "second", "access", "header", "refused", "body")]
    saved, second, access, header, rejected, body = secrets
    key = os.path.join(scratch("key"), "header")
    private(key, header)
    texts = []
    with Sandbox() as sandbox:
        source = sandbox.source("fetched", headers={"X-Api-Key": {"file": key}, "X-Plain": "plain"})
        sandbox.settings("fetched", require_headers={"X-Api-Key": header}, token_bytes=60)
        with Broker(account("bot"), account("fetched", source), account("failing", sandbox.source("failing")),
                    settings='[daemon]\nlog_level = "debug"\n') as broker:
            def attempt(method, **params):
                try:
                    return broker.call(method, **params)
                except RPCError as error:
                    texts.append((f"error of {method}", json.dumps(error.error).encode()))
                    return None

            attempt("credentials.save_token", account="bot", token=saved)
            attempt("credentials.save", account="bot", id_token=second, access_token=access, issuer="https://issuer")
            with Following(os.path.join(BIN, "chatauth"), "--socket", broker.socket_path, "watch", "--json") as watch:
                watch.line("accounts")
                for name in ("bot", "fetched"):
                    secrets.append(attempt("token.get", account=name)["bearer_token"])
                    attempt("headers.get", account=name)
                    attempt("token.reject", account=name, http_status=401, code="expired")
                    for method in ("credentials.inspect", "account.show"):
                        texts.append((method, json.dumps(attempt(method, account=name)).encode()))
                texts += process_text(broker.pid)
                for child in broker.children():
                    texts += process_text(child)
                for text in (body, f'{{"token":"{body}', f'{{"error":"{body}"}}', f'{{"token":"{body}\\u0007"}}'):
                    for status in (200, 400, 401):
                        sandbox.fault("failing", "status", status=status, body=text, content_type="application/json",
                                      headers={"X-Echo": body})
                attempt("token.get", account="failing")
                attempt("auth.refresh", account="failing")
                # Wrong calls that have a secret where it does not belong.
                attempt("credentials.save_token", account="bot", token=rejected, surplus=rejected)
                attempt("credentials.save_token", account="bot", token=rejected + "\n")
                attempt("credentials.save_token", account="bot ", token=rejected)
                attempt("token.get", account="bot", min_valid=rejected)
                attempt(rejected)
                attempt("auth.refresh", account="bot", reason=rejected)
                attempt("account.add", account="x", source={"kind": "http", "url": rejected})
                attempt("account.add", account="x", source={
                    "kind": "http", "url": "https://a.invalid/", "headers": {"Authorization": rejected}})
                client = broker.client()
                client.socket.sendall(f'{{"jsonrpc":"2.0","id":1,"method":"{rejected}","params":[}}\n'.encode())
                texts.append(("parse error", client.read_line()))
                texts.append(("watch", watch.text))
            for arguments in (["status"], ["status", "bot"], ["account", "show", "fetched"], ["metrics"]):
                done = broker.cli(*arguments)
                texts.append((" ".join(arguments), done.stdout + done.stderr))
            broker.cli("save", "bot", given=(saved + "\n").encode())
            broker.stop()
            texts += tree(broker.directory)
            texts.append(("log", broker.logged().encode()))
            log.append(broker.logged())
    return secrets, texts


@test("R61, R167, R168: no secret is in a log of any level, in the audit log, in an argument, an environment, an error or a file")
def canaries():
    log = []
    secrets, texts = exercised(log)
    check(len(texts) > 20 and sum(len(text) for _, text in texts) > 10_000, "there is something to look through")
    for secret in secrets:
        for form in forms(secret):
            for place, text in texts:
                check(form not in text, f"a secret is in {place}: {secret[:16]}")
    # The hunt finds what is there: an account's name is.
    check(any(b"fetched" in text for place, text in texts if place == "log"), "the log at debug level says something")
    shapes = [rb"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}", rb"[Bb]earer +[A-Za-z0-9._~+/-]{16,}"]
    for shape in shapes:
        for place, text in texts:
            check(not re.search(shape, text), f"something like a token is in {place}")


@test("no rule of a collection of secrets' shapes finds anything in the log")
def shapes():
    path = os.path.join(vectors("gitleaks-rules"), "gitleaks.toml")
    import tomllib
    import warnings
    warnings.simplefilter("ignore", FutureWarning)
    with open(path, "rb") as file:
        rules = tomllib.load(file)["rules"]
    log = []
    exercised(log)
    tried = 0
    for rule in rules:
        try:
            pattern = re.compile(rule.get("regex", "(?!)").replace("(?i)", ""), re.IGNORECASE)
        except re.error:
            continue
        tried += 1
        found = pattern.search(log[0])
        check(not found, f"{rule['id']}: {found and found.group()[:40]}")
    check(tried > 100, f"rules tried: {tried}")


def decisions(broker):
    lines = []
    for text in broker.audit_lines():
        # Behind the object stands what chains it to the line before.
        lines.append(json.JSONDecoder().raw_decode(text.decode())[0])
    return lines


@test("a hand-out is in the audit log before the secret is with the caller, repeats are counted, denials noted")
def audited():
    with Broker(account("bot")) as broker:
        broker.save("bot", "one")
        client = broker.client()
        client.call("token.get", {"account": "bot"})
        line = decisions(broker)[-1]
        equal((line["decision"], line["account"], line["generation"], line["uid"], line["method"]),
              ("handed_out", "bot", 1, os.geteuid(), "token.get"), "at once")
        equal(line["pid"], os.getpid(), "who")
        for _ in range(5):
            client.call("token.get", {"account": "bot"})
        repeated = eventually(
            lambda: next((x for x in decisions(broker) if x.get("decision") == "repeated"), None), "repeats")
        equal(repeated["count"], 5, "count")
        broker.save("bot", "two")
        client.call("headers.get", {"account": "bot"})
        line = decisions(broker)[-1]
        equal((line["decision"], line["generation"], line["method"]), ("handed_out", 2, "headers.get"), "second")
        for _ in range(10):
            refused("account_unknown", client.call, "token.get", {"account": "no-such"})
        eventually(lambda: {"denied", "denied_summary"} <= {x.get("decision") for x in decisions(broker)}, "denials")
        numbers = [x["seq"] for x in decisions(broker)]
        equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "numbers without a gap")
        broker.restart()
        client = broker.client()
        client.call("token.get", {"account": "bot"})
        numbers = [x["seq"] for x in decisions(broker)]
        equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "and none after a restart")


@test("the store's file has no token, and what is deleted is gone from it")
def at_rest():
    with Broker(account("bot")) as broker:
        token = mark("rest")
        for number in range(20):
            broker.save("bot", f"{token}-{number}")
        broker.call("credentials.delete", account="bot")
        broker.stop()
        for path, data in tree(broker.directory):
            check(token.encode() not in data, path)


@test("the process can be neither dumped nor looked into by its own user")
def undumpable():
    with Broker(account("bot")) as broker:
        pid = broker.pid
        with open(f"/proc/{pid}/limits") as file:
            core = next(line.split() for line in file if line.startswith("Max core file size"))
        equal((core[4], core[5]), ("0", "0"), "core size")
        equal(os.stat(f"/proc/{pid}/mem").st_uid, 0, "its memory belongs to root")


def copies(pid, secret):
    """How often a secret stands in the memory of a process."""
    found = 0
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            places, rights = line.split()[:2]
            if "r" not in rights or line.rstrip().endswith(("[vvar]", "[vvar_vclock]", "[vsyscall]")):
                continue
            begin, end = (int(place, 16) for place in places.split("-"))
            try:
                memory.seek(begin)
                found += memory.read(end - begin).count(secret)
            except (OSError, OverflowError):
                continue
    return found


@test("R58: the token of a stopped account stands nowhere in the daemon's memory", root=True)
def wiped():
    token = mark("stopped")
    with Broker(account("bot")) as broker:
        broker.save("bot", token)
        for _ in range(3):
            broker.get("bot")
        broker.call("headers.get", account="bot")
        check(copies(broker.pid, token.encode()) > 0, "it can be found while it is held")
        broker.call("account.stop", account="bot")
        eventually(lambda: copies(broker.pid, token.encode()) == 0, "none once it rests")
        check(broker.call("credentials.inspect", account="bot")["has_token"], "it is held")
        eventually(lambda: copies(broker.pid, token.encode()) == 0, "none behind a look")
        broker.call("account.start", account="bot")
        equal(broker.get("bot")["bearer_token"], token, "token after start")
