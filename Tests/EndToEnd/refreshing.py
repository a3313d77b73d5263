"""Credentials that come from a backend: how their expiry is read, and when they are fetched anew."""

import json
import os
import time

from support import (
    BIN, PATIENCE, Broker, Certificates, Following, Sandbox, account, check, equal, event, events, eventually, mark,
    private, refused, scratch, test)


@test("a backend's credential is fetched over HTTPS, once, and its expiry is understood in every form")
def forms():
    # What the backend answers: when it expires, counted from now, and who says so.
    wanted = {
        "expires_in": (600, "hint"), "expires_in_string": (600, "hint"), "expires_in_float": (600, "hint"),
        "expires_at_seconds": (600, "hint"), "expires_at_milliseconds": (600, "hint"), "expires_at_text": (600, "hint"),
        "missing": (None, None), "null": (None, None), "garbage": (None, None), "enormous": (None, None),
    }
    with Sandbox() as sandbox:
        for form in wanted:
            sandbox.settings(form, lifetime_seconds=600, expiry=form)
            sandbox.settings("jwt-" + form, lifetime_seconds=600, expiry=form, token_format="jwt")
        names = [*wanted, *("jwt-" + form for form in wanted)]
        begun = int(time.time())
        with Broker(*(account(name, sandbox.source(name)) for name in names)) as broker:
            for name in names:
                answer = broker.get(name)
                lifetime, source = wanted[name.removeprefix("jwt-")]
                if name.startswith("jwt-"):
                    lifetime = 600
                if lifetime is None:
                    equal((answer["expires_at"], answer["expiry_source"]), (None, None), name)
                else:
                    latest = time.time() + lifetime + 1
                    check(begun + lifetime - 1 <= answer["expires_at"] <= latest, f"{name}: {answer['expires_at']}")
                if not name.startswith("jwt-"):
                    equal(answer["expiry_source"], source, name)
                elif source is None:
                    equal(answer["expiry_source"], "exp", name)
                equal(len(sandbox.journal(name)), 1, f"requests of {name}")
            warned = broker.logged().count("is no moment")
            equal(warned, 4, "warnings about garbage and enormous")


@test("the request says which account and why, and only where it was told to go")
def request():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"))) as broker:
        broker.get("bot")
        broker.call("auth.refresh", account="bot")
        first, second = sandbox.journal("bot")
        equal((first["method"], first["scheme"], json.loads(first["body"])), (
            "POST", "https", {"account": "bot", "reason": "initial"}), "first")
        equal(json.loads(second["body"])["reason"], "forced", "second")


@test("a credential of 20 s is replaced before it ends, and one of 4 s again and again; nobody meets a gap", slow=True)
def ahead():
    with Sandbox() as sandbox:
        sandbox.settings("twenty", lifetime_seconds=20)
        sandbox.settings("four", lifetime_seconds=4)
        with Broker(account("twenty", sandbox.source("twenty")), account("four", sandbox.source("four"))) as broker:
            client = broker.client()
            seen, generations = set(), set()
            first = client.call("token.get", {"account": "twenty"})
            begun, expires = time.monotonic(), first["expires_at"]
            check(expires - first["refresh_at"] in (10, 11), "refresh_at is half way")

            def replaced():
                short = client.call("token.get", {"account": "four"})
                check("stale" not in short, "never stale")
                check(short["expires_at"] > time.time() - 1, "valid")
                generations.add(short["generation"])
                answer = client.call("token.get", {"account": "twenty"})
                seen.add(answer["bearer_token"])
                return answer["generation"] == 2 and answer

            second = eventually(replaced, "second generation of the longer one", 19)
            check(7 <= time.monotonic() - begun < 19, f"ahead of its end, after {time.monotonic() - begun:.1f} s")
            equal(len(seen), 2, "tokens seen")
            check(second["expires_at"] > expires, "a later end")
            check(len(generations) >= 4, f"generations of the short one: {sorted(generations)}")
            equal(len(sandbox.journal("twenty")), 2, "requests")


@test("many callers at expiry cost one request and get the same token")
def shared():
    with Sandbox() as sandbox:
        with Broker(account("bot", sandbox.source("bot"), autostart=False)) as broker:
            sandbox.fault("bot", "delay", delay_milliseconds=500)
            clients = [broker.client() for _ in range(20)]
            broker.call("account.start", account="bot")
            for client in clients:
                for _ in range(20):
                    client.send("token.get", {"account": "bot"})
            tokens = {client.receive()["result"]["bearer_token"] for client in clients for _ in range(20)}
            equal((len(tokens), len(sandbox.journal("bot"))), (1, 1), "tokens and requests")


@test("one who goes away while a refresh is out cancels nothing for the others")
def gone():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"), autostart=False)) as broker:
        sandbox.fault("bot", "delay", delay_milliseconds=700)
        broker.call("account.start", account="bot")
        leaver, stayer = broker.client(), broker.client()
        leaver.send("token.get", {"account": "bot"})
        stayer.send("token.get", {"account": "bot"})
        sandbox.wait("bot", 1)
        leaver.close()
        check("result" in stayer.receive(), "the other one gets it")
        equal(len(sandbox.journal("bot")), 1, "requests")


