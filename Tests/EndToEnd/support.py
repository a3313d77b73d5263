"""What the end-to-end tests stand on: the registry of tests, brokers and sandboxes, and waiting on conditions.

Nothing here sleeps for a fixed time: a test waits until something is so, and fails when it is not so in time. Every
broker and sandbox is ended by its process id when its `with` block ends, however it ends.
"""

import atexit
import contextlib
import http.client
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import private_daemon  # noqa: E402
from private_daemon import Client, DaemonFailed, RPCError  # noqa: E402,F401

BIN = os.environ.get("CHATAUTH_BIN", os.path.join(ROOT, ".build/release"))
SCRATCH = os.environ.get("CHATAUTH_SCRATCH", "")
if not SCRATCH:
    SCRATCH = tempfile.mkdtemp(prefix="chatauth-e2e.")
    atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
# A machine that is busy with other things is slow, and that is no fault of what is tested.
PATIENCE = 30

TESTS = []


class Skipped(Exception):
    """The test cannot run here; the text says why."""


class Test:
    def __init__(self, name, function, alone, root, slow):
        self.name, self.function, self.alone, self.root, self.slow = name, function, alone, root, slow


def test(name, alone=False, root=False, slow=False):
    """Registers a test.

    `alone`: it measures or loads the machine. `root`: it needs root, and is skipped without. `slow`: it waits for 10 s or
    more, so that it begins early.
    """

    def register(function):
        TESTS.append(Test(name, function, alone, root, slow))
        return function

    return register


def vectors(name):
    """A folder of the public test data beside the project; skips the test where it is not there."""
    root = os.environ.get("CHATAUTH_VECTORS", os.path.join(os.path.dirname(ROOT), "shared/vectors"))
    if not os.path.exists(os.path.join(root, name)):
        raise Skipped(f"the test data {name} is not at {root}")
    return os.path.join(root, name)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, not {wanted!r}")


def eventually(condition, what, seconds=PATIENCE):
    """Waits until `condition()` is true, and returns what it gave."""
    deadline = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        if time.monotonic() >= deadline:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.02)


def refused(kind, call, *arguments, **named):
    """The error object of a call that must fail with that kind."""
    try:
        result = call(*arguments, **named)
    except RPCError as error:
        equal(error.kind, kind, f"kind of {error}")
        return error.error
    raise AssertionError(f"{kind} expected, but there was an answer with {sorted(result)}")


