"""A broker of one's own in a scratch directory, and a client for it: for benchmarks, kill loops and replays.

The directory holds everything the broker keeps (`configuration`, `state`, `home`); sockets go into a runtime directory
beside it, so that an image of the directory is an image of what was on the disk.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RELEASE = os.path.join(ROOT, ".build/release/chatauthd")


def build_variant(flag):
    """Builds the broker with a test flag that breaks a promise, in a folder of its own, and returns its path."""
    folder = ".build-" + flag.lower().removeprefix("chatauth_test_").replace("_", "-")
    command = ["swift", "build", "--product", "chatauthd", "--scratch-path", folder, "-Xswiftc", "-D" + flag]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise DaemonFailed(f"the build with {flag} failed:\n" + "\n".join(result.stdout.splitlines()[-20:]))
    return os.path.join(ROOT, folder, "debug/chatauthd")


class DaemonFailed(Exception):
    """The broker ended, or did not become ready in time."""


class RPCError(Exception):
    """An error answer; `error` is its object."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.error = error

    @property
    def kind(self):
        return (self.error.get("data") or {}).get("kind", "")


class Client:
    """One connection. Notifications and requests of the daemon are dropped."""

    def __init__(self, path, timeout=10):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.buffer = b""
        self.next = 1

    def send(self, method, params, identifier=None):
        """Sends a request without waiting; the answer carries the id that is returned."""
        if identifier is None:
            identifier, self.next = self.next, self.next + 1
        message = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
        self.socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        return identifier

    def read_line(self):
        """The next line as it came, without its newline."""
        while b"\n" not in self.buffer:
            more = self.socket.recv(1 << 18)
            if not more:
                raise ConnectionError("the daemon closed the connection")
            self.buffer += more
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def receive(self):
        """The next answer."""
        while True:
            message = json.loads(self.read_line())
            if "method" not in message:
                return message

    def call(self, method, params=None):
        identifier = self.send(method, params or {})
        while (message := self.receive()).get("id") != identifier:
            pass
        if "error" in message:
            raise RPCError(message["error"])
        return message["result"]

    def close(self):
        self.socket.close()


class PrivateDaemon:
    def __init__(self, directory, program=RELEASE, prefix=(), runtime=None, arguments=()):
        self.directory, self.program, self.prefix = os.path.abspath(directory), program, list(prefix)
        self.arguments = list(arguments)
        self.own_runtime = runtime is None
        self.runtime = runtime or tempfile.mkdtemp(prefix="chatauth-run.")
        self.socket_path = os.path.join(self.runtime, "chatauth.sock")
        self.process = None
        self.log = os.path.join(self.runtime, "daemon.log")

    @property
    def configuration(self):
        return os.path.join(self.directory, "configuration/chatauthd.toml")

    def configure(self, text):
        """Writes the configuration file and the directories that an operator has before the first start."""
        for name in ("configuration", "state", "home"):
            os.makedirs(os.path.join(self.directory, name), mode=0o700, exist_ok=True)
        with open(self.configuration, "w") as file:
            file.write(text)

    def start(self, timeout=30, wait=True):
        """Starts the broker and returns the seconds until it said READY=1; without `wait` it returns at once."""
        home = os.path.join(self.directory, "home")
        notify_path = os.path.join(self.runtime, "notify")
        if os.path.exists(notify_path):
            os.unlink(notify_path)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        notify.bind(notify_path)
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": home, "NOTIFY_SOCKET": notify_path,
            "XDG_STATE_HOME": f"{home}/state", "XDG_DATA_HOME": f"{home}/data", "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_RUNTIME_DIR": self.runtime, "SWIFT_BACKTRACE": "enable=no",
        }
        command = [
            *self.prefix, self.program, "--config", self.configuration,
            "--state-directory", os.path.join(self.directory, "state"), "--runtime-directory", self.runtime,
            "--key-file", os.path.join(self.directory, "state/master.key"), *self.arguments,
        ]
        begun = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            if wait:
                self.wait_until_ready(notify, begun + timeout)
        finally:
            notify.close()
        return time.monotonic() - begun

    def wait_until_ready(self, notify, deadline):
        notify.settimeout(0.05)
        while time.monotonic() < deadline:
            try:
                if b"READY=1" in notify.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                if self.process.poll() is not None:
                    raise DaemonFailed(f"ended with {self.process.returncode}: {self.log_tail()}") from None
        self.kill()
        raise DaemonFailed(f"not ready in time: {self.log_tail()}")

    def log_tail(self):
        lines = open(self.log, errors="replace").read().splitlines()
        return " | ".join(lines[-5:])

    @property
    def pid(self):
        """The broker itself, whatever it was started with."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with connection:
            connection.connect(self.socket_path)
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return struct.unpack("3i", credentials)[0]

    def client(self, timeout=10):
        return Client(self.socket_path, timeout)

    def kill(self):
        """SIGKILL to the broker, its worker, and what it was started with."""
        self.end(signal.SIGKILL)

    def stop(self, timeout=25):
        self.end(signal.SIGTERM, timeout)

    def end(self, how, timeout=25):
        if self.process is None:
            return
        try:
            if how == signal.SIGKILL:
                os.killpg(self.process.pid, how)
            else:
                # A tracer that gets the signal would leave; the broker must, and its tracer follows.
                os.kill(self.pid, how)
            self.process.wait(timeout)
        except (ProcessLookupError, ConnectionError, FileNotFoundError):
            pass
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def remove_runtime(self):
        if self.own_runtime:
            for name in os.listdir(self.runtime):
                os.unlink(os.path.join(self.runtime, name))
            os.rmdir(self.runtime)
