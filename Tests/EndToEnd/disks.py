"""Disks that are full: small file systems in memory, which only root can mount."""

import os

from support import (
    Broker, DaemonFailed, RPCError, Sandbox, account, check, equal, event, events, eventually, fill, mark, refused,
    scratch, test, tmpfs)


@test("a full disk refuses a save and says so, a fetched credential is served from memory, and space mends it",
      root=True, slow=True)
def store_full():
    with Sandbox() as sandbox, tmpfs(scratch("full"), "8m") as directory:
        with Broker(account("bot"), account("fetched", sandbox.source("fetched")), directory=directory) as broker:
            # The log of the test itself lies elsewhere, in the runtime directory.
            broker.save("bot", "before")
            broker.get("fetched")
            client = broker.client()
            events(client, "daemon", "token")
            filler = fill(directory)

            def save():
                try:
                    broker.save("bot", mark("full") + "x" * 100_000)
                except RPCError as error:
                    return error.kind
                return None

            equal(save(), "store_full", "save")
            equal(broker.get("bot")["bearer_token"], "before", "what was there")
            first = broker.get("fetched")["bearer_token"]
            sandbox.settings("fetched", token_bytes=100_000)
            broker.call("auth.refresh", account="fetched")
            answer = broker.get("fetched")
            check(answer["bearer_token"] != first and len(answer["bearer_token"]) == 100_000, "the new one")
            equal(event(client, "daemon.changed")["cause"], "store_full", "event")
            written = commits(broker)
            os.unlink(filler)
            # What was served from memory is written as soon as that is possible, without anybody asking.
            eventually(lambda: commits(broker) > written, "the one from memory is written", 75)
            equal(save(), None, "saving again")
            token = broker.get("fetched")["bearer_token"]
            sandbox.fault("fetched", "hang", times="forever")
            broker.kill()
            broker.start()
            equal(broker.get("fetched", wait=0)["bearer_token"], token, "it is there after a kill")


def commits(broker):
    text = broker.call("daemon.metrics")["openmetrics"]
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("chatauth_commits_total")))


@test("a store that cannot be made on a full disk is an error that says where", root=True)
def no_room():

    with tmpfs(scratch("none"), "256k") as directory:
        broker = Broker(account("bot"), directory=directory, start=False)
        os.makedirs(broker.state, exist_ok=True)
        fill(directory)
        try:
            with broker:
                broker.start(timeout=20)
                equal(broker.status()["store"]["state"], "sealed", "either sealed")
        except DaemonFailed as failure:
            check("ended with 1" in str(failure), str(failure))


@test("where the audit log cannot be written nothing is handed out, and all is well when it can", root=True)
def audit_full():
    directory = scratch("audited")
    settings = "[audit]\nsegment_bytes = 65536\nsegments = 2\n"
    audit = os.path.join(directory, "home/state/chatauth/audit")
    os.makedirs(audit, mode=0o700)
    for name in ("home/state", "home", "home/state/chatauth"):
        os.chmod(os.path.join(directory, name), 0o700)
    with tmpfs(audit, "96k"):
        with Broker(account("bot"), settings=settings, directory=directory) as broker:
            token = mark("audited")
            broker.save("bot", token)
            held = broker.client()
            equal(held.call("token.get", {"account": "bot"})["bearer_token"], token, "first")
            filler = fill(audit)

            def refused_at_last():
                try:
                    broker.get("bot")
                except RPCError as error:
                    equal(error.kind, "audit_unwritable", "kind")
                    check(token not in str(error), "no token in the error")
                    return True
                return False

            eventually(refused_at_last, "the log is full", 60)
            equal(broker.cli("get-token", "bot").returncode, 6, "exit status")
            equal(broker.status()["audit"]["state"], "unwritable", "status")
            refused("audit_unwritable", broker.get, "bot")
            broker.save("bot", token + "-2")
            os.unlink(filler)
            eventually(lambda: not refused_at_last(), "handing out again")
            equal(broker.status()["audit"]["state"], "writable", "status")
            check(any(b"entries_lost" in line for line in broker.audit_lines()), "the log says what it lost")
