"""Starting, stopping, reloading; a key that is not there; a store or a socket that somebody else has."""

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import time

from support import (
    PATIENCE, Broker, DaemonFailed, Sandbox, account, check, equal, eventually, mark, private, refused, scratch, served,
    test)


def digests(*directories):
    """What every file holds, by path."""
    found = {}
    for directory in directories:
        for folder, _, names in os.walk(directory):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[path] = hashlib.sha256(file.read()).hexdigest()
    return found


def start_failure(broker):
    """Why a broker does not start."""
    try:
        with broker:
            raise AssertionError("it started")
    except DaemonFailed as failure:
        return str(failure)


@test("a user namespace that hides who connects is no place to serve from", root=True)
def user_namespace():
    for instance, prefix, words in [
            ((), ["unshare", "--user"], "this user has no number"),
            (("--system",), ["unshare", "--user"], "hides who connects"),
            (("--system",), ["unshare", "--user", "--map-root-user"], "hides who connects")]:
        failure = start_failure(Broker(prefix=prefix, arguments=instance))
        check(words in failure, f"{prefix} {instance}: {failure}")
    with Broker(prefix=["unshare", "--user", "--map-root-user"]) as broker:
        equal(broker.call("rpc.hello")["peer"]["uid"], 0, "a user's own, who has a number, is served")


@contextlib.contextmanager
def sealed(wanted_kind, words, spoil, mend):
    """A broker whose key was spoiled between two starts; leaves the block with the key mended."""
    token = mark("sealed")
    with Broker(account("bot")) as broker:
        broker.save("bot", token)
        broker.stop()
        key = os.path.join(broker.state, "master.key")
        stored = [broker.state, os.path.join(broker.directory, "home/state/chatauth/epoch")]
        spoil(key)
        before = digests(*stored)
        broker.start(timeout=PATIENCE)
        status = broker.status()
        equal((status["store"]["state"], status["store"]["kind"]), ("sealed", wanted_kind), "status")
        check(all(word in status["store"]["reason"] for word in words), status["store"]["reason"])
        check(b"sealed" in broker.cli("status").stdout, "the command line says so")
        refused(wanted_kind if wanted_kind == "store_sealed" else "store_sealed", broker.get, "bot")
        equal(broker.cli("get-token", "bot").returncode, 8, "exit status")
        refused("store_sealed", broker.save, "bot", "other")
        refused("store_sealed", broker.call, "account.add", account="other")
        equal(broker.call("account.list")["accounts"][0]["account"], "bot", "list works")
        equal(broker.call("account.show", account="bot")["account"], "bot", "show works")
        broker.call("daemon.reload")
        equal(broker.status()["store"]["state"], "sealed", "a reload with the same key")
        yield broker
        broker.kill()
        equal(digests(*stored), before, "every file is as it was")
        mend(key)
        broker.start(timeout=PATIENCE)
        equal(broker.get("bot")["bearer_token"], token, "opens at the start with the right key")
        broker.stop()
        spoil(key)
        broker.start(timeout=PATIENCE)
        mend(key)
        equal(broker.cli("reload").returncode, 0, "reload")
        equal(broker.status()["store"]["state"], "open", "open when the reload is answered")
        equal(broker.get("bot")["bearer_token"], token, "and the token is there")


@test("a broker whose key is missing runs sealed, touches nothing, and opens when the key is back")
def key_missing():
    def hide(key):
        os.rename(key, key + ".away")

    def show(key):
        os.rename(key + ".away", key)

    with sealed("store_sealed", ["key", "missing"], hide, show) as broker:
        check(not os.path.exists(os.path.join(broker.state, "master.key")), "no new key is made beside a store")


