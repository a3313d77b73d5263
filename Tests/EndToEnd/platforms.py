"""Accounts at chat platforms, against the stand-ins: what goes over the wire, and what happens when a platform changes its mind.

Each test ends by asking the stand-in whether it has anything to complain about.
"""

import concurrent.futures
import contextlib
import json

from support import Broker, Sandbox, check, equal, event, events, eventually, refused, test, toml


def described(name, provider, source=None, bind=None, **settings):
    """The text of an account on a platform."""
    lines = [f"[account.{json.dumps(name)}]", f"provider = {json.dumps(provider)}"]
    lines += [f"{key} = {toml(value)}" for key, value in settings.items()]
    for word, table in (("source", source), ("bind", bind)):
        if table:
            lines += [f"[account.{json.dumps(name)}.{word}]"]
            lines += [f"{key} = {toml(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


class Platform(Sandbox):
    def __exit__(self, kind, *rest):
        try:
            if kind is None:
                equal(self.request("GET", "/_sandbox/violations")["violations"], [], "what the platform complains about")
        finally:
            super().__exit__(kind, *rest)

    def set(self, path, **settings):
        return self.request("PUT", f"/_sandbox/{path}", settings)

    def do(self, path, **members):
        return self.request("POST", f"/_sandbox/{path}", members)

    def at(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"

    def asked(self, noun, name, route):
        """Requests that arrived on a path."""
        entries = self.request("GET", f"/_sandbox/journal?{noun}={name}")["entries"]
        return [entry for entry in entries if entry["path"].endswith(route)]

    def kindly(self, bot, **settings):
        """A Kindly account whose backend signs what the bot believes."""
        key = self.request("GET", f"/_sandbox/kindly/{bot}/key?alg=RS256")
        self.set(
            f"backend/{bot}", token_format="signed_jwt", alg="RS256", key=key["private_key"], expiry="missing",
            lifetime_seconds=settings.pop("lifetime", 3600), claims={"iss": "https://customer.example", "sub": "user-42"},
            body_claims={"chat.id": "chatId"})
        source = {"kind": "http", "url": self.at(f"backend/{bot}/token"), "fields": {"id_token": "token"}}
        return described(
            bot, "kindly", source, bot_key=bot, market="en", base_url=self.at(f"kindly/{bot}/chatbubble/v2"), **settings)

    def chatbase(self, name, **settings):
        return described(name, "chatbase", agent_id="agent-1", base_url=self.at(f"chatbase/{name}/api/sdk"), **settings)

    def socialplus(self, name, **settings):
        source = {"kind": "http", "form": "socialplus_auth_token", "server_key": {"secret": "server-key"},
                  "url": self.at(f"socialplus/{name}/api/v4/authentication/token")}
        return described(
            name, "socialplus", source, api_key={"secret": "api-key"}, base_url=self.at(f"socialplus/{name}"),
            user_id="user-1", **settings)


def secrets(broker):
    broker.call("secret.set", secret="api-key", value="api-key")
    broker.call("secret.set", secret="server-key", value="server-key")


@test("R30, R5, R35: Kindly: the chat is connected, the backend signs for it, and the platform's expiry counts")
def kindly_bound():
    with Platform() as platform:
        platform.set("kindly/shop", bind_seconds=120)
        with Broker(platform.kindly("shop")) as broker:
            chat = broker.call("chat.id", account="shop")["chat_id"]
            eventually(lambda: broker.get("shop")["expiry_source"] == "backend", "the bind's expiry counts")
            chats = platform.request("GET", "/_sandbox/kindly/shop/chats")
            equal(chats[chat]["user"], "user-42", "who is bound")
            equal(len(platform.asked("kindly", "shop", "/auth/chat")), 1, "binds")


@test("R32, R34: Kindly: a token that is revoked is replaced after one 401, and the chat stays")
def kindly_revoked():
    with Platform() as platform, Broker(platform.kindly("shop")) as broker:
        chat = broker.call("chat.id", account="shop")["chat_id"]
        first = broker.get("shop")
        # A bind that finds it revoked would have it replaced before anybody reports it.
        eventually(lambda: platform.asked("kindly", "shop", "/auth/chat"), "it is bound")
        platform.do("kindly/shop/revoke", token=first["bearer_token"])
        answer = broker.call("token.reject", account="shop", generation=first["generation"], http_status=401)
        equal(answer["accepted"], True, "the report")
        second = eventually(lambda: (new := broker.get("shop"))["generation"] == 2 and new, "another token")
        check(second["bearer_token"] != first["bearer_token"], "it is another one")
        equal(broker.call("chat.id", account="shop")["chat_id"], chat, "the chat")


@test("R51, R54: Kindly: a sign-out that the platform does not hear of is done here all the same, and told")
def kindly_sign_out():
    with Platform() as platform, Broker(platform.kindly("shop")) as broker:
        broker.get("shop")
        eventually(lambda: platform.asked("kindly", "shop", "/auth/chat"), "it is bound")
        platform.do("kindly/shop/faults", fault="status", status=500, route="auth/chat/invalidate")
        error = refused("revoke_failed", broker.call, "auth.deauthenticate", account="shop")
        equal(error["data"]["cleared"], True, "cleared")
        refused("sign_in_needed", broker.get, "shop")
        equal(broker.call("auth.deauthenticate", account="shop")["already_anonymous"], True, "the second time")
        broker.call("auth.authenticate", account="shop")
        check(broker.get("shop")["bearer_token"], "signed in again")


@test("R51, R54: Kindly: a sign-out behind a sign-in ends what that has bound, whether its answer comes late or never")
def kindly_sign_out_behind():
    for kind, fault in (
            ("sign_in_needed", {"fault": "delay", "delay_milliseconds": 1500}),
            ("upstream_unreachable", {"fault": "reset"})):
        with Platform() as platform, Broker(platform.kindly("shop")) as broker:
            def bound(chat):
                return platform.request("GET", "/_sandbox/kindly/shop/chats").get(chat, {}).get("user")

            chat = broker.call("chat.id", account="shop")["chat_id"]
            eventually(lambda: bound(chat) == "user-42", "it is bound")
            broker.call("auth.deauthenticate", account="shop")
            equal(bound(chat), None, "nobody")
            platform.do("kindly/shop/faults", route="auth/chat", **fault)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                sign_in = pool.submit(refused, kind, broker.call, "auth.authenticate", account="shop")
                eventually(lambda: bound(chat) == "user-42", "the platform has bound it, and has not said so")
                if fault["fault"] == "reset":
                    sign_in.result()
                answer = broker.call("auth.deauthenticate", account="shop")
                equal(answer, {"account": "shop"}, "the sign-out")
                equal(bound(chat), None, "nobody again")
                sign_in.result()
            equal(broker.call("chat.id", account="shop")["chat_id"], chat, "the chat")


@test("R78, R100: Chatbase: a hundred cold clients make one device, and a logout makes no request")
def chatbase_device():
    with Platform() as platform, Broker(platform.chatbase("shop")) as broker:
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            found = set(pool.map(lambda _: broker.call("device.id", account="shop")["device_id"], range(100)))
        equal(len(found), 1, "devices")
        token = platform.do("chatbase/shop/mint", user_id="u1")["token"]
        broker.call("identity.identify", account="shop", token=token)
        equal(broker.call("identity.state", account="shop")["auth_state"], "identified", "state")
        before = len(platform.request("GET", "/_sandbox/journal?chatbase=shop")["entries"])
        broker.call("identity.logout", account="shop")
        equal(len(platform.request("GET", "/_sandbox/journal?chatbase=shop")["entries"]), before, "requests")
        broker.restart()
        equal(broker.call("device.id", account="shop")["device_id"], found.pop(), "the device after a restart")


@test("R85, R86: Chatbase: a refused identity leaves the one before, with its code")
def chatbase_refused():
    with Platform() as platform, Broker(platform.chatbase("shop")) as broker:
        good = platform.do("chatbase/shop/mint", user_id="u1")["token"]
        for wrong in ({"exp": 1}, {"key": "another secret"}, {"alg": "HS512", "key": "identity-secret"}):
            bad = platform.do("chatbase/shop/mint", user_id="u2", **wrong)["token"]
            error = refused("credential_rejected", broker.call, "identity.identify", account="shop", token=bad)
            equal((error["data"]["http_status"], error["data"]["provider_code"]), (401, "AUTH_INVALID_JWT"), str(wrong))
        equal(broker.call("identity.state", account="shop")["auth_state"], "anonymous", "before")
        broker.call("identity.identify", account="shop", token=good)
        bad = platform.do("chatbase/shop/mint", user_id="u2", exp=1)["token"]
        refused("credential_rejected", broker.call, "identity.switch", account="shop", token=bad)
        headers = dict(broker.call("headers.get", account="shop")["headers"])
        equal(headers["X-User-Token"], good, "the token")
        check("Authorization" not in headers, "no Authorization")


@test("R161, R164: social.plus: a session, a secure logout that fails and changes nothing, and one that works")
def socialplus_session():
    with Platform() as platform, Broker(platform.socialplus("club")) as broker:
        secrets(broker)
        refused("session_state_invalid", broker.get, "club")
        broker.call("session.login", account="club")
        equal(broker.call("session.state", account="club")["state"], "established", "state")
        token = broker.get("club")
        equal(token["expiry_source"], "backend", "whose expiry")
        platform.do("socialplus/club/faults", fault="status", status=500, route="revoke")
        refused("revoke_failed", broker.call, "session.secure_logout", account="club")
        equal(broker.get("club")["bearer_token"], token["bearer_token"], "the token after a failed logout")
        broker.restart()
        equal(broker.call("session.state", account="club")["state"], "established", "after a restart")
        broker.call("session.secure_logout", account="club")
        equal(broker.call("session.state", account="club")["state"], "not_logged_in", "after it worked")


@test("R164: social.plus: a secure logout that a kill cuts short is finished at the next start")
def socialplus_cut_short():
    with Platform() as platform, Broker(platform.socialplus("club")) as broker:
        secrets(broker)

        def revocations():
            return [entry for entry in platform.asked("socialplus", "club", "/v4/sessions") if entry["method"] == "DELETE"]

        broker.call("session.login", account="club")
        # The platform does what it is asked to, and its answer never comes.
        platform.do("socialplus/club/faults", fault="hang", route="revoke")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            leaving = pool.submit(broker.call, "session.secure_logout", account="club")
            eventually(lambda: len(revocations()) == 1, "the platform is asked")
            broker.kill()
            check(leaving.exception() is not None, "nobody was told that it worked")
        broker.start()
        eventually(
            lambda: broker.call("session.state", account="club")["state"] == "not_logged_in", "finished after the start")
        equal(len(revocations()), 2, "revocations")
        refused("session_state_invalid", broker.get, "club")


@test("R159, R160, R204: social.plus: the doctor tells a wrong server key, a token that is none and a foreign signature apart")
def socialplus_doctor():
    with Platform() as platform, Broker(platform.socialplus("club")) as broker:
        secrets(broker)

        def advice(kind, method, **params):
            refused(kind, broker.call, method, account="club", **params)
            findings = broker.call("account.doctor", account="club")["findings"]
            return next(finding["fix"] for finding in findings if finding["code"] == "login_failed")

        broker.call("secret.set", secret="server-key", value="another")
        check("server_key" in advice("callback_rejected", "session.login"), "a wrong server key")
        online = broker.call("account.doctor", account="club", online=True)["findings"]
        check(any("server_key" in finding.get("fix", "") for finding in online), "the same, tried just now")
        broker.call("secret.set", secret="server-key", value="server-key")
        junk = advice("credential_rejected", "session.login", auth_token="junk")
        check("auth token must be of this user" in junk, "a token that is none")
        platform.do("socialplus/other/keys", alg="HS256")
        foreign = platform.do("socialplus/other/mint", userId="user-1")["token"]
        signature = advice("credential_rejected", "session.login_with_access_token", access_token=foreign)
        check("key that is configured in the console" in signature, "a foreign signature")
        broker.call("session.login", account="club")
        check("last_login_error" not in broker.call("session.state", account="club"), "forgotten with a success")


@test("R178, R180, R198: social.plus: a ban while a hundred clients ask ends the session, and no handler is called")
def socialplus_ban():
    with Platform() as platform, Broker(platform.socialplus("club")) as broker:
        secrets(broker)
        broker.call("session.login", account="club")
        watcher = broker.client()
        with contextlib.closing(watcher):
            events(watcher, "session")
            tokens = len(platform.asked("socialplus", "club", "/authentication/token"))
            with concurrent.futures.ThreadPoolExecutor(50) as pool:
                asking = [pool.submit(broker.get, "club") for _ in range(100)]
                platform.do("socialplus/club/users", userId="user-1", state="banned")
                broker.call("session.report", account="club", code=400312)
                concurrent.futures.wait(asking)
            change = event(watcher, "session.changed")
            equal((change["from"], change["to"]), ("established", "terminated"), "the change")
            refused("terminated", broker.get, "club")
            refused("session_state_invalid", broker.call, "session.login", account="club")
            equal(len(platform.asked("socialplus", "club", "/authentication/token")), tokens, "tokens asked for since")
            broker.call("session.logout", account="club")
            equal(broker.call("session.state", account="club")["state"], "not_logged_in", "after the logout")


@test("a platform that nobody here knows is a page of TOML: the answer corrects the expiry, a 401 fetches another token")
def unknown_platform():
    with Platform() as platform:
        platform.set("backend/source", lifetime_seconds=3600)
        # Another backend plays the platform: what it answers to a bind says until when that holds.
        platform.set("backend/desk", lifetime_seconds=300, expiry="expires_at_text")
        bind = {"url": platform.at("backend/desk/token"), "headers": {"Authorization": "Bearer {bearer}"},
                "body": '{"client":"{account}"}', "expiry_field": "expires_at"}
        account = described(
            "desk", "generic", {"kind": "http", "url": platform.at("backend/source/token"), "fields": {"id_token": "token"}},
            bind)
        with Broker(account) as broker:
            token = eventually(lambda: (now := broker.get("desk"))["expiry_source"] == "backend" and now, "it is bound")
            sent = platform.request("GET", "/_sandbox/journal?backend=desk")["entries"][0]
            check("Bearer " + token["bearer_token"] in json.dumps(sent["headers"]), "what was sent")
            equal(json.loads(sent["body"]), {"client": "desk"}, "the body")
            platform.fault("desk", "status", status=401)
            broker.call("auth.refresh", account="desk")
            eventually(lambda: broker.get("desk")["generation"] >= 3, "the refused one is replaced")
