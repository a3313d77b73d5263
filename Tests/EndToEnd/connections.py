"""What peers do to the socket: half a frame, silence, not reading, too much."""

import json
import os
import subprocess
import time

from support import (
    BIN, Broker, Sandbox, account, check, descriptors, equal, eventually, is_closed, mark, raw, refused, resident,
    served, test, vectors)


def line(identifier, method="rpc.hello", **params):
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}).encode() + b"\n"


def answers(connection, count):
    """That many lines, as JSON."""
    text = b""
    while text.count(b"\n") < count:
        more = connection.recv(1 << 18)
        check(more, f"closed after {text.count(10)} answers of {count}")
        text += more
    return [json.loads(piece) for piece in text.splitlines()]


@test("every file of the JSON test suite is refused as a frame, and the call behind it is answered")
def suite():
    folder, tried = vectors("jsontestsuite/test_parsing"), 0
    with Broker(account("bot")) as broker:
        connection = raw(broker)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                text = file.read().removesuffix(b"\n")
            # None of them is a request, so whatever is JSON is an invalid one.
            if not text.strip(b"\r") or b"\n" in text:
                continue
            connection.sendall(text + b"\n" + line(tried))
            refusal, answer = answers(connection, 2)
            # An array is a batch of things that are no requests.
            codes = {each["error"]["code"] for each in (refusal if isinstance(refusal, list) else [refusal])}
            equal(len(codes), 1, name)
            code = codes.pop()
            valid = name.startswith("y_") and "duplicated" not in name
            check(code in ((-32600,) if valid else (-32600, -32700)), f"{name}: {code}")
            check(not name.startswith("n_") or code == -32700, f"{name}: {code}")
            equal(answer["id"], tried, name)
            tried += 1
        check(tried > 250, f"files tried: {tried}")
        connection.close()


@test("half a frame is closed after 5 s, dripped ones too; an idle connection is kept, and what is whole is answered")
def halves():
    with Broker(account("bot")) as broker:
        idle, half, dripping, behind = (raw(broker) for _ in range(4))
        idle.sendall(line(1))
        equal(answers(idle, 1)[0]["id"], 1, "before")
        begun = time.monotonic()
        half.sendall(b'{"jsonrpc":"2.0",')
        behind.sendall(line(7) + b'{"half')
        equal(answers(behind, 1)[0]["id"], 7, "the whole one in front of half a one")

        def drip():
            try:
                dripping.sendall(b" ")
                return dripping.recv(10) == b""
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        dripping.settimeout(0.05)
        eventually(drip, "the dripping one is closed", 12)
        for connection in (half, behind):
            check(is_closed(connection, 8), "half a frame")
        check(4 < time.monotonic() - begun < 12, f"after {time.monotonic() - begun:.1f} s")
        idle.sendall(line(2))
        equal(answers(idle, 1)[0]["id"], 2, "the idle one still works")


@test("R209: line ends, batches, notifications, strays and garbage are answered as the specification says")
def framing():
    with Broker(account("bot")) as broker:
        connection = raw(broker)
        connection.sendall(line(1).replace(b"\n", b"\r\n"))
        equal(answers(connection, 1)[0]["id"], 1, "carriage return")
        connection.sendall(b"[" + line(1).strip() + b"," + line(2, "token.get", account="bot").strip() + b",3]\n")
        batch = answers(connection, 1)[0]
        equal(sorted(str(item["id"]) for item in batch), ["1", "2", "None"], "batch")
        for text, code in [
                (b"garbage\n", -32700), (b"[" * 64 + b"]" * 64 + b"\n", -32700),
                (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"rpc.hello"}\n', -32700),
                (b"[]\n", -32600), (b"5\n", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"a"}\n', -32600),
                (b"[" + b",".join([line(1).strip()] * 17) + b"]\n", -32600), (line(1, "no.such"), -32601),
                (line(1, "token.get"), -32602), (line(1, "token.get", account=5), -32602),
                (line(1, "token.get", account="bot", typo=1), -32602)]:
            connection.sendall(text)
            equal(answers(connection, 1)[0]["error"]["code"], code, f"{text[:60]!r}")
        connection.sendall(b'{"jsonrpc":"2.0","method":"rpc.hello"}\n{"jsonrpc":"2.0","id":9,"result":1}\n' + line(10))
        equal(answers(connection, 1)[0]["id"], 10, "nothing for a notification and a stray answer")


@test("a frame of 1 MiB is read, a longer one ends the connection")
def long_frames():
    with Broker(account("bot")) as broker:
        connection = raw(broker)
        padded = line(1)[:-1]
        connection.sendall(padded + b" " * ((1 << 20) - len(padded)) + b"\n")
        equal(answers(connection, 1)[0]["id"], 1, "1 MiB")
        try:
            connection.sendall(b" " * ((1 << 20) + 2))
        except ConnectionError:
            pass
        check(is_closed(connection), "longer")
        equal(broker.call("rpc.hello")["protocol_version"][:1], "1", "the daemon goes on")


