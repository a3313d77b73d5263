"""The same against django-oauth-toolkit, whose errors are those of RFC 6749 and whose access tokens are opaque."""

import contextlib
import json

from django_toolkit import DjangoToolkit
from stage import Broker, Tap, account, give, grant, source
from support import Certificates, RPCError, check, equal, eventually, scratch, test


@contextlib.contextmanager
def toolkit():
    files = (Certificates.path("server.pem"), Certificates.path("server.key"), Certificates.path("ca.pem"))
    with Tap(0, *files, "/o/token/") as tap, DjangoToolkit(scratch("django"), *files, url=tap.url) as idp:
        tap.upstream_port = idp.port
        yield idp, tap


def desk(idp, **members):
    return account("desk", source(
        idp, client_id="desk", introspection_endpoint=idp.url + "/o/introspect/",
        revocation_endpoint=idp.url + "/o/revoke_token/", **members))


def refresh(broker):
    try:
        broker.call("auth.refresh", account="desk", wait=10)
        return ""
    except RPCError as error:
        return error.kind


@test("django-oauth-toolkit: grants rotate, ID tokens are verified, and reuse is dead and said so")
def rotates():
    with toolkit() as (idp, tap), Broker(desk(idp)) as broker:
        give(broker, idp, secret="desk-secret")
        first = broker.get("desk")
        equal(refresh(broker), "", "a refresh")
        posts = tap.posts()
        equal([entry.status for entry in posts], [200] * len(posts), "answers")
        check(first["expires_at"] is not None, "no expiry")
        # Somebody else spends what the broker holds: the provider ends the whole family, and says invalid_grant.
        stolen = json.loads(posts[-1].body)["refresh_token"]
        equal(idp.spend(stolen)[0], 200, "the thief")
        equal(refresh(broker), "grant_dead", "the broker")
        equal(grant(broker)["state"], "dead", "state")
        before = len(tap.posts())
        for _ in range(5):
            refresh(broker)
        equal(len(tap.posts()), before, "requests for a dead grant")


@test("django-oauth-toolkit: opaque tokens get their expiry from the introspection endpoint")
def introspects():
    with toolkit() as (idp, _), Broker(desk(idp, introspect="always")) as broker:
        give(broker, idp, secret="desk-secret")
        broker.get("desk")
        shown = broker.call("account.show", account="desk")
        check(shown["expiries"]["backend"] is not None, f"{shown['expiries']}")


@test("django-oauth-toolkit: a lost answer is retried once and then possibly spent")
def loses():
    with toolkit() as (idp, tap), Broker(desk(idp)) as broker:
        give(broker, idp, secret="desk-secret")
        broker.get("desk")
        before = len(tap.posts())
        tap.fault("lose")
        eventually(lambda: refresh(broker) == "sign_in_needed", "the grant given up")
        equal(len(tap.posts()), before + 2, "requests")
        equal(grant(broker)["state"], "possibly_spent", "state")


@test("django-oauth-toolkit: a wrong client secret never ends the grant")
def wrong_secret():
    with toolkit() as (idp, tap), Broker(desk(
            idp, client_secret=None, client_secrets=[{"secret": "old"}, {"secret": "desk-secret"}])) as broker:
        broker.cli("secret", "set", "old", given=b"retired\n")
        give(broker, idp, secret="desk-secret")
        broker.get("desk")
        equal([entry.status for entry in tap.posts()], [401, 200], "answers")
        equal(grant(broker)["state"], "usable", "state")


@test("django-oauth-toolkit: signing out revokes")
def signs_out():
    with toolkit() as (idp, tap), Broker(desk(idp)) as broker:
        give(broker, idp, secret="desk-secret")
        broker.get("desk")
        token = json.loads(tap.posts()[-1].body)["refresh_token"]
        equal(broker.cli("auth", "deauthenticate", "desk").returncode, 0, "exit status")
        status, text = idp.spend(token)
        equal((status, json.loads(text)["error"]), (400, "invalid_grant"), "the refresh token at the provider")
