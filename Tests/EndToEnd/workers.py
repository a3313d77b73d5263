"""The fetch worker, killed, stopped, replaced by one that lies: it costs refreshes and nothing else."""

import os
import signal
import subprocess
import sys
import time

from support import (
    PATIENCE, ROOT, Broker, RPCError, Sandbox, account, check, equal, eventually, private, refused, resident, scratch,
    test)

LIAR = os.path.join(ROOT, "Tests/OriginSupport/liar.py")


def worker(broker):
    """The process id of its worker; None: it has none."""
    return next(iter(broker.children()), None)


def refreshed(broker, name):
    """The state after a refresh that worked."""
    try:
        return broker.call("auth.refresh", account=name)
    except RPCError:
        return None


@test("a worker that is killed is replaced; who waited is told, and cached gets go on")
def killed():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"))) as broker:
        broker.get("bot")
        first = worker(broker)
        check(first, "there is a worker")
        sandbox.fault("bot", "hang")
        waiting = broker.client()
        waiting.send("auth.refresh", {"account": "bot"})
        sandbox.wait("bot", 2)
        os.kill(first, signal.SIGKILL)
        error = waiting.receive()["error"]
        check("worker" in error["message"] and error["data"]["retryable"], error)
        check(broker.get("bot")["bearer_token"], "the cached one")
        eventually(lambda: refreshed(broker, "bot"), "refreshes work again")
        check(worker(broker) not in (None, first), "another worker")
        os.kill(worker(broker), signal.SIGKILL)
        check(broker.get("bot")["bearer_token"], "the cached one")
        eventually(lambda: refreshed(broker, "bot"), "and again")


@test("a worker that stands still does not outlive the broker")
def left_behind():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"))) as broker:
        broker.get("bot")
        left = worker(broker)
        os.kill(left, signal.SIGSTOP)
        broker.stop()
        eventually(lambda: not os.path.exists(f"/proc/{left}"), "it is gone")


@test("a worker that is stopped is found out and replaced")
def stopped():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot", timeout=1))) as broker:
        broker.get("bot")
        first = worker(broker)
        os.kill(first, signal.SIGSTOP)
        client = broker.client()
        client.send("auth.refresh", {"account": "bot"})
        begun = time.monotonic()
        for _ in range(100):
            broker.get("bot")
        check(time.monotonic() - begun < 5, "cached gets beside it")
        client.receive()
        eventually(lambda: refreshed(broker, "bot"), "refreshes work again")
        check(worker(broker) != first, "another worker")
        eventually(lambda: not os.path.exists(f"/proc/{first}"), "the stopped one is gone")


def replaced(way):
    """The path of a worker that lies in that way."""
    path = os.path.join(scratch("liar"), "worker")
    private(path, f'#!/bin/sh\nexec "{sys.executable}" "{LIAR}" {way}\n', mode=0o700)
    return path


def lie(way):
    settings = f'[fetch]\nworker = "{replaced(way)}"\n'
    source = {"kind": "http", "url": "https://localhost:1/", "timeout": 1}
    with Broker(account("bot", source, autostart=False), account("cached"), settings=settings) as broker:
        broker.save("cached", "cached")
        broker.call("account.start", account="bot")
        kinds = ("upstream_error", "upstream_timeout", "upstream_unreachable", "credential_empty", "credential_malformed",
                 "deadline_exceeded", "credential_too_large")
        try:
            broker.get("bot", wait=8)
        except Exception as error:
            check(getattr(error, "kind", "") in kinds, f"{way}: {error!r}")
        else:
            raise AssertionError(f"{way}: a token came out of a lie")
        equal(broker.get("cached")["bearer_token"], "cached", way)
        broker.save("cached", "after")
        check(resident(broker.pid) < 100_000, f"{way}: {resident(broker.pid)} kB")


for way in ("garbage", "unknown", "twice", "endless", "deep", "silent", "honest"):
    test(f"a worker that lies gets nothing through: {way}")(lambda way=way: lie(way))


@test("a worker that is not there, or ends at once, costs refreshes only")
def missing():
    for path in ("/nonexistent/worker", "/bin/false"):
        with Broker(account("bot", {"kind": "http", "url": "https://localhost:1/"}), account("cached"),
                    settings=f'[fetch]\nworker = "{path}"\n') as broker:
            broker.save("cached", "cached")
            refused("upstream_error", broker.get, "bot")
            equal(broker.get("cached")["bearer_token"], "cached", path)


@test("the worker has no descriptor of the broker's but its own socket, and nothing in its environment", root=True)
def inheritance():
    with Sandbox() as sandbox:
        with Broker(account("bot", sandbox.source("bot")), prefix=["env", "SECRET_OF_SOMEBODY=1"]) as broker:
            broker.get("bot")
            pid = worker(broker)
            links = []
            for name in os.listdir(f"/proc/{pid}/fd"):
                try:
                    links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
                except OSError:
                    pass
            check(not any(broker.directory in link for link in links), f"descriptors {links}")
            with open(f"/proc/{pid}/environ", "rb") as file:
                check(b"SECRET_OF_SOMEBODY" not in file.read(), "environment")
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                check(broker.directory.encode() not in file.read(), "arguments")


@test("a worker whose broker is killed ends by itself")
def orphan():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("bot"))) as broker:
        broker.get("bot")
        pid = worker(broker)
        os.kill(broker.pid, signal.SIGKILL)
        eventually(lambda: not os.path.exists(f"/proc/{pid}"), "the worker ends")


@test("a worker that is started by hand says what it is for")
def by_hand():
    path = os.path.join(os.path.dirname(Broker(start=False).program), "chatauth-fetch")
    ended = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    check(ended.returncode not in (0, None) and ended.returncode > 0, f"status {ended.returncode}")