@test("an account whose backend hangs holds up no cached get, neither its own nor another's")
def beside():
    with Sandbox() as sandbox:
        with Broker(account("slow", sandbox.source("slow")), account("fast")) as broker:
            broker.get("slow")
            broker.save("fast", "fast")
            sandbox.fault("slow", "hang", times="forever")
            client, waiting = broker.client(), broker.client()
            waiting.send("token.get", {"account": "slow", "force": True})
            sandbox.wait("slow", 2)
            begun = time.monotonic()
            for _ in range(200):
                client.call("token.get", {"account": "fast"})
                client.call("token.get", {"account": "slow"})
            check(time.monotonic() - begun < 3, f"400 cached gets took {time.monotonic() - begun:.1f} s")


@test("a caller's patience ends when it says so, and the refresh it waited for goes on")
def patience():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"), autostart=False)) as broker:
        sandbox.fault("bot", "delay", delay_milliseconds=1500)
        broker.call("account.start", account="bot")
        begun = time.monotonic()
        error = refused("deadline_exceeded", broker.get, "bot", wait=0.3)
        check(0.2 < time.monotonic() - begun < 1.4, "after its own time")
        check(error["data"]["retryable"] and error["data"]["retry_after_seconds"] >= 1, "and when to come back")
        equal(broker.cli("get-token", "bot", "--wait", "0.1").returncode, 9, "exit status")
        check(broker.get("bot")["bearer_token"], "then it is there")
        equal(len(sandbox.journal("bot")), 1, "requests")


@test("min_valid waits for a longer one, and a backend that has none is asked once")
def minimum():
    with Sandbox() as sandbox:
        sandbox.settings("bot", lifetime_seconds=120)
        with Broker(account("bot", sandbox.source("bot"))) as broker:
            broker.get("bot")
            answer = broker.get("bot", min_valid=600)
            equal((answer["generation"], answer["short_lived"]), (2, True), "short_lived")
            for _ in range(3):
                equal(broker.get("bot", min_valid=600)["generation"], 2, "no second refresh")
            sandbox.settings("bot", lifetime_seconds=1200)
            equal(broker.get("bot", min_valid=60)["generation"], 2, "long enough")
            equal(len(sandbox.journal("bot")), 2, "requests")


@test("a rejected token is replaced once, and the one that also fails is reported")
def rejected():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"))) as broker:
        first = broker.get("bot")
        for generation, accepted in [(1, True), (1, False)]:
            equal(broker.call("token.reject", account="bot", generation=generation, http_status=401)["accepted"],
                  accepted, "accepted")
        second = broker.get("bot")
        check(second["bearer_token"] != first["bearer_token"] and second["generation"] == 2, "another one")
        equal(broker.call("token.reject", account="bot", generation=1)["accepted"], False, "late")
        equal(len(sandbox.journal("bot")), 2, "requests")
        broker.call("token.reject", account="bot", generation=2)
        refused("credential_rejected", broker.get, "bot")
        equal(broker.cli("get-token", "bot").returncode, 10, "exit status")


@test("a backend that gives the rejected token again, or one born expired, gives nothing")
def stale():
    with Sandbox() as sandbox:
        sandbox.settings("same", fresh=False)
        sandbox.settings("dead", token_format="jwt", lifetime_seconds=-60, expiry="missing")
        sandbox.settings("past", lifetime_seconds=-60, expiry="negative")
        accounts = [account(name, sandbox.source(name)) for name in ("same", "dead", "past")]
        with Broker(*accounts) as broker:
            broker.get("same")
            broker.call("token.reject", account="same")
            eventually(lambda: len(sandbox.journal("same")) >= 2, "asked again")
            for name in ("same", "dead", "past"):
                refused("stale_credential", broker.get, name)
                equal(broker.cli("get-token", name).returncode, 6, "exit status")


@test("a redirect is not followed, neither 302 nor 307")
def redirected():
    with Sandbox() as sandbox:
        for status in (302, 307):
            name, aim = f"from-{status}", f"to-{status}"
            sandbox.fault(name, "redirect", status=status, location=sandbox.url(aim), times="forever")
            with Broker(account(name, sandbox.source(name))) as broker:
                error = refused("upstream_error", broker.get, name)
                equal(error["data"]["http_status"], status, "status")
                equal(sandbox.journal(aim), [], "requests at the other place")


@test("proxies of the environment are ignored; the configured one is used")
def proxies():
    with Sandbox() as sandbox:
        dead = "http://127.0.0.1:9"
        names = ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
        environment = [f"{name}={dead}" for name in names]
        with Broker(account("free", sandbox.source("free")), account("proxied", sandbox.source("proxied", proxy=dead)),
                    prefix=["env", *environment]) as broker:
            check(broker.get("free")["bearer_token"], "token without proxy")
            error = refused("upstream_unreachable", broker.get, "proxied")
            check("proxy" in error["message"], error["message"])