@test("a broker with the wrong key runs sealed, touches nothing, and opens when the right one is back")
def key_wrong():
    with Broker(account("bot")) as other:
        with open(os.path.join(other.state, "master.key"), "rb") as file:
            foreign = file.read()

    def swap(key):
        if not os.path.exists(key + ".away"):
            os.link(key, key + ".away")
        os.unlink(key)
        private(key, foreign)

    def restore(key):
        os.unlink(key)
        os.link(key + ".away", key)

    with sealed("key_wrong", ["key"], swap, restore):
        pass


@test("a broker whose key is open to others runs sealed, touches nothing, and opens when it is closed")
def key_open():
    with sealed("store_sealed", ["open to others"], lambda key: os.chmod(key, 0o644), lambda key: os.chmod(key, 0o600)):
        pass


@test("an older store, and a store without its epoch file, are taken for rolled back and left alone")
def rolled_back():
    with Broker(account("bot")) as broker:
        broker.save("bot", "first")
        broker.stop()
        copy = scratch("copy")
        subprocess.run(["cp", "-a", broker.state + "/.", copy], check=True)
        broker.start()
        broker.save("bot", "second")
        broker.stop()
        subprocess.run(["cp", "-a", copy + "/store.db", broker.state], check=True)
        before = digests(broker.state)
        broker.start()
        equal(broker.status()["store"]["kind"], "store_rolled_back", "an older store")
        equal(broker.cli("get-token", "bot").returncode, 8, "exit status")
        broker.kill()
        equal(digests(broker.state), before, "left alone")
    with Broker(account("bot")) as broker:
        broker.save("bot", "first")
        broker.stop()
        epoch = os.path.join(broker.directory, "home/state/chatauth/epoch")
        for name in os.listdir(epoch):
            os.unlink(os.path.join(epoch, name))
        broker.start()
        equal(broker.status()["store"]["kind"], "store_rolled_back", "without an epoch")


@test("a damaged store is left as it is, and said to be damaged")
def damaged():
    with Broker(account("bot")) as broker:
        broker.save("bot", "x" * 20_000)
        broker.stop()
        path = os.path.join(broker.state, "store.db")
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) - 6000)
            file.write(os.urandom(64))
        before = digests(broker.state)
        try:
            broker.start()
        except DaemonFailed as failure:
            check("store" in str(failure), str(failure))
        else:
            equal(broker.status()["store"]["state"], "sealed", "state")
            check(broker.status()["store"]["kind"] in ("store_corrupt", "store_rolled_back"), broker.status()["store"])
            broker.kill()
        equal(digests(broker.state), before, "left alone")


@test("a second broker on the same store is refused, and the first does not notice")
def same_store():
    with Broker(account("bot")) as first:
        first.save("bot", "first")
        reason = start_failure(Broker(account("bot"), directory=first.directory))
        check("another daemon holds the store" in reason, reason)
        equal(first.get("bot")["bearer_token"], "first", "the first one")
        first.save("bot", "second")


@test("a second broker at a live socket is refused, a stale socket is replaced, a foreign file is left alone")
def same_socket():
    with Broker(account("bot")) as first:
        first.save("bot", "first")
        reason = start_failure(Broker(account("bot"), runtime=first.runtime))
        check("answers at" in reason, reason)
        equal(first.get("bot")["bearer_token"], "first", "the first one")
    stale = socket.socket(socket.AF_UNIX)
    with contextlib.closing(stale):
        stale.bind(first.socket_path + ".new")
    os.replace(first.socket_path + ".new", first.socket_path)
    with Broker(account("bot"), runtime=first.runtime) as second:
        equal(served(second)["peer"]["uid"], os.geteuid(), "a stale one")
    runtime = scratch("run")
    with open(os.path.join(runtime, "chatauth.sock"), "w") as file:
        file.write("mine")
    reason = start_failure(Broker(runtime=runtime))
    check("left alone" in reason, reason)
    with open(os.path.join(runtime, "chatauth.sock")) as file:
        equal(file.read(), "mine", "the foreign file")
    os.unlink(os.path.join(runtime, "chatauth.sock"))
    os.chmod(runtime, 0o777)
    check("nobody else may write" in start_failure(Broker(runtime=runtime)), "a directory open to others")


