"""Very many callers at once, and very many calls: what must stay flat stays flat."""

import json
import selectors
import socket
import time

from support import (
    PATIENCE, Broker, Sandbox, account, check, descriptors, equal, event, events, eventually, refused, resident, test)

CONNECTIONS, EACH = 200, 50


def flood(path, connections, each, request):
    """Sends `each` requests over each connection at once; the answers, as objects."""
    selector, waiting, answers = selectors.DefaultSelector(), {}, []
    for _ in range(connections):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        waiting[connection] = b""
        selector.register(connection, selectors.EVENT_READ)
    for connection in waiting:
        connection.sendall(b"".join(request % number for number in range(each)))
    deadline = time.monotonic() + 60
    missing = connections * each
    while missing and time.monotonic() < deadline:
        for key, _ in selector.select(1):
            more = key.fileobj.recv(1 << 18)
            check(more, "a connection was closed")
            *lines, waiting[key.fileobj] = (waiting[key.fileobj] + more).split(b"\n")
            answers += map(json.loads, lines)
            missing -= len(lines)
    for connection in waiting:
        connection.close()
    return answers


@test("10,000 callers at the moment of expiry cost one request and all get the same token", alone=True)
def at_expiry():
    with Sandbox() as sandbox:
        sandbox.settings("bot", lifetime_seconds=2)
        with Broker(account("bot", sandbox.source("bot"), autostart=False)) as broker:
            # The refresh that comes ahead of the end is late, so that it is still out when the token ends.
            broker.call("account.start", account="bot")
            old = broker.get("bot")["bearer_token"]
            sandbox.settings("bot", lifetime_seconds=3600)
            sandbox.fault("bot", "delay", delay_milliseconds=6000)
            sandbox.wait("bot", 2)

            def expired():
                try:
                    broker.get("bot", wait=0)
                except Exception as error:
                    return error.kind == "deadline_exceeded"
                return False

            eventually(expired, "the old one ends")
            request = b'{"jsonrpc":"2.0","id":%d,"method":"token.get","params":{"account":"bot"}}\n'
            answers = flood(broker.socket_path, CONNECTIONS, EACH, request)
            equal(len(answers), CONNECTIONS * EACH, "answers")
            tokens = {answer["result"]["bearer_token"] for answer in answers}
            equal((len(tokens), old in tokens), (1, False), "tokens")
            equal(sum(entry["method"] == "POST" for entry in sandbox.journal("bot")), 2, "requests, the first included")


def size(pid):
    return resident(pid), descriptors(pid)


@test("100,000 gets leave no descriptor and hardly any memory behind", alone=True)
def flat():
    request = b'{"jsonrpc":"2.0","id":%d,"method":"token.get","params":{"account":"bot"}}\n'
    with Broker(account("bot")) as broker:
        broker.save("bot", "t" * 1000)
        pid = broker.pid
        # The first rounds are what it needs to be warm.
        for _ in range(3):
            flood(broker.socket_path, 20, 250, request)
        eventually(lambda: broker.status()["connections"] == 1, "connections")
        before, opened = size(pid)
        for _ in range(20):
            answers = flood(broker.socket_path, 20, 250, request)
            check(all(answer["result"]["bearer_token"] == "t" * 1000 for answer in answers), "answers")
        eventually(lambda: broker.status()["connections"] == 1, "connections")
        grown, left = size(pid)
        # One more or less is a file that the store has open for a moment.
        eventually(lambda: descriptors(pid) <= opened, f"descriptors {left}, before {opened}")
        check(grown - before < 4096, f"grew by {grown - before} kB from {before} kB")


@test("1,500 changes of a credential leave hardly any memory behind", alone=True)
def refreshes():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot", scheme="http"))) as broker:
        pid = broker.pid
        client = broker.client()

        def many(count):
            for _ in range(count):
                # A wholesale save in between lets the next refresh begin at once.
                client.call("credentials.save_token", {"account": "bot", "token": "saved"})
                client.call("credentials.delete", {"account": "bot"})

        many(300)
        before = size(pid)
        many(1500)
        after = size(pid)
        eventually(lambda: descriptors(pid) <= before[1], f"descriptors {after[1]}, before {before[1]}")
        check(after[0] - before[0] < 4096, f"grew by {after[0] - before[0]} kB")
        refused("account_unknown", broker.get, "other")


@test("2,000 accounts start, are listed by pages, and each is handed out", alone=True)
def many_accounts():
    with Broker(*(account(f"bot-{number:04}") for number in range(2000))) as broker:
        client = broker.client(PATIENCE)
        for number in range(2000):
            client.send("credentials.save_token", {"account": f"bot-{number:04}", "token": f"token-{number}"})
        for _ in range(2000):
            check("result" in client.receive(), "saved")
        broker.restart()
        client = broker.client(PATIENCE)
        names, cursor = [], {}
        while True:
            page = client.call("account.list", {"limit": 300, **cursor})
            names += [item["account"] for item in page["accounts"]]
            if "cursor" not in page:
                break
            cursor = {"cursor": page["cursor"]}
        equal(names, [f"bot-{number:04}" for number in range(2000)], "pages")
        for number in (0, 999, 1999):
            equal(client.call("token.get", {"account": f"bot-{number:04}"})["bearer_token"], f"token-{number}", "token")
        events(client, "token", accounts=["bot-0001"])
        broker.save("bot-0002", "other")
        broker.save("bot-0001", "mine")
        equal(event(client, "token.changed")["account"], "bot-0001", "only what was asked for")