@test("peers that never read are closed, and nobody else waits for them")
def unread():
    with Broker(account("bot")) as broker:
        broker.save("bot", "x" * 200_000)
        deaf = [raw(broker, timeout=0.2) for _ in range(3)]
        request = line(1, "token.get", account="bot")
        for connection in deaf:
            try:
                for _ in range(3000):
                    connection.sendall(request)
            except (TimeoutError, ConnectionError):
                pass
        client = broker.client()
        begun = time.monotonic()
        for _ in range(20):
            client.call("token.get", {"account": "bot"})
        check(time.monotonic() - begun < 5, "others are served")
        for connection in deaf:
            check(is_closed(connection), "closed")
        check(resident(broker.pid) < 120_000, f"memory: {resident(broker.pid)} kB")


@test("a subscriber that does not read gets one mark where it lost events, and costs no memory")
def overflow():
    with Broker(account("bot")) as broker:
        deaf = raw(broker)
        deaf.sendall(line(1, "events.subscribe", topics=["token", "account"]))
        client = broker.client()
        for batch in range(12):
            for number in range(400):
                client.send("credentials.save_token", {"account": "bot", "token": f"t{batch}-{number}"})
            for _ in range(400):
                client.receive()
        metrics = broker.call("daemon.metrics")["openmetrics"]
        overflowed = "chatauth_events_overflowed_total 1\n" in metrics
        deaf.settimeout(1)
        text = b""
        try:
            while more := deaf.recv(1 << 18):
                text += more
        except TimeoutError:
            pass
        marks = text.count(b'"events.overflow"')
        equal((marks, overflowed), (1, True), "marks, metric")
        client.call("credentials.save_token", {"account": "bot", "token": "after"})
        check(b"token.changed" in deaf.recv(1 << 16), "events come again once all was read")


@test("a broker with few descriptors refuses some, does not end, and serves all again when they are free")
def few_descriptors():
    with Broker(account("bot"), settings="[limits]\nspare_descriptors = 16",
                prefix=["prlimit", "--nofile=40:40"]) as broker:
        broker.save("bot", "few")
        client = broker.client()
        many = []
        for _ in range(60):
            try:
                many.append(raw(broker))
            except OSError:
                pass
        equal(client.call("token.get", {"account": "bot"})["bearer_token"], "few", "while they are gone")
        # Commits need descriptors too: the journal of the store.
        client.call("credentials.save_token", {"account": "bot", "token": "committed"})
        for connection in many:
            connection.close()
        eventually(lambda: served(broker), "served again")
        equal(broker.get("bot")["bearer_token"], "committed", "after")


@test("no connection, however it ends, leaves a descriptor behind")
def ends():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"))) as broker:
        broker.get("bot")
        pid = broker.pid
        eventually(lambda: broker.call("daemon.status")["connections"] == 1, "only the asking one")
        before = descriptors(pid)
        for number in range(300):
            connection = raw(broker)
            if number % 3 == 0:
                connection.sendall(b'{"half')
            elif number % 3 == 1:
                connection.sendall(
                    line(1, "auth.refresh", account="bot") + line(2, "events.subscribe", topics=["token"]))
            connection.close()
        eventually(lambda: broker.call("daemon.status")["connections"] == 1, "all are gone")
        eventually(lambda: descriptors(pid) <= before, f"descriptors {descriptors(pid)}, before {before}")


@test("more calls of one user than are allowed at a time are told to come back")
def pending():
    with Sandbox() as sandbox:
        # Before the account asks by itself: whoever joins that request would be told of it.
        sandbox.fault("slow", "hang", times="forever")
        with Broker(account("slow", sandbox.source("slow")), account("fast"),
                    settings="[limits]\npending_per_uid = 50") as broker:
            broker.save("fast", mark("fast"))
            client = broker.client()
            for _ in range(60):
                client.send("auth.refresh", {"account": "slow", "wait": 20})
            kinds = [client.receive()["error"]["data"]["kind"] for _ in range(10)]
            equal(set(kinds), {"overloaded"}, "kinds")
            client.close()


@test("the command line says what it cannot reach, and does not wait for it")
def not_there():
    with Broker(account("bot")) as broker:
        result = subprocess.run(
            [os.path.join(BIN, "chatauth"), "--socket", broker.socket_path + "-not", "status"], capture_output=True,
            timeout=10)
        equal((result.returncode, result.stdout), (3, b""), "no socket")
        check(b"chatauthd" in result.stderr, result.stderr)
        refused("account_unknown", broker.get, "not")