@test("the socket and everything that is kept is closed to others")
def modes():
    with Broker(account("bot")) as broker:
        broker.save("bot", "token")
        equal(os.stat(broker.socket_path).st_mode & 0o777, 0o600, "socket")
        for folder, _, names in os.walk(broker.directory):
            check(os.stat(folder).st_mode & 0o077 == 0, folder)
            for name in names:
                path = os.path.join(folder, name)
                check(os.stat(path).st_mode & 0o077 == 0 or "configuration" in path, path)


@test("SIGTERM: those who wait are told, what was saved is kept, the socket is gone, the status is 0")
def terminated():
    with Sandbox() as sandbox:
        sandbox.fault("slow", "hang", times="forever")
        with Broker(account("slow", sandbox.source("slow")), account("bot")) as broker:
            waiting = broker.client()
            waiting.send("token.get", {"account": "slow"})
            sandbox.wait("slow", 1)
            saving = broker.client()
            for number in range(100):
                saving.send("credentials.save_token", {"account": "bot", "token": f"token-{number}"}, number)
            saved = [saving.receive()["result"]["generation"] for _ in range(20)]
            process, begun = broker.process, time.monotonic()
            os.kill(process.pid, signal.SIGTERM)
            equal(waiting.receive()["error"]["data"]["kind"], "shutting_down", "who waits")
            with contextlib.suppress(ConnectionError):
                while True:
                    answer = saving.receive()
                    if "result" in answer:
                        saved.append(answer["result"]["generation"])
            equal(process.wait(PATIENCE), 0, "exit status")
            check(time.monotonic() - begun < 10, "in time")
            check(not os.path.exists(broker.socket_path), "socket")
            broker.process = None
            broker.start()
            check(broker.get("bot")["generation"] >= max(saved), "what was answered is kept")


@test("SIGTERM beside a worker that hangs ends both")
def terminated_with_worker():
    with Sandbox() as sandbox:
        sandbox.fault("slow", "hang", times="forever")
        with Broker(account("slow", sandbox.source("slow"))) as broker:
            sandbox.wait("slow", 1)
            workers, process = broker.children(), broker.process
            equal(len(workers), 1, "workers")
            os.kill(process.pid, signal.SIGTERM)
            equal(process.wait(PATIENCE), 0, "exit status")
            broker.process = None
            eventually(lambda: not os.path.exists(f"/proc/{workers[0]}"), "no worker is left")


@test("SIGHUP reads a good configuration, and refuses a bad one with its line while the running one stays")
def reloaded():
    with Broker(account("bot")) as broker:
        broker.save("bot", "token")
        broker.write(account("bot"), account("new"))
        os.kill(broker.pid, signal.SIGHUP)
        eventually(lambda: len(broker.call("account.list")["accounts"]) == 2, "the new account")
        equal(broker.get("bot")["bearer_token"], "token", "the old one")
        for text, line, word in [
                ("[account.bot]\nprovder = 'generic'\n", 2, "provider"), ("[account.bot\n", 1, ""),
                ("[account.bot]\nautostart = 'yes'\n", 2, ""), ("[limits]\nframe_bytes = 1\n", 2, ""),
                (account("bot") + account("bot"), 3, ""), ("[account.'a b']\n", 1, ""),
                ("[account.bot]\n[account.bot.source]\nkind = 'http'\nurl = 'http://example.com/'\n", 4, "")]:
            with open(broker.configuration, "w") as file:
                file.write(text)
            before = broker.logged().count("running one stays")
            os.kill(broker.pid, signal.SIGHUP)
            eventually(lambda: broker.logged().count("running one stays") > before, f"refused: {text!r}")
            error = refused("account_invalid", broker.call, "daemon.reload")
            check(f"chatauthd.toml:{line}" in error["message"] and word in error["message"], error["message"])
            result = broker.cli("reload")
            equal(result.returncode, 2, "exit status")
            check(f"chatauthd.toml:{line}".encode() in result.stderr, result.stderr)
            equal(len(broker.call("account.list")["accounts"]), 2, "the running one")
        equal(broker.get("bot")["bearer_token"], "token", "still there")
        reason = start_failure(Broker(directory=scratch("bad"), settings="[daemon]\nlog_levle = 'debug'"))
        check("chatauthd.toml:2" in reason and "log_level" in reason, reason)


