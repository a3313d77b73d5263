"""Grants and secrets for the chaos programs: a server whose refresh tokens can be used once, what is done with them, what must be left.

The n-th refresh token of a desk is `rt-DESK-n`, from 0; it brings the n+1st access token and the next refresh token. The
import has generation 1, so `rt-DESK-n` is generation n+1 and credential n. The broker never tells what a grant is; its generation
says how far it came.
"""

import http.server
import json
import re
import threading
import urllib.parse

from private_daemon import RPCError
from promises import read_back

DESKS = ["desk-0", "desk-1", "desk-2"]
# Where the ids of the calls begin, kind by kind.
REFRESH, IMPORT, SET, DELETE = (number * 1_000_000 for number in (2, 3, 4, 5))
REFRESHES_A_LIFE = 2


class Server(http.server.BaseHTTPRequestHandler):
    """RFC 6749 §6 and one-time refresh tokens."""

    protocol_version = "HTTP/1.1"
    lock = threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        token = urllib.parse.parse_qs(body).get("refresh_token", [""])[0]
        desk, _, number = token.removeprefix("rt-").rpartition("-")
        with Server.lock:
            is_valid = self.server.next.setdefault(desk, "0") == number
            if is_valid:
                self.server.next[desk] = str(int(number) + 1)
        if is_valid:
            count = int(number) + 1
            answer = {
                "access_token": f"token-{count}-{desk}", "token_type": "Bearer", "expires_in": 86400,
                "refresh_token": f"rt-{desk}-{count}",
            }
        else:
            answer = {"error": "invalid_grant"}
        data = json.dumps(answer).encode()
        self.send_response(200 if is_valid else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    server.next = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def configuration(port):
    return "".join(
        f'[account.{desk}]\nprovider = "oauth"\n[account.{desk}.source]\nkind = "oauth"\nclient_id = "chaos"\n'
        f'client_authentication = "none"\ntoken_endpoint = "http://127.0.0.1:{port}/token"\n\n' for desk in DESKS)


def work(client, life):
    """Imports, spends and replaces, in one life of two; returns how much of it has to be found acknowledged later."""
    def call(method, params, identifier):
        client.send(method, params, identifier)
        while (message := client.receive()).get("id") != identifier:
            pass
        if "error" in message:
            raise RPCError(message["error"])

    done = 0
    for number in range(life * 10, life * 10 + 4):
        call("secret.set", {"secret": f"secret-{number}", "value": "s" * 300}, SET + number)
        done += 1
        if number % 2 == 0:
            call("secret.delete", {"secret": f"secret-{number}"}, DELETE + number)
            done += 1
    for desk in DESKS[:2] if life == 0 else DESKS[2:]:
        call("grant.import", {"grant": desk, "refresh_token": f"rt-{desk}-0"}, IMPORT + DESKS.index(desk))
        done += 1
    for turn in range(REFRESHES_A_LIFE):
        wanted = {}
        for desk in DESKS[:2] if life == 0 else DESKS:
            identifier = REFRESH + life * 100 + turn * 10 + DESKS.index(desk)
            client.send("auth.refresh", {"account": desk, "wait": 30}, identifier)
            wanted[identifier] = desk
        while wanted:
            message = client.receive()
            if message.get("id") in wanted:
                if "error" in message:
                    raise RPCError(message["error"])
                del wanted[message["id"]]
                done += 1
    return done


def promise_in(message):
    """What an answer promises; None where it is no call of ours."""
    number, result = message.get("id"), message.get("result")
    if not isinstance(number, int) or result is None:
        return None
    kind, number = number // 1_000_000 * 1_000_000, number % 1_000_000
    if kind == REFRESH:
        return ("credential", result["account"], result["generation"])
    if kind == IMPORT:
        return ("grant", result["grant"], result["generation"])
    if kind == SET and number % 2:
        return ("secret", f"secret-{number}", True)
    if kind == SET:
        return ("secret", f"secret-{number}", None)
    return ("secret", f"secret-{number}", False) if kind == DELETE else None


SPENT = re.compile(rb"refresh_token=rt-(desk-\d)-(\d+)(?!\d)")


def spent_in(data):
    """The refresh tokens that leave for their server in these bytes."""
    return [("spent", desk.decode(), int(number)) for desk, number in SPENT.findall(data)]


def broken(client, promises):
    """What is missing, in words: of what was acknowledged, and of the successors of what was sent."""
    grants = {entry["grant"]: entry for entry in client.call("grant.list")["grants"]}
    secrets = {entry["secret"] for entry in client.call("secret.list")["secrets"]}
    faults = []
    for kind, name, value in sorted(set(promises), key=str):
        if kind == "secret" and value is not None and (name in secrets) != value:
            faults.append(f"{name}: {'missing' if value else 'there, but it was deleted'}")
        if kind not in ("credential", "grant", "spent"):
            continue
        grant = grants.get(name) or {"generation": 0, "uncertain": False, "state": "none"}
        least = value if kind == "grant" else value + 1
        if grant["generation"] < least:
            faults.append(f"grant {name}: generation {grant['generation']} instead of {least}")
        elif kind == "spent" and grant["generation"] == least:
            # Its successor may have been lost, with the answer; then the broker has to know.
            if not grant["uncertain"] and grant["state"] != "possibly_spent":
                faults.append(f"grant {name}: spent with generation {least}, and that was forgotten")
        if kind == "credential":
            held = read_back(client, name)
            if not isinstance(held, int) or held < value:
                faults.append(f"{name}: {held} instead of {value}")
    return "; ".join(faults)
