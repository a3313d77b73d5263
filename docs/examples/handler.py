#!/usr/bin/env python3
"""A handler: chatauthd asks this program for fresh credentials of one account. usage: handler.py SOCKET ACCOUNT"""
import json
import socket
import sys
import time


def sign_in(account):
    """Whatever signs your user in; what it raises is a refusal."""
    return {"id_token": f"token-of-{account}-{time.time_ns()}", "expires_at": int(time.time()) + 3600}


def send(**message):
    connection.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
send(id=1, method="handler.register", params={"account": sys.argv[2]})
for message in map(json.loads, connection.makefile()):
    if message.get("method") == "credential.fetch":
        try:
            send(id=message["id"], result=sign_in(message["params"]["account"]))
        except Exception:
            send(id=message["id"], error={"code": 1, "message": "not signed in"})
    elif message.get("method") == "handler.replaced":
        sys.exit("another program is the handler now")
    elif "error" in message:
        sys.exit(message["error"]["message"])
