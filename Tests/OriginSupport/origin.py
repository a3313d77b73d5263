"""An HTTP origin that misbehaves on request, over TLS and in the clear, on loopback.

usage: origin.py DIRECTORY     with a connected socket as descriptor 3; ends when that ends

Makes a CA and certificates in DIRECTORY, then says in one line of JSON on descriptor 3 where it listens. A line "connections"
is answered with the number of TLS and plain connections that reached HTTP so far; "requests" with the request targets seen.
"""
import json, os, socket, ssl, struct, subprocess, sys, threading, time, warnings

warnings.simplefilter("ignore")  # TLS 1.1 is there to be refused

os.chdir(sys.argv[1])
control = socket.socket(fileno=3)
lock = threading.Lock()
connections = 0
requests = []


def openssl(*arguments):
    subprocess.run(["/usr/bin/openssl", *arguments], check=True, capture_output=True)


def authority(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            name + ".key", "-out", name + ".pem", "-subj", "/CN=" + name, "-days", "2")


def certificate(name, alternatives, days="2"):
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
    with open(name + ".ext", "w") as file:
        file.write("subjectAltName=" + alternatives + "\n")
    openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", days,
            "-extfile", name + ".ext", "-out", name + ".pem")


def respond(stream, body, status="200 OK", headers=""):
    if isinstance(body, str):
        body = body.encode()
    stream.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body)


def reset(stream):
    raw = socket.socket(fileno=os.dup(stream.fileno()))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(stream.detach())
    raw.close()


def answer(stream, number, target, head, body):
    """False when the connection is over."""
    if target == "/ok":
        respond(stream, '{"token":"t"}', headers="Content-Type: application/json\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n")
    elif target == "/echo":
        respond(stream, head + b"\r\n\r\n" + body)
    elif target == "/connection":
        respond(stream, str(number))
    elif target == "/redirect":
        respond(stream, "moved", "302 Found", f"Location: https://127.0.0.1:{ports['good']}/leak\r\n")
    elif target == "/later":
        respond(stream, "", "503 Busy", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:51:37 GMT\r\n")
    elif target == "/seconds":
        respond(stream, "", "429 Slow", "Retry-After: 7\r\n")
    elif target == "/early":
        stream.sendall(b"HTTP/1.1 103 Early Hints\r\nRetry-After: 99\r\nLink: </x>\r\n\r\n")
        respond(stream, "late")
    elif target == "/trailer":
        stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nRetry-After: 99\r\n\r\n")
    elif target == "/gzip":
        respond(stream, b"\x1f\x8b\x08\x00", headers="Content-Encoding: gzip\r\n")
    elif target == "/binary":
        respond(stream, bytes(range(256)))
    elif target.startswith("/size/"):
        respond(stream, b"a" * int(target[6:]))
    elif target == "/huge":
        stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            stream.sendall(b"10000\r\n" + b"a" * 0x10000 + b"\r\n")
    elif target == "/drip":
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            stream.sendall(b"a")
            time.sleep(0.05)
    elif target == "/silent":
        stream.recv(1)
        return False
    elif target == "/reset":
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
        time.sleep(0.05)
        reset(stream)
        return False
    elif target == "/short":
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
        return False
    elif target == "/nothing":
        return False
    elif target == "/headers":
        stream.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            stream.sendall(b"X-Filler: " + b"a" * 1000 + b"\r\n")
    elif target == "/line":
        stream.sendall(b"HTTP/1.1 200 OK\r\nX-Filler: ")
        while True:
            stream.sendall(b"a" * 10000)
    elif target == "/garbage":
        stream.sendall(b"hello there\r\n\r\n")
        return False
    elif target == "/status":
        respond(stream, "", "999 Denied")
    else:
        respond(stream, "", "404 Not Found")
    return True


def serve(stream):
    global connections
    with lock:
        connections += 1
        number = connections
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = stream.recv(65536)
            if not more:
                return
            data += more
            if data[0] == 0x16:  # a TLS handshake, in the clear
                return respond(stream, "", "400 Bad Request")
        head, _, data = data.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(data) < length:
            more = stream.recv(65536)
            if not more:
                return
            data += more
        body, data = data[:length], data[length:]
        target = head.split(b" ")[1].decode()
        with lock:
            requests.append(target)
        if not answer(stream, number, target, head, body):
            return


def connection(stream, context):
    try:
        if context:
            stream = context.wrap_socket(stream, server_side=True)
        try:
            serve(stream)
        finally:
            stream.close()
    except OSError:
        pass


def listen(name, context):
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    ports[name] = listener.getsockname()[1]

    def accept():
        while True:
            stream, _ = listener.accept()
            threading.Thread(target=connection, args=(stream, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


ports = {}
authority("ca")
authority("other")
certificate("good", "IP:127.0.0.1,DNS:localhost")
certificate("host", "DNS:elsewhere.example")
certificate("expired", "IP:127.0.0.1", days="-1")
for name in ["good", "host", "expired", "old"]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certified = "good" if name == "old" else name
    if name == "old":
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.load_cert_chain(certified + ".pem", certified + ".key")
    listen(name, context)
listen("plain", None)
refused = socket.socket()
refused.bind(("127.0.0.1", 0))
ports["refused"] = refused.getsockname()[1]
control.sendall(json.dumps(ports).encode() + b"\n")
for line in control.makefile():
    with lock:
        value = connections if line == "connections\n" else requests
    control.sendall(json.dumps(value).encode() + b"\n")
