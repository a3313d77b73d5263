"""Everything that a network or a careless server does: the error it becomes, and that nobody else notices."""

import json

from support import Broker, Sandbox, account, check, equal, event, events, eventually, refused, test

PAGE = {"content_type": "text/html", "body": "<html>sign in</html>"}

# fault, its settings, the kind that callers see, the exit status, and members of the error's data
FAULTS = [
    ("status", {"status": 500}, "upstream_error", 6, {"http_status": 500}),
    ("status", {"status": 503, "headers": {"Retry-After": "40"}}, "upstream_error", 6, {"retry_after_seconds": 40}),
    ("status", {"status": 404}, "upstream_error", 6, {"http_status": 404}),
    ("status", {"status": 401, "content_type": "application/json", "body": '{"error":"invalid_key"}'},
     "callback_rejected", 10, {"http_status": 401, "provider_code": "invalid_key"}),
    ("status", {"status": 403, "body": "{}", "content_type": "application/json"}, "callback_rejected", 10, {}),
    ("status", {"status": 403, **PAGE}, "upstream_error", 6, {"http_status": 403}),
    ("status", {"status": 204}, "credential_empty", 5, {}),
    ("status", {"status": 200, "body": "{}"}, "credential_empty", 5, {}),
    ("status", {"status": 200, "body": '{"token":5}'}, "upstream_error", 6, {}),
    ("status", {"status": 200, "body": '{"token":"a\\nb"}'}, "upstream_error", 6, {}),
    ("status", {"status": 200, "body": "[" * 40 + "]" * 40}, "upstream_error", 6, {}),
    ("empty", {}, "upstream_error", 6, {"http_status": 400}),
    ("empty", {"status": 200}, "credential_empty", 5, {}),
    ("html", {}, "upstream_error", 6, {"http_status": 200}),
    ("wrong_type", {"kind": "html_as_json"}, "upstream_error", 6, {}),
    ("hang", {"at": "start"}, "upstream_timeout", 9, {}),
    ("hang", {"at": "headers"}, "upstream_timeout", 9, {}),
    ("hang", {"at": "body"}, "upstream_timeout", 9, {}),
    ("drip", {"at": "headers", "interval_milliseconds": 1000}, "upstream_timeout", 9, {}),
    ("drip", {"at": "body", "interval_milliseconds": 1000}, "upstream_timeout", 9, {}),
    ("delay", {"delay_milliseconds": 8000}, "upstream_timeout", 9, {}),
    ("reset", {"at": "start"}, "upstream_unreachable", 6, {}),
    ("reset", {"at": "headers"}, "upstream_unreachable", 6, {}),
    ("reset", {"at": "body"}, "upstream_unreachable", 6, {}),
    ("truncated", {}, "upstream_error", 6, {}),
    ("truncated", {"claims_whole": True}, "upstream_unreachable", 6, {}),
    ("huge", {}, "credential_too_large", None, {}),
    ("huge", {"declared": False}, "credential_too_large", None, {}),
    ("headers", {}, "credential_too_large", None, {}),
    ("redirect", {"location": "https://localhost:1/"}, "upstream_error", 6, {"http_status": 307}),
    ("retry_after", {"seconds": 30}, "upstream_error", 6, {"http_status": 429, "retry_after_seconds": 30}),
    ("retry_after", {"date_in_seconds": 120}, "upstream_error", 6, {"http_status": 429}),
    ("retry_after", {"text": "whenever"}, "upstream_error", 6, {"http_status": 429}),
]


@test("every fault of a backend becomes its error, and other accounts and what is cached are unharmed", slow=True)
def errors():
    # Each account has a broker's origin gate to itself in turn: the failures of one are not to close it for the next.
    with Sandbox() as sandbox:
        names = [f"{fault}-{number}" for number, (fault, *_) in enumerate(FAULTS)]
        # Few in a broker: after five failures in a row an origin is left alone, which is another test.
        for first in range(0, len(FAULTS), 4):
            part = list(zip(names, FAULTS))[first:first + 4]
            accounts = [account(name, sandbox.source(name, timeout=1), autostart=False) for name, _ in part]
            with Broker(account("cached"), *accounts) as broker:
                broker.save("cached", "cached")
                for name, fault in part:
                    one(sandbox, broker, name, *fault)