def toml(value):
    """A value as TOML; texts are basic strings, which JSON's are too."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def account(name, source=None, **members):
    """The text of one account."""
    lines = [f"[account.{json.dumps(name)}]", 'provider = "generic"']
    lines += [f"{key} = {toml(value)}" for key, value in members.items()]
    if source:
        lines += [f"[account.{json.dumps(name)}.source]"]
        lines += [f"{key} = {toml(value)}" for key, value in source.items()]
    return "\n".join(lines) + "\n"


def scratch(name):
    """A new directory, 0700."""
    return tempfile.mkdtemp(prefix=name + ".", dir=SCRATCH)


class Certificates:
    """The CA of this run, made once."""

    directory = None

    @classmethod
    def path(cls, name):
        if cls.directory is None:
            directory = os.path.join(SCRATCH, "ca")
            subprocess.run([os.path.join(ROOT, "scripts/make-test-ca"), directory], check=True, capture_output=True)
            cls.directory = directory
        return os.path.join(cls.directory, name)


class Sandbox:
    """The stand-in backends; one process, with as many backends as there are names."""

    def __init__(self, certificate="server"):
        self.process = subprocess.Popen(
            [os.path.join(BIN, "chatauth-sandbox"), "--print-ports", "--port", "0", "--tls-port", "0",
             "--certificate", Certificates.path(certificate + ".pem"), "--key", Certificates.path(certificate + ".key")],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        words = self.process.stdout.readline().split()
        if len(words) != 3 or words[0] != "listening":
            raise AssertionError(f"the sandbox did not start: {words}")
        self.port, self.tls_port = (int(word.partition("=")[2]) for word in words[1:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()

    def request(self, method, path, body=None, timeout=PATIENCE):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status >= 400:
                raise AssertionError(f"sandbox: {method} {path}: {answer.status} {text[:200]!r}")
            return json.loads(text or "{}")

    def settings(self, backend, **settings):
        return self.request("PUT", f"/_sandbox/backend/{backend}", settings)

    def fault(self, backend, fault, **settings):
        return self.request("POST", f"/_sandbox/backend/{backend}/faults", {"fault": fault, **settings})

    def mend(self, backend):
        """Forgets the faults that are left."""
        return self.request("DELETE", f"/_sandbox/backend/{backend}/faults")

    def wait(self, backend, count, seconds=PATIENCE):
        """Waits until so many requests have arrived."""
        return self.request(
            "GET", f"/_sandbox/wait?backend={backend}&count={count}&timeout={seconds}", timeout=seconds + 5)

    def journal(self, backend):
        return self.request("GET", f"/_sandbox/journal?backend={backend}")["entries"]

    def url(self, backend, scheme="https", query=""):
        port = self.tls_port if scheme == "https" else self.port
        host = "localhost" if scheme == "https" else "127.0.0.1"
        return f"{scheme}://{host}:{port}/backend/{backend}/token{query}"

    def source(self, backend, scheme="https", query="", **members):
        """An http source that asks this backend."""
        source = {"kind": "http", "url": self.url(backend, scheme, query), "fields": {"id_token": "token"}}
        if scheme == "https":
            source["ca_file"] = Certificates.path("ca.pem")
        return source | members


class Broker(private_daemon.PrivateDaemon):
    """A broker of one's own, with its command line."""

    def __init__(self, *accounts, settings="", directory=None, prefix=(), arguments=(), start=True, runtime=None):
        super().__init__(
            directory or scratch("broker"), program=os.path.join(BIN, "chatauthd"), prefix=prefix, arguments=arguments,
            runtime=runtime or scratch("run"))
        self.starts = start
        self.write(*accounts, settings=settings)

    def write(self, *accounts, settings=""):
        self.configure(settings + "\n" + "\n".join(accounts))

    def __enter__(self):
        if self.starts:
            self.start(timeout=PATIENCE)
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def state(self):
        return os.path.join(self.directory, "state")

    @property
    def audit_directory(self):
        return os.path.join(self.directory, "home/state/chatauth/audit")

    def restart(self):
        self.stop()
        self.start(timeout=PATIENCE)

    def client(self, timeout=PATIENCE):
        return Client(self.socket_path, timeout)

    def call(self, method, **params):
        client = self.client()
        with contextlib.closing(client):
            return client.call(method, params)

    def get(self, name, **params):
        return self.call("token.get", account=name, **params)

    def save(self, name, token, **params):
        return self.call("credentials.save_token", account=name, token=token, **params)

    def cli(self, *arguments, given=None, prefix=(), timeout=PATIENCE):
        """Runs `chatauth`; the result has its exit status and what it wrote, as bytes."""
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "CHATAUTH_SOCKET": self.socket_path}
        return subprocess.run(
            [*prefix, os.path.join(BIN, "chatauth"), *arguments], input=given or b"", capture_output=True,
            env=environment, timeout=timeout)

    def status(self):
        return self.call("daemon.status")

    def logged(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def audit_lines(self):
        """Every line of the audit log so far, as bytes."""
        lines = []
        for name in sorted(name for name in os.listdir(self.audit_directory) if name.startswith("audit-")):
            path = os.path.join(self.audit_directory, name)
            with open(path, "rb") as file:
                lines += [line for line in file.read().rstrip(b"\0").split(b"\n") if line.startswith(b"{")]
        return lines

    def children(self):
        """Process ids of the broker's children, the fetch worker among them."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
            return [int(word) for word in file.read().split()]


class Following:
    """A program whose lines are read while it runs; it is ended when the `with` block ends."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def line(self, *words, seconds=PATIENCE):
        """The next line that has these words; those before it are dropped."""
        deadline = time.monotonic() + seconds
        while True:
            while b"\n" not in self.text:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                    raise AssertionError(f"no line with {words} in {seconds} s")
                more = os.read(self.process.stdout.fileno(), 65536)
                if not more:
                    raise AssertionError(f"no line with {words}, then the end")
                self.text += more
            line, _, self.text = self.text.partition(b"\n")
            if all(word.encode() in line for word in words):
                return line.decode()


def status_number(pid, name):
    """A number of /proc/PID/status."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))


def resident(pid):
    """Kilobytes."""
    return status_number(pid, "VmRSS")


def descriptors(pid):
    """How many it has open. Only root may look into a broker; others see the size of its table, which only grows."""
    return len(os.listdir(f"/proc/{pid}/fd")) if IS_ROOT else status_number(pid, "FDSize")


def events(client, *topics, **params):
    """Subscribes this connection; the state that comes first."""
    return client.call("events.subscribe", {"topics": list(topics), **params})


def event(client, method=None, seconds=PATIENCE, **members):
    """The next notification that has these members; others before it are dropped."""
    deadline = time.monotonic() + seconds
    while True:
        client.socket.settimeout(max(0.1, deadline - time.monotonic()))
        message = json.loads(client.read_line())
        params = message.get("params", {})
        if "method" in message and method in (None, message["method"]) and all(
                params.get(key) == value for key, value in members.items()):
            return params


def served(broker):
    """What the broker says to a greeting; None while it does not take connections."""
    try:
        return broker.call("rpc.hello")
    except OSError:
        return None


def raw(broker, timeout=PATIENCE):
    """A bare connection."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    connection.connect(broker.socket_path)
    return connection


def is_closed(connection, seconds=PATIENCE):
    """Whether the other end closes within that time."""
    connection.settimeout(seconds)
    try:
        while connection.recv(1 << 16):
            pass
        return True
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@contextlib.contextmanager
def tmpfs(path, size):
    """A file system of that size; root only."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", path], capture_output=True, text=True)
    if mounted.returncode:
        raise Skipped("no file system can be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(directory):
    """Takes all the space that is left there; returns the file that holds it."""
    path = os.path.join(directory, "filler")
    with open(path, "wb", buffering=0) as file:
        for piece in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * piece)
            except OSError:
                pass
    return path


def private(path, content, mode=0o600):
    """Writes a file that only its owner may read."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def mark(name):
    """A token that occurs nowhere else."""
    return f"canary-{name}-{os.urandom(12).hex()}"


def needs(program):
    if shutil.which(program) is None:
        raise Skipped(f"{program} is not installed")


