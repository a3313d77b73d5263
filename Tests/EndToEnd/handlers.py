"""Clients that are asked for credentials, and the examples of docs/examples."""

import contextlib
import json
import os
import sys
import time

from support import (BIN, ROOT, Broker, Following, Sandbox, Skipped, account, check, equal, event, events, eventually,
                     refused, test)

EXAMPLES = os.path.join(ROOT, "docs/examples")
RPC = {"kind": "rpc"}


def register(broker, name="bot", **params):
    """A connection that is the handler of an account."""
    client = broker.client()
    client.call("handler.register", {"account": name, **params})
    return client


def question(client):
    """The next request of the daemon."""
    while True:
        message = json.loads(client.read_line())
        if "method" in message and "id" in message:
            return message


def answer(client, asked, **result):
    line = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    client.socket.sendall(line.encode() + b"\n")


def shell(broker, *command):
    """A script of the examples with `chatauth` in its path."""
    return Following(
        "env", f"PATH={BIN}:{os.environ.get('PATH', '/usr/bin:/bin')}", f"CHATAUTH_SOCKET={broker.socket_path}", *command)


@test("a connected client is asked for a credential, and what it answers is handed out")
def asked():
    with Broker(account("bot", RPC)) as broker:
        refused("handler_required", broker.get, "bot")
        equal(broker.cli("get-token", "bot").returncode, 5, "exit status without a handler")
        with contextlib.closing(register(broker)) as handler:
            fetch = question(handler)
            equal((fetch["method"], fetch["params"]["account"], fetch["params"]["want"]),
                  ("credential.fetch", "bot", "credentials"), "question")
            check(fetch["params"]["deadline"] <= time.time() + 15, "deadline")
            answer(handler, fetch, id_token="first", expires_at=int(time.time()) + 3600)
            equal(eventually(lambda: broker.get("bot"), "a token")["bearer_token"], "first", "bearer")
            row = broker.cli("handler", "list").stdout.decode().split("\t")
            equal(row[:4], ["bot", "credential.fetch", "credentials", str(os.geteuid())], "handler list")
        equal(broker.get("bot")["bearer_token"], "first", "what was given stays")
        eventually(lambda: broker.cli("handler", "list").stdout == b"", "nobody is registered any more")


@test("two handlers race: the last one is asked, and the first is told")
def race():
    with Broker(account("bot", RPC)) as broker:
        first = register(broker)
        fetch = question(first)
        second = register(broker)
        with contextlib.closing(first), contextlib.closing(second):
            equal(event(first, "handler.replaced")["kinds"], ["credential.fetch"], "the first is told")
            answer(first, fetch, token="of the first")
            answer(second, question(second), token="of-the-second")
            equal(broker.get("bot")["bearer_token"], "of-the-second", "bearer")


@test("a handler that hangs holds up nobody else, and is given up in time")
def hangs():
    with Broker(account("bot", RPC, callback_timeout=1), account("other", RPC)) as broker:
        hanging = register(broker)
        asked_for = question(hanging)
        with contextlib.closing(hanging), contextlib.closing(register(broker, "other")) as other:
            answer(other, question(other), token="quick")
            equal(broker.get("other")["bearer_token"], "quick", "the other account")
            refused("callback_timeout", broker.get, "bot")
            answer(hanging, asked_for, token="late")
            again = question(hanging)
            check(again["id"] != asked_for["id"], "it is asked anew")
            answer(hanging, again, token="in-time")
            equal(broker.get("bot")["bearer_token"], "in-time", "bearer")


@test("a handler that goes away has refused, and the configured source is asked again")
def disconnects():
    with Sandbox() as sandbox, Broker(account("bot", RPC), account("both", sandbox.source("both"))) as broker:
        broker.get("both")
        handler = register(broker)
        question(handler)
        waiting = broker.client()
        waiting.send("token.get", {"account": "bot"})
        waiting.call("rpc.hello")  # by now it waits
        handler.close()
        equal(waiting.receive()["error"]["data"]["kind"], "callback_rejected", "kind")
        waiting.close()
        refused("handler_required", broker.get, "bot")
        before = len(sandbox.journal("both"))
        with contextlib.closing(register(broker, "both")) as handler:
            waiting = broker.client()
            waiting.send("auth.refresh", {"account": "both"})
            answer(handler, question(handler), token="of-the-handler")
            check("result" in waiting.receive(), "refreshed")
            waiting.close()
            equal(broker.get("both")["bearer_token"], "of-the-handler", "the handler goes first")
        equal(len(sandbox.journal("both")), before, "requests to the backend")
        eventually(lambda: not broker.call("handler.list")["handlers"], "it is gone")
        broker.call("auth.refresh", account="both")
        check(broker.get("both")["bearer_token"] != "of-the-handler", "then the backend")


