"""Refresh tokens that can be used once, against glewlwyd on TLS."""

import concurrent.futures
import contextlib
import os
import signal
import subprocess

from stage import Broker, Tap, account, give, glewlwyd, grant, provider, source
from support import Certificates, RPCError, check, equal, events, eventually, refused, test


@test("a refresh token is spent once for all who wait, and its successor is spent next")
def spends_once():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        broker.cli("secret", "set", "desk-secret", given=glewlwyd.CLIENT_SECRET.encode())
        refused("sign_in_needed", broker.get, "desk", wait=5)
        give(broker, idp)
        first = broker.get("desk")
        check(idp.introspect(first["bearer_token"])["active"], "the provider does not know its token")
        equal(len(tap.posts()), 1, "requests for the first token")
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(lambda _: broker.call("token.get", account="desk", force=True), range(32)))
        check(len(tap.posts()) <= 3, f"{len(tap.posts())} requests for 32 callers")
        equal(len({answer["generation"] for answer in answers} - {1}), len({a["generation"] for a in answers}), "old ones")
        tokens = [entry.refresh_token for entry in tap.posts()]
        equal(len(set(tokens)), len(tokens), "refresh tokens that were sent twice")
        equal(grant(broker)["state"], "usable", "state")


@test("a restart keeps the newest refresh token")
def survives_restart():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        broker.get("desk")
        for _ in range(3):
            broker.kill()
            broker.start()
            broker.call("auth.refresh", account="desk")
        equal(grant(broker)["state"], "usable", "state")
        equal([entry.status for entry in tap.posts()], [200] * len(tap.posts()), "answers")


@test("an answer that is lost is followed by one retry, and then by possibly_spent")
def lost_answer():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        broker.get("desk")
        before = len(tap.posts())
        tap.fault("lose")
        eventually(lambda: _try(broker) == "sign_in_needed", "the grant given up")
        posts = tap.posts()[before:]
        equal(len(posts), 2, "requests")
        equal(posts[0].refresh_token, posts[1].refresh_token, "the one that was sent again")
        equal(grant(broker)["state"], "possibly_spent", "state")
        shown = broker.call("account.show", account="desk")
        equal(shown["sign_in_reason"], "possibly_spent", "reason")
        for _ in range(5):
            _try(broker)
        equal(len(tap.posts()), before + 2, "requests after it was given up")
        give(broker, idp)
        broker.call("auth.refresh", account="desk")
        equal(grant(broker)["state"], "usable", "state after an import")


@test("an answer that is lost on its way there costs nothing")
def lost_request():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        broker.get("desk")
        tap.fault("refuse")
        eventually(lambda: _try(broker) == "", "another token")
        equal(grant(broker)["state"], "usable", "state")


@test("a page of a captive portal and a gateway's refusal cost nothing")
def portals():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        held = broker.get("desk")
        for fault, settings in (("html", {}), ("status", {"status": 403}), ("status", {"status": 502}),
                                ("status", {"status": 503}), ("status", {"status": 302})):
            tap.fault(fault, **settings)
            check(_try(broker) != "", f"a token from {fault} {settings}")
            equal(broker.get("desk")["bearer_token"], held["bearer_token"], "what is served meanwhile")
            eventually(lambda: _try(broker) == "", "another token")
            held = broker.get("desk")
            equal(grant(broker)["state"], "usable", "state")


@test("an invalid_grant is the end, costs one request, and is ended by an import")
def dead():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        held = broker.get("desk")
        before = len(tap.posts())
        tap.fault("status", status=400, body=b'{"error":"invalid_grant"}')
        equal(_try(broker), "grant_dead", "what the one who asked is told")
        equal(grant(broker)["state"], "dead", "state")
        equal(broker.get("desk")["bearer_token"], held["bearer_token"], "the token that is still good")
        check(broker.get("desk").get("stale"), "it is not marked stale")
        for _ in range(20):
            _try(broker)
        equal(len(tap.posts()), before + 1, "requests")
        give(broker, idp)
        broker.call("auth.refresh", account="desk")
        equal(grant(broker)["state"], "usable", "state after an import")


@test("two accounts share a grant, each with a scope of its own")
def shared():
    with provider() as (idp, tap), Broker(
            account("one", source(idp, grant="desk", scope="chat_read")),
            account("two", source(idp, grant="desk", scope="chat_read")),
            account("three", source(idp, grant="desk"))) as broker:
        give(broker, idp)
        for name in ("one", "two", "three"):
            broker.get(name)
        for _ in range(5):
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                list(pool.map(lambda name: broker.call("auth.refresh", account=name), ("one", "two", "three")))
        equal({entry.status for entry in tap.posts()}, {200}, "answers")
        tokens = [entry.refresh_token for entry in tap.posts()]
        equal(len(set(tokens)), len(tokens), "refresh tokens that were sent twice")
        check(len(tokens) < 18, "equal scopes did not share answers")


@test("a configuration that names another server parks the grant, and its return brings it back")
def parked():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        held = broker.get("desk")
        before = len(tap.posts())
        with elsewhere() as other:
            broker.write(account("desk", source(
                idp, issuer=None, token_endpoint=f"https://localhost:{other.port}/api/oidc/token")))
            broker.call("daemon.reload")
            refused("account_parked", broker.get, "desk", wait=0)
            _try(broker)
            equal(other.journal, [], "what was sent there")
            equal(grant(broker)["state"], "parked", "state")
        broker.write(account("desk", source(idp)))
        broker.call("daemon.reload")
        equal(broker.get("desk")["bearer_token"], held["bearer_token"], "the token")
        broker.call("auth.refresh", account="desk")
        equal(len(tap.posts()), before + 1, "requests")


