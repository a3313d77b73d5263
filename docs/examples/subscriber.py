#!/usr/bin/env python3
"""A subscriber: prints what an account is, and then each change. usage: subscriber.py SOCKET ACCOUNT"""
import json
import socket
import sys


def subscribe():
    params = {"topics": ["account", "auth", "token", "handler"], "accounts": [sys.argv[2]]}
    request = {"jsonrpc": "2.0", "id": 1, "method": "events.subscribe", "params": params}
    connection.sendall(json.dumps(request).encode() + b"\n")


connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
subscribe()
for message in map(json.loads, connection.makefile()):
    if "error" in message:
        sys.exit(message["error"]["message"])
    if "result" in message:
        print("state", message["result"]["accounts"], flush=True)
    elif message["method"] == "events.overflow":
        subscribe()  # this program was too slow: it asks for the state again
    else:
        params = message["params"]
        print(message["method"], params.get("from"), "->", params.get("to"), params.get("cause"), flush=True)