@test("a header from a file reaches the backend, and a file open to others is refused and named")
def headers():
    secret = mark("header")
    directory = scratch("references")
    path = os.path.join(directory, "key")
    private(path, secret + "\n")
    with Sandbox() as sandbox:
        for name in ("right", "wrong"):
            sandbox.settings(name, require_headers={"Authorization": f"Bearer {secret}", "X-Kind": "bot"})
        header = {"Authorization": {"file": path, "prefix": "Bearer "}, "X-Kind": "bot"}
        wrong = {"X-Kind": "bot"}
        with Broker(account("right", sandbox.source("right", headers=header)),
                    account("wrong", sandbox.source("wrong", headers=wrong))) as broker:
            check(broker.get("right")["bearer_token"], "token")
            error = refused("callback_rejected", broker.get, "wrong")
            equal(error["data"]["http_status"], 401, "status")
            equal(broker.cli("get-token", "wrong").returncode, 10, "exit status")
        os.chmod(path, 0o644)
        with Broker(account("right", sandbox.source("right", headers=header))) as broker:
            error = refused("upstream_error", broker.get, "right")
            check("open to others" in error["message"] and "chmod" in error["message"], error["message"])
            check(secret not in json.dumps(error) + broker.logged(), "the secret is not told")
            os.chmod(path, 0o600)
            check(broker.call("auth.refresh", account="right"), "after chmod")
        os.unlink(path)
        with Broker(account("right", sandbox.source("right", headers=header))) as broker:
            check("missing" in refused("upstream_error", broker.get, "right")["message"], "missing")


@test("a file and a static source give what their files hold")
def files():
    directory = scratch("files")
    paths = {name: os.path.join(directory, name) for name in ("plain", "json")}
    for name, text in (("plain", "plain-token\n"), ("json", '{"id_token":"in-json","expires_at":4102444800}')):
        private(paths[name], text)
    with Broker(account("plain", {"kind": "file", "path": paths["plain"]}),
                account("json", {"kind": "file", "path": paths["json"], "format": "json"}),
                account("static", {"kind": "static", "id_token": {"file": paths["plain"]}})) as broker:
        equal(broker.get("plain")["bearer_token"], "plain-token", "file")
        answer = broker.get("json")
        equal((answer["bearer_token"], answer["expiry_source"]), ("in-json", "hint"), "JSON file")
        equal(broker.get("static")["bearer_token"], "plain-token", "static")


@test("wrong authority, wrong host, expired: three failures of TLS that can be told apart, and a fourth without TLS")
def certificates():
    messages = {}
    with Sandbox("wrong-host") as wrong, Sandbox("expired") as expired, Sandbox() as right:
        sources = {
            "host": wrong.source("bot"), "expired": expired.source("bot"),
            "authority": right.source("bot", ca_file=Certificates.path("other-ca.pem")),
            "plain": right.source("bot") | {"url": f"https://localhost:{right.port}/backend/bot/token"},
        }
        with Broker(*(account(name, source) for name, source in sources.items())) as broker:
            for name in sources:
                messages[name] = refused("tls_failed", broker.get, name)["message"]
                equal(broker.cli("get-token", name).returncode, 6, "exit status")
        equal(right.journal("bot"), [], "nothing was sent")
    equal(len(set(messages.values())), 4, f"distinct messages: {messages}")
    for name, word in [("host", "another host"), ("expired", "expired"), ("authority", "authority")]:
        check(word in messages[name], messages[name])


@test("every change is told once and in order")
def told():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"), autostart=False)) as broker:
        client = broker.client()
        state = events(client, "token", "auth", "account")
        equal(state["accounts"], [{"account": "bot", "state": "stopped", "generation": 0, "auth": "unauthenticated"}], "state first")
        broker.call("account.start", account="bot")
        equal(event(client, "token.changed")["generation"], 1, "replaced")
        sandbox.fault("bot", "status", status=503, times=2)
        refused("upstream_error", broker.call, "auth.refresh", account="bot")
        equal(event(client, "auth.changed")["cause"], "refresh_failed", "failure")
        equal(event(client, "auth.changed")["cause"], "recovered", "recovery by itself, and no second failure between")
        check(len(sandbox.journal("bot")) >= 4, "there was a second failure")
        client.call("events.unsubscribe")


@test("a watch on the command line shows the same")
def watched():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"))) as broker:
        broker.get("bot")
        command = [os.path.join(BIN, "chatauth"), "--socket", broker.socket_path, "watch", "bot"]
        with Following(*command) as plain, Following(*command, "--json") as structured:
            plain.line("account=bot", "state=fresh", "generation=1")
            equal(json.loads(structured.line("accounts"))["store"], "open", "the state comes first")
            broker.call("auth.refresh", account="bot")
            plain.line("token.changed", "generation=2")
            structured.line("token.changed")
            broker.stop()
            equal(plain.process.wait(PATIENCE), 3, "exit status when the daemon ends")