def one(sandbox, broker, name, fault, settings, kind, status, data):
    sandbox.fault(name, fault, times="forever", **settings)
    broker.call("account.start", account=name)
    try:
        error = refused(kind, broker.get, name)
    except AssertionError as failure:
        raise AssertionError(f"{fault} {settings}: {failure}") from None
    for key, value in data.items():
        found = error["data"].get(key)
        close = key == "retry_after_seconds" and found is not None and value - 2 <= found <= value
        check(found == value or close, f"{fault} {settings}: {key} is {found}, not {value}")
    check(len(error["message"]) < 200 and "\n" not in error["message"], "message")
    if status is not None:
        equal(broker.cli("get-token", name).returncode, status, f"exit status after {fault} {settings}")
    equal(broker.get("cached")["bearer_token"], "cached", "the other account")


@test("a backend that works again after every fault is heard, and that is told once")
def recovery():
    with Sandbox() as sandbox:
        with Broker(account("bot", sandbox.source("bot"))) as broker:
            first = broker.get("bot")["bearer_token"]
            client = broker.client()
            events(client, "auth")
            sandbox.fault("bot", "status", status=500, times=3)
            refused("upstream_error", broker.call, "auth.refresh", account="bot")
            equal(broker.get("bot")["bearer_token"], first, "the cached one")
            inspected = broker.call("credentials.inspect", account="bot")
            equal(inspected["last_error"]["http_status"], 500, "inspect says what failed")
            causes = [event(client, "auth.changed")["cause"] for _ in range(2)]
            equal(causes, ["refresh_failed", "recovered"], "events")
            check(broker.get("bot")["bearer_token"] != first, "and a new token")
            check("last_error" not in broker.call("credentials.inspect", account="bot"), "no error any more")
            # The events of a second failure follow directly: nothing was told twice.
            sandbox.fault("bot", "status", status=500, times=1)
            refused("upstream_error", broker.call, "auth.refresh", account="bot")
            equal(event(client, "auth.changed")["cause"], "refresh_failed", "second failure")


@test("a short outage under a short token: the cached one is given as stale, then the new one")
def outage():
    with Sandbox() as sandbox:
        sandbox.settings("bot", lifetime_seconds=8)
        with Broker(account("bot", sandbox.source("bot"))) as broker:
            broker.get("bot")
            sandbox.fault("bot", "status", status=502, times=1)
            sandbox.wait("bot", 2)

            def changed():
                answer = broker.get("bot")
                return answer if "stale" in answer or answer["generation"] > 1 else None

            answer = eventually(changed, "stale or new")
            if "stale" in answer:
                equal(answer["refresh_error"]["kind"], "upstream_error", "error")
            eventually(lambda: broker.get("bot")["generation"] >= 2, "new")


@test("wrongly labelled JSON and a slow drip within the time are still answers")
def tolerated():
    with Sandbox() as sandbox:
        for name, fault, settings in [
                ("labelled", "wrong_type", {"kind": "json_as_html"}),
                ("dripping", "drip", {"bytes": 16, "interval_milliseconds": 20}),
                ("late", "delay", {"delay_milliseconds": 300})]:
            sandbox.fault(name, fault, **settings)
            with Broker(account(name, sandbox.source(name))) as broker:
                check(broker.get(name)["bearer_token"], name)