@test("a stop waits for a refresh token that is out, and keeps what it brings")
def stop_waits():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        broker.get("desk")
        before = len(tap.posts())
        tap.fault("delay", seconds=2)
        client = broker.client()
        client.send("auth.refresh", {"account": "desk"})
        eventually(lambda: len(tap.posts()) > before, "the request")
        os.kill(broker.pid, signal.SIGTERM)
        equal(broker.process.wait(20), 0, "exit status")
        broker.start()
        broker.call("auth.refresh", account="desk")
        equal([entry.status for entry in tap.posts()], [200] * len(tap.posts()), "answers")


@test("a client secret that was replaced is tried in turn, and never ends the grant")
def secrets_in_turn():
    with provider() as (idp, tap), Broker(account("desk", source(
            idp, client_secret=None, client_secrets=[{"secret": "old"}, {"secret": "desk-secret"}]))) as broker:
        broker.cli("secret", "set", "old", given=b"retired\n")
        # This provider refuses a wrong secret with an empty 403; the word that RFC 6749 asks for comes from the tap.
        tap.fault("status", status=401, body=b'{"error":"invalid_client"}')
        give(broker, idp)
        broker.get("desk")
        equal([entry.status for entry in tap.posts()], [None, 200], "answers")
        equal(grant(broker)["state"], "usable", "state")
        broker.call("auth.refresh", account="desk")
        equal([entry.status for entry in tap.posts()], [None, 200, 200], "answers once one is known to work")


@test("client credentials need no grant, and opaque or not the token is the provider's")
def client_credentials():
    with provider() as (idp, tap), Broker(account("machine", source(
            idp, grant_type="client_credentials", scope="chat_read", introspect="always"))) as broker:
        broker.cli("secret", "set", "desk-secret", given=glewlwyd.CLIENT_SECRET.encode())
        answer = broker.get("machine")
        check(idp.introspect(answer["bearer_token"])["active"], "the provider does not know its token")
        shown = broker.call("account.show", account="machine")
        check(shown["expiries"]["backend"] is not None, f"no expiry of the provider: {shown['expiries']}")
        equal(broker.call("grant.list")["grants"], [], "grants")


def key_pair():
    """A key for signatures and its public half, as PEM."""
    key = subprocess.run(
        ["openssl", "genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        check=True, capture_output=True, text=True).stdout
    public = subprocess.run(
        ["openssl", "pkey", "-pubout"], input=key, check=True, capture_output=True, text=True).stdout
    return key, public


@test("a client that proves itself with a signature is believed, and with another key it is not")
def private_key_jwt():
    with provider() as (idp, tap):
        key, public = key_pair()
        idp.trust_client_key(public)
        signing = source(
            idp, client_secret=None, client_key={"secret": "desk-key"}, client_key_algorithm="ES256",
            grant_type="client_credentials", scope="chat_read")
        with Broker(account("machine", signing)) as broker:
            broker.call("secret.set", secret="desk-key", value=key)
            first = broker.get("machine")
            broker.call("auth.refresh", account="machine")
            second = broker.get("machine")
            check(first["bearer_token"] != second["bearer_token"], "each assertion is good for a token of its own")
            broker.call("secret.set", secret="desk-key", value=key_pair()[0])
            try:
                broker.call("auth.refresh", account="machine")
            except RPCError as error:
                check(error.error["data"]["http_status"] in (400, 401, 403), f"another key: {error}")
            else:
                raise AssertionError("another key was believed")


@test("signing out ends both tokens at the provider")
def sign_out():
    with provider() as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        held = broker.get("desk")
        done = broker.cli("auth", "deauthenticate", "desk")
        equal(done.returncode, 0, f"exit status: {done.stderr}")
        equal(idp.introspect(held["bearer_token"]), {"active": False}, "the token at the provider")
        equal(broker.call("grant.list")["grants"], [], "grants")
        again = broker.call("auth.deauthenticate", account="desk")
        equal(again.get("already_anonymous"), True, "the second time")


@test("a lifetime that changes is followed")
def lifetimes():
    with provider(access_seconds=60) as (idp, tap), Broker(account("desk", source(idp))) as broker:
        give(broker, idp)
        broker.get("desk")
        idp.change_lifetimes(4)
        broker.call("auth.refresh", account="desk")
        before = len(tap.posts())
        with contextlib.closing(broker.client()) as client:
            events(client, "token")
            eventually(lambda: [entry.status for entry in tap.posts()[before:]].count(200) >= 2,
                       "two refreshes ahead of expiry", 20)


def elsewhere():
    """Another server, which knows nobody."""
    return Tap(1, Certificates.path("server.pem"), Certificates.path("server.key"), Certificates.path("ca.pem"),
               "/api/oidc/token")


def _try(broker):
    """Refreshes once; the kind of the error, or an empty text."""
    try:
        broker.call("auth.refresh", account="desk", wait=10)
        return ""
    except RPCError as error:
        return error.kind