@test("R60: command line and environment say how much is logged, a reload leaves that alone, and another word ends the start")
def levels():
    def logs_debugging(*arguments, **variables):
        prefix = ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
        with Broker(
                account("bot"), settings='[daemon]\nlog_level = "error"\n', prefix=prefix,
                arguments=arguments) as broker:
            broker.call("daemon.reload")
            broker.stop()
            # It is a notice, and everything is written when the daemon has ended.
            return "Configuration loaded" in broker.logged()
    check(not logs_debugging(), "the configuration says error")
    check(logs_debugging("--verbose"), "the command line says debug")
    check(logs_debugging(CHATAUTHD_LOG="notice"), "the environment says notice")
    check(logs_debugging("--verbose", CHATAUTHD_LOG="error"), "the command line wins")
    reason = start_failure(Broker(account("bot"), prefix=["env", "CHATAUTHD_LOG=loud"]))
    check("CHATAUTHD_LOG must be error, warning, notice, info or debug" in reason, reason)


@test("accounts.d is read beside the main file, and an account that is gone gives its token up until it is back")
def accounts_directory():
    with Broker(account("main")) as broker:
        folder = os.path.join(os.path.dirname(broker.configuration), "accounts.d")
        os.mkdir(folder, 0o700)
        path = os.path.join(folder, "more.toml")
        with open(path, "w") as file:
            file.write(account("more"))
        equal(broker.call("daemon.reload")["accounts"], 2, "accounts")
        broker.save("more", "kept")
        os.rename(path, path + ".off")
        broker.call("daemon.reload")
        refused("account_unknown", broker.get, "more")
        broker.restart()
        refused("account_unknown", broker.get, "more")
        os.rename(path + ".off", path)
        broker.call("daemon.reload")
        equal(broker.get("more")["bearer_token"], "kept", "back")


@test("a source that is changed is asked from the next refresh on, and the old one never again")
def changed_source():
    with Sandbox() as sandbox, Broker(account("bot", sandbox.source("old"))) as broker:
        first = broker.get("bot")["bearer_token"]
        sandbox.fault("old", "delay", delay_milliseconds=1000)
        waiting = broker.client()
        waiting.send("auth.refresh", {"account": "bot"})
        sandbox.wait("old", 2)
        broker.write(account("bot", sandbox.source("new")))
        broker.call("daemon.reload")
        waiting.receive()
        broker.call("auth.refresh", account="bot")
        check(broker.get("bot")["bearer_token"] != first, "another token")
        equal((len(sandbox.journal("old")), len(sandbox.journal("new")) > 0), (2, True), "who was asked")


@test("R206: the programs say what they are, and what they do not know")
def arguments():
    for program in ("chatauthd", "chatauth", "chatauth-sandbox"):
        path = os.path.join(os.path.dirname(Broker(start=False).program), program)
        asked = subprocess.run([path, "--help"], capture_output=True, timeout=PATIENCE)
        equal((asked.returncode, asked.stderr), (0, b""), program)
        check(asked.stdout.startswith(b"usage: " + program.encode()), asked.stdout[:60])
        wrong = subprocess.run([path, "--no-such-option"], capture_output=True, timeout=PATIENCE)
        equal((wrong.returncode, wrong.stdout), (2, b""), program)
