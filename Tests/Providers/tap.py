"""A TLS proxy before a provider: it passes everything on, writes down what was asked of the token endpoint, and does to answers
what a test tells it.

Faults, each for the next requests to the token endpoint:
    lose       the provider answers, and the connection ends without a byte of it
    truncate   half of the answer
    hang       the provider answers, and nobody hears of it until the test lets go
    delay      the answer comes `seconds` later
    refuse     the connection ends before the provider hears of anything
    html       a page, with status 200; the provider hears of nothing
    status     `status` and an empty body; the provider hears of nothing
"""

import collections
import hashlib
import http.client
import http.server
import socket
import socketserver
import ssl
import struct
import threading
import time
import urllib.parse


class Entry:
    """One request to the token endpoint."""

    def __init__(self, form):
        self.grant_type = form.get("grant_type", [""])[0]
        token = form.get("refresh_token", [""])[0]
        self.refresh_token = hashlib.sha256(token.encode()).hexdigest()[:16] if token else ""
        self.form = {key: value[0] for key, value in form.items() if "token" not in key and "secret" not in key}
        # What the provider answered; nothing where it was not asked. Whether the answer went out whole.
        self.status, self.answered, self.body = None, False, b""
        self.at = time.monotonic()


class Tap:
    def __init__(self, upstream_port, certificate, key, ca, token_path):
        self.upstream_port, self.token_path = upstream_port, token_path
        self.upstream = ssl.create_default_context(cafile=ca) if ca else None
        self.lock = threading.Lock()
        self.faults = collections.deque()
        self.journal = []
        self.released = threading.Event()
        tap = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                tap.serve(self)

            do_POST = do_GET

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_):
                pass

            # The handshake belongs to the connection's own thread: a client that stalls in it holds up nobody.
            def get_request(self):
                connection, address = self.socket.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return tap.context.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False), address

        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"https://localhost:{self.port}"

    def fault(self, kind, count=1, **settings):
        with self.lock:
            self.faults.extend([(kind, settings)] * count)

    def mend(self):
        with self.lock:
            self.faults.clear()
        self.released.set()
        self.released = threading.Event()

    def posts(self, grant_type="refresh_token"):
        with self.lock:
            return [entry for entry in self.journal if entry.grant_type == grant_type]

    # Serving

    def serve(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        entry, fault, settings = None, None, {}
        if handler.command == "POST" and handler.path == self.token_path:
            entry = Entry(urllib.parse.parse_qs(body.decode("latin-1")))
            with self.lock:
                self.journal.append(entry)
                if self.faults:
                    fault, settings = self.faults.popleft()
        if fault == "refuse":
            return self.cut(handler)
        if fault == "html":
            return self.answer(handler, 200, [("Content-Type", "text/html")], b"<html>sign in to the network</html>")
        if fault == "status":
            return self.answer(handler, settings["status"], [], settings.get("body", b""))
        status, headers, text = self.forward(handler, body)
        if entry:
            entry.status, entry.body = status, text
        if fault == "lose":
            return self.cut(handler)
        if fault == "hang":
            self.released.wait(60)
            return self.cut(handler)
        if fault == "delay":
            time.sleep(settings["seconds"])
        if fault == "truncate":
            handler.wfile.write(
                f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode()
                + text[: len(text) // 2])
            return self.cut(handler)
        try:
            self.answer(handler, status, headers, text)
            if entry:
                entry.answered = True
        except OSError:
            pass

    def forward(self, handler, body):
        if self.upstream:
            connection = http.client.HTTPSConnection(
                "localhost", self.upstream_port, timeout=30, context=self.upstream)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.upstream_port, timeout=30)
        try:
            headers = {
                name: value for name, value in handler.headers.items()
                if name.lower() not in ("connection", "content-length")}
            connection.request(handler.command, handler.path, body or None, headers)
            answer = connection.getresponse()
            text = answer.read()
            kept = [
                (name, value) for name, value in answer.getheaders()
                if name.lower() not in ("connection", "content-length", "transfer-encoding")]
            return answer.status, kept, text
        except OSError:
            return 502, [("Content-Type", "text/plain")], b"the provider is not there"
        finally:
            connection.close()

    @staticmethod
    def answer(handler, status, headers, text):
        handler.send_response_only(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    @staticmethod
    def cut(handler):
        handler.close_connection = True
        raw = handler.connection
        try:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raw.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        raw.close()
