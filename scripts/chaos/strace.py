"""The log that strace writes of a run, read back as calls."""

import re
import shutil
import subprocess

CALLS = (
    "open openat creat close dup dup2 dup3 fcntl read write pwrite64 writev pwritev sendto sendmsg lseek truncate "
    "ftruncate fallocate fsync fdatasync sync syncfs rename renameat renameat2 link linkat unlink unlinkat mkdir "
    "mkdirat rmdir mmap clone clone3 fork vfork execve chdir fchdir symlink symlinkat copy_file_range sendfile splice "
    "pwritev2 openat2 io_uring_setup sync_file_range"
).split()
TRACE = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-e", "trace=" + ",".join("?" + call for call in CALLS)]

HEX = r"((?:\\x[0-9a-f]{2})*)"
LINE = re.compile(r"^(\d+) +(.*)$")
CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+|\?|0x[0-9a-f]+)(.*)$")
DESCRIPTOR = re.compile(r"^(-?\d+|AT_FDCWD)(?:<" + HEX + r">(\(deleted\))?)?")
STRING = re.compile('"' + HEX + '"')
PATH_ARGUMENT = re.compile(r"(?:(AT_FDCWD|\d+)(?:<" + HEX + r">)?(?:\(deleted\))?, )?" + '"' + HEX + '"')


def can_trace():
    """Whether strace works here."""
    return bool(shutil.which("strace")) and subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


def plain(text):
    return bytes.fromhex(text.replace("\\x", ""))


def read_log(path):
    """Yields (process, call, arguments, result, rest) for each call that succeeded, when it was done."""
    unfinished = {}
    for line in open(path, errors="replace"):
        match = LINE.match(line.rstrip("\n"))
        if not match:
            continue
        process, text = int(match.group(1)), match.group(2)
        if text.endswith("<unfinished ...>"):
            unfinished[process] = text[: -len("<unfinished ...>")].rstrip()
            continue
        if text.startswith("<... "):
            text = unfinished.pop(process, "") + text.partition(" resumed>")[2]
        match = CALL.match(text)
        if match and match.group(3) != "?" and not match.group(3).startswith("-"):
            yield process, match.group(1), match.group(2), int(match.group(3), 0), match.group(4)


def payload(arguments, length):
    """The bytes that a write carried, as far as they were taken."""
    return b"".join(plain(text) for text in STRING.findall(arguments))[:length]


def socket_payload(call, arguments, result):
    """(socket, bytes) of a call that may have sent something over a socket, else None."""
    if call not in ("write", "writev", "sendto", "sendmsg"):
        return None
    match = DESCRIPTOR.match(arguments)
    name = plain(match.group(2) or "").decode(errors="replace") or match.group(1)
    return (name, payload(arguments, result)) if name.isdigit() or name.startswith("socket:") else None