@test("three refusals without a reason, and the source is left alone for an hour")
def refusals():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"))) as broker:
        sandbox.settings("bot", require_headers={"X-Key": "right"})
        client = broker.client()
        events(client, "account")
        refused("callback_rejected", broker.call, "auth.refresh", account="bot")
        event(client, "account.changed", to="sign_in_needed")
        error = refused("sign_in_needed", broker.get, "bot")
        check(error["data"]["retry_after_seconds"] > 3000, "when to come back")
        equal(broker.cli("get-token", "bot").returncode, 5, "exit status")
        asked = len(sandbox.journal("bot"))
        equal(asked, 3, "requests")
        for _ in range(20):
            refused("sign_in_needed", broker.get, "bot")
        equal(len(sandbox.journal("bot")), asked, "a dead source costs nothing")
        sandbox.settings("bot")
        check(broker.call("auth.refresh", account="bot")["state"] == "fresh", "the operator may ask")


@test("an origin that fails again and again is left alone, another one is not")
def breaker():
    with Sandbox() as broken, Sandbox() as sound:
        names = [f"bot-{number}" for number in range(12)]
        for name in names:
            broken.fault(name, "status", status=500, times="forever")
        accounts = [account(name, broken.source(name), autostart=False) for name in names]
        with Broker(account("sound", sound.source("sound")), *accounts) as broker:
            kinds = []
            for name in names:
                broker.call("account.start", account=name)
                try:
                    broker.get(name)
                except Exception as error:
                    kinds.append(error.kind)
            check(set(kinds) == {"upstream_error", "overloaded"}, f"kinds {kinds}")
            check(len(broken.request("GET", "/_sandbox/journal")["entries"]) <= 8, "requests to the broken one")
            check(broker.get("sound")["bearer_token"], "the other origin")
            check(broker.call("auth.refresh", account="sound"), "and again")


@test("a name that does not resolve and a port where nobody listens are unreachable")
def unreachable():
    with Broker(account("name", {"kind": "http", "url": "https://does-not-exist.invalid/"}),
                account("port", {"kind": "http", "url": "http://127.0.0.1:9/"})) as broker:
        messages = {refused("upstream_unreachable", broker.get, name)["message"] for name in ("name", "port")}
        equal(len(messages), 2, f"messages {messages}")
        equal(broker.cli("get-token", "port").returncode, 6, "exit status")


@test("account check asks, says how it went, and stores nothing")
def checked():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"), autostart=False)) as broker:
        equal(broker.call("account.check", account="bot")["ok"], True, "ok")
        sandbox.fault("bot", "status", status=500)
        answer = broker.call("account.check", account="bot")
        equal((answer["ok"], answer["error"]["kind"]), (False, "upstream_error"), "not ok")
        equal(broker.call("credentials.inspect", account="bot")["has_token"], False, "nothing stored")


@test("R64: doctor names what is wrong, says what to do, and ends with a status; the daemon's is well")
def diagnosed():
    with Sandbox() as sandbox, Broker(
            account("bot", sandbox.source("bot")) + account("kiosk", {"kind": "rpc"})) as broker:
        broker.get("bot")
        well = broker.cli("doctor", "bot", "--online")
        equal((well.returncode, well.stdout.split(b":")[0]), (0, b"ok source_works"), "an account that is well")
        absent = broker.cli("doctor", "kiosk")
        equal((absent.returncode, absent.stdout.split(b":")[0]), (5, b"error handler_missing"), "without a handler")
        sandbox.fault("bot", "status", status=500)
        failing = broker.cli("doctor", "bot", "--online")
        equal((failing.returncode, failing.stdout.split(b":")[0]), (6, b"error source_failing"), "a backend that fails")
        daemon = broker.cli("doctor", "--json")
        equal(daemon.returncode, 0, "the daemon")
        codes = {finding["code"] for finding in json.loads(daemon.stdout)["findings"]}
        check("accounts_in_trouble" in codes, f"codes {codes}")
        broker.write(settings="mistyped = 1")
        refused = broker.cli("doctor")
        equal((refused.returncode, refused.stdout.split(b":")[0]), (2, b"error configuration_refused"), "a bad file")
