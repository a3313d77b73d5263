"""A fetch worker that lies: answers requests on descriptor 3 in the way that its argument names."""
import json, os, socket, sys, time

way = sys.argv[1]
stream = socket.socket(fileno=3)


def result(number, **members):
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"status": 200, "body": "", **members}})


def say(text):
    stream.sendall(text.encode() + b"\n")


lines = stream.makefile()
for line in lines:
    message = json.loads(line)
    number = message.get("id")
    if message.get("method") == "ping":
        if way == "pings":
            say(json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}))
        continue
    if message.get("method") == "cancel":
        if way == "cancelled":
            say(result(message["params"]["id"], status="nonsense"))
        continue
    if way == "honest":
        say(result(number, body="truth"))
    elif way == "garbage":
        stream.sendall(b"\x00\xff{]\n")
    elif way == "unknown":
        say(result(number + 1000))
    elif way == "twice":
        say(result(number) + "\n" + result(number))
    elif way == "endless":
        while True:
            stream.sendall(b"[" * 65536)
    elif way == "deep":
        say("[" * 100 + "]" * 100)
    elif way == "status":
        say(result(number, status=99999))
    elif way == "fraction":
        say(result(number, status=1e300))
    elif way == "retry":
        say(result(number, retry_after_ms=-1))
    elif way == "date":
        say(result(number, date=9223372036854775807))
    elif way == "body":
        say(result(number, body="a" * (message["params"]["body_limit"] + 1)))
    elif way == "type":
        say(result(number, body=["a"]))
    elif way == "media":
        say(result(number, content_type="text/plain\r\nSet-Cookie: a"))
    elif way == "base64":
        say(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"status": 200, "body_base64url": "====="}}))
    elif way == "lost":
        say(json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": 1, "message": "", "data": {"kind": "worker_lost"}}}))
    elif way == "call":
        say(json.dumps({"jsonrpc": "2.0", "id": number, "method": "fetch", "params": {}}))
    elif way == "exit":
        sys.exit(0)