@test("a registration outlives stop, start and reload")
def outlives():
    with Broker(account("bot", RPC, autostart=False)) as broker:
        with contextlib.closing(register(broker)) as handler:
            broker.call("account.start", account="bot")
            answer(handler, question(handler), token="first")
            equal(broker.get("bot")["bearer_token"], "first", "bearer")
            broker.write()
            broker.call("daemon.reload")
            refused("account_unknown", broker.get, "bot")
            broker.write(account("bot", RPC))
            broker.call("daemon.reload")
            broker.call("credentials.delete", account="bot")
            reader = broker.client()
            reader.send("token.get", {"account": "bot"})
            answer(handler, question(handler), token="second")
            equal(reader.receive()["result"]["bearer_token"], "second", "bearer after the reload")
            reader.close()


@test("the handler and the subscriber in Python do what they say")
def python_examples():
    with Broker(account("bot", RPC)) as broker:
        subscriber = [sys.executable, os.path.join(EXAMPLES, "subscriber.py"), broker.socket_path, "bot"]
        handler = [sys.executable, os.path.join(EXAMPLES, "handler.py"), broker.socket_path, "bot"]
        with Following(*subscriber) as told:
            told.line("state", "sign_in_needed")
            with Following(*handler) as first:
                told.line("handler.changed", "absent -> registered registered")
                told.line("token.changed 0 -> 1 replaced")
                check(broker.get("bot")["bearer_token"].startswith("token-of-bot-"), "bearer")
                with Following(*handler):
                    told.line("handler.changed", "replaced")
                    first.line("another program is the handler now")
                    broker.call("auth.refresh", account="bot")
                    told.line("token.changed 1 -> 2 replaced")
            told.line("handler.changed registered -> absent disconnected")


@test("the handler and the subscriber in shell do what they say")
def shell_examples():
    with Broker(account("bot")) as broker:
        file = os.path.join(broker.directory, "token")
        with shell(broker, os.path.join(EXAMPLES, "subscriber.sh"), "bot", file) as subscriber:
            with shell(broker, os.path.join(EXAMPLES, "handler.sh"), "bot", "printf", "of-the-shell"):
                equal(eventually(lambda: broker.get("bot") if not_refused(broker) else None, "a token")["bearer_token"],
                      "of-the-shell", "bearer")
                subscriber.line("written")
                with open(file) as found:
                    equal(found.read(), "of-the-shell\n", "the file")
                # One that is about to end is replaced.
                broker.save("bot", "short", expires_at=int(time.time()) + 3)
                eventually(lambda: broker.get("bot")["bearer_token"] == "of-the-shell", "a new one")


def not_refused(broker):
    return broker.call("credentials.inspect", account="bot")["has_token"]


@test("the program that uses ChatAuthClient does what it says")
def swift_example():
    program = os.path.join(BIN, "chatauth-example")
    if not os.access(program, os.X_OK):
        raise Skipped(f"{program} is not built")
    with Broker(account("bot", RPC)) as broker:
        with Following(program, broker.socket_path, "bot") as client:
            client.line("state", "sign_in_needed")
            client.line("handler.changed absent -> registered")
            client.line("token.changed 0 -> 1 replaced")
            client.line("a token of 12 bytes, generation 1")
            equal(broker.get("bot")["bearer_token"], "token-of-bot", "bearer")
            with contextlib.closing(broker.client()) as watcher:
                events(watcher, "handler")
                with contextlib.closing(register(broker)):
                    client.line("handler.replaced")
                    equal(client.process.wait(30), 0, "it ends when another one is the handler")
