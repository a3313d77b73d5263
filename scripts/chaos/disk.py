"""What a disk may hold after a power cut, worked out from the system calls of a run.

strace.py reads the calls from a log; `Disk.apply` follows them one by one, and `Disk.image` writes what could be left if the
power went now:

    lost    nothing that was not synced
    torn    of unsynced writes each 512-byte sector or not, of unsynced changes of names a prefix
    kept    everything

fsync and fdatasync make a file's content safe, fsync of a directory the names in it; a file in a directory that was
never synced is lost, as POSIX allows. A call that touches the directory and is not modelled here stops the replay:
better no verdict than a wrong one.
"""

import os
import re

from strace import DESCRIPTOR, HEX, PATH_ARGUMENT, payload, plain

SECTOR = 512


class NotModelled(Exception):
    """The run did something to the directory whose effect on a disk is not known here."""


class Node:
    """A file or directory: what is safe of it, and what is not yet."""

    def __init__(self, content=b"", directory=False):
        self.safe = bytearray(content)
        self.size = len(content)
        self.pending = []  # ("write", offset, bytes) or ("resize", length)
        self.directory = directory

    def sync(self):
        for change in self.pending:
            alter(self.safe, change)
        self.pending.clear()


class Description:
    """An open file, shared by the descriptors that were duplicated from it."""

    def __init__(self, node, path, flags):
        self.node, self.path, self.flags, self.offset = node, path, flags, 0


def alter(content, change):
    if change[0] == "write":
        offset, data = change[1], change[2]
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        content[offset:offset + len(data)] = data
    elif len(content) > change[1]:
        del content[change[1]:]
    else:
        content.extend(bytes(change[1] - len(content)))


def rename(tree, source, target):
    for path in [path for path in tree if path == source or path.startswith(source + "/")]:
        tree[target + path[len(source):]] = tree.pop(path)


class Disk:
    """The files below `base` as programs see them, and as a disk would."""

    def __init__(self, base):
        self.base = os.path.realpath(base)
        self.names = {}
        for folder, directories, files in os.walk(self.base):
            for name in directories:
                self.names[os.path.join(folder, name)] = Node(directory=True)
            for name in files:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    self.names[path] = Node(open(path, "rb").read())
        self.safe_names = dict(self.names)
        self.pending_names = []  # ("add", path, node) | ("remove", path, node) | ("rename", target, node, source)
        self.tables = {}  # process -> descriptor -> Description
        self.parents = {}  # process -> (who started it, whether they share descriptors)

    def learn_processes(self, calls):
        """Reads beforehand who started whom: a thread's first calls may be logged before the clone that made it."""
        for process, call, arguments, result, _ in calls:
            if call in ("clone", "clone3", "fork", "vfork"):
                self.parents[result] = (process, "CLONE_FILES" in arguments)

    # Names

    def inside(self, path):
        return path == self.base or path.startswith(self.base + "/")

    @staticmethod
    def settle(tree, change):
        kind, path, node = change[:3]
        if kind == "rename":
            rename(tree, change[3], path)
            tree[path] = node
        elif kind == "add":
            tree[path] = node
        elif tree.get(path) is node:
            del tree[path]

    def change_name(self, *change):
        self.settle(self.names, change)
        self.pending_names.append(change)

    def sync_directory(self, path):
        rest = []
        for change in self.pending_names:
            touched = {os.path.dirname(name) for name in (change[1], *change[3:])}
            if path in touched:
                self.settle(self.safe_names, change)
            else:
                rest.append(change)
        self.pending_names = rest

    def sync_everything(self):
        for node in self.names.values():
            node.sync()
        for change in self.pending_names:
            self.settle(self.safe_names, change)
        self.pending_names.clear()

    def paths(self, process, arguments):
        """The path arguments of a call, made absolute.

        Where strace may not read the name of a descriptor, it is known from where it was opened.
        """
        found = []
        for descriptor, directory, name in PATH_ARGUMENT.findall(arguments):
            directory = plain(directory).decode(errors="surrogateescape")
            if not directory and descriptor.isdigit() and int(descriptor) in self.table(process):
                directory = self.table(process)[int(descriptor)].path
            directory = directory or os.getcwd()
            path = os.path.normpath(os.path.join(directory, plain(name).decode(errors="surrogateescape")))
            found.append(os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)))
        return found

    # Calls

    def table(self, process):
        if process not in self.tables:
            parent, shared = self.parents.get(process, (None, False))
            inherited = self.table(parent) if parent is not None else {}
            self.tables[process] = inherited if shared else dict(inherited)
        return self.tables[process]

    def description(self, process, arguments):
        return self.table(process).get(int(DESCRIPTOR.match(arguments).group(1)))

    def apply(self, process, call, arguments, result, rest):
        """Follows one call. True where the disk may look different from before."""
        method = getattr(self, "on_" + call, None)
        if method:
            return bool(method(process, arguments, result, rest))
        if call in ("dup", "dup2", "dup3"):
            return self.duplicate(process, arguments, result)
        if call in ("clone", "clone3", "fork", "vfork"):
            self.table(result)
            return False
        if call in ("sync", "syncfs"):
            self.sync_everything()
            return True
        if call in ("chdir", "fchdir", "sendto", "sendmsg"):
            return False
        if any(self.inside(path) for path in self.touched(process, arguments)):
            raise NotModelled(f"{call}({arguments[:200]})")
        return False

    def touched(self, process, arguments):
        yield from self.paths(process, arguments)
        for path in re.findall("<" + HEX + ">", arguments):
            yield plain(path).decode(errors="surrogateescape")
        for descriptor in re.findall(r"(?:^|, )(\d+)(?=,|$)", arguments):
            if int(descriptor) in self.table(process):
                yield self.table(process)[int(descriptor)].path

    def opened(self, process, path, flags, result):
        if not self.inside(path):
            self.table(process).pop(result, None)
            return False
        node, changed = self.names.get(path), False
        if "O_TMPFILE" in flags:
            raise NotModelled(f"O_TMPFILE in {path}")
        if node is None and path != self.base and "O_CREAT" in flags:
            node, changed = Node(), True
            self.change_name("add", path, node)
        elif node and not node.directory and "O_TRUNC" in flags and node.size:
            node.size, changed = 0, True
            node.pending.append(("resize", 0))
        self.table(process)[result] = Description(node if node and not node.directory else None, path, flags)
        return changed

    def on_openat(self, process, arguments, result, rest):
        # Behind the result stands the path that the kernel resolved, symbolic links and all.
        resolved = re.match("<" + HEX + ">", rest)
        path = plain(resolved.group(1)).decode(errors="surrogateescape") if resolved else self.paths(process, arguments)[0]
        return self.opened(process, path, arguments, result)

    on_open = on_openat

    def on_creat(self, process, arguments, result, rest):
        return self.on_openat(process, arguments + "O_CREAT|O_TRUNC|O_WRONLY", result, rest)

    def on_close(self, process, arguments, result, rest):
        self.table(process).pop(int(DESCRIPTOR.match(arguments).group(1)), None)

    def duplicate(self, process, arguments, result):
        description = self.description(process, arguments)
        if description:
            self.table(process)[result] = description
        else:
            self.table(process).pop(result, None)
        return False

    def on_fcntl(self, process, arguments, result, rest):
        return self.duplicate(process, arguments, result) if "F_DUPFD" in arguments else False

    def on_execve(self, process, arguments, result, rest):
        table = self.table(process)
        self.tables[process] = {fd: open_file for fd, open_file in table.items() if "O_CLOEXEC" not in open_file.flags}

    def on_read(self, process, arguments, result, rest):
        if description := self.description(process, arguments):
            description.offset += result

    def on_lseek(self, process, arguments, result, rest):
        if description := self.description(process, arguments):
            description.offset = result

    def write(self, process, arguments, data, offset=None):
        description = self.description(process, arguments)
        if not description or description.node is None:
            return False
        node = description.node
        if "O_APPEND" in description.flags:
            at = node.size
        else:
            at = description.offset if offset is None else offset
        node.size = max(node.size, at + len(data))
        node.pending.append(("write", at, data))
        if offset is None:
            description.offset = at + len(data)
        if "O_SYNC" in description.flags or "O_DSYNC" in description.flags:
            node.sync()
        return True

    def on_write(self, process, arguments, result, rest):
        return self.write(process, arguments, payload(arguments, result))

    on_writev = on_write

    def on_pwrite64(self, process, arguments, result, rest):
        return self.write(process, arguments, payload(arguments, result), int(arguments.rsplit(",", 1)[1]))

    on_pwritev = on_pwrite64

    def resize(self, node, size):
        node.size = size
        node.pending.append(("resize", size))
        return True

    def on_ftruncate(self, process, arguments, result, rest):
        description = self.description(process, arguments)
        if not description or description.node is None:
            return False
        return self.resize(description.node, int(arguments.rsplit(",", 1)[1]))

    def on_truncate(self, process, arguments, result, rest):
        node = self.names.get(self.paths(process, arguments)[0])
        return self.resize(node, int(arguments.rsplit(",", 1)[1])) if node else False

    def on_fallocate(self, process, arguments, result, rest):
        description = self.description(process, arguments)
        if not description or description.node is None:
            return False
        mode, offset, length = [part.strip() for part in arguments.split(",")[1:4]]
        if mode not in ("0", "FALLOC_FL_KEEP_SIZE"):
            raise NotModelled(f"fallocate with {mode}")
        size = int(offset) + int(length)
        return self.resize(description.node, size) if mode == "0" and size > description.node.size else False

    def on_fsync(self, process, arguments, result, rest):
        description = self.description(process, arguments)
        if not description:
            return False
        if description.node:
            description.node.sync()
        else:
            self.sync_directory(description.path)
        return True

    on_fdatasync = on_fsync

    def on_rename(self, process, arguments, result, rest):
        source, target = self.paths(process, arguments)
        if not self.inside(source) and not self.inside(target):
            return False
        if source not in self.names or not self.inside(target) or "EXCHANGE" in arguments:
            raise NotModelled(f"rename of {source} to {target}")
        self.change_name("rename", target, self.names[source], source)
        return True

    on_renameat = on_renameat2 = on_rename

    def on_link(self, process, arguments, result, rest):
        source, target = self.paths(process, arguments)
        if not self.inside(target):
            return False
        if source not in self.names:
            raise NotModelled(f"link of {source}")
        self.change_name("add", target, self.names[source])
        return True

    on_linkat = on_link

    def on_unlink(self, process, arguments, result, rest):
        path = self.paths(process, arguments)[0]
        if path not in self.names:
            return False
        self.change_name("remove", path, self.names[path])
        return True

    on_unlinkat = on_rmdir = on_unlink

    def on_mkdir(self, process, arguments, result, rest):
        path = self.paths(process, arguments)[0]
        if not self.inside(path):
            return False
        self.change_name("add", path, Node(directory=True))
        return True

    on_mkdirat = on_mkdir

    def on_mmap(self, process, arguments, result, rest):
        if "MAP_SHARED" not in arguments or "PROT_WRITE" not in arguments:
            return False
        if any(self.inside(path) for path in self.touched(process, arguments)):
            raise NotModelled(f"a writable shared mapping: {arguments[:200]}")
        return False

    # Images

    def image(self, mode, directory, random):
        """Writes into the new `directory` what is left when the power goes now."""
        survive = {"lost": 0, "kept": len(self.pending_names)}.get(mode)
        if survive is None:
            survive = random.randint(0, len(self.pending_names))
        tree = dict(self.safe_names)
        for change in self.pending_names[:survive]:
            self.settle(tree, change)
        os.makedirs(directory)
        for path in sorted(tree):
            target, node = directory + path[len(self.base):], tree[path]
            if not os.path.isdir(os.path.dirname(target)):
                continue  # the directory it stood in did not survive
            if node.directory:
                os.makedirs(target, mode=0o700, exist_ok=True)
                continue
            content = bytearray(node.safe)
            for change in node.pending if mode != "lost" else ():
                for part in sectors(change) if mode == "torn" else (change,):
                    if mode == "kept" or random.random() < 0.5:
                        alter(content, part)
            with open(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(content)


def sectors(change):
    """A change in the parts that a disk writes at once."""
    if change[0] != "write":
        yield change
        return
    offset, data = change[1], change[2]
    at = 0
    while at < len(data):
        end = min(len(data), ((offset + at) // SECTOR + 1) * SECTOR - offset)
        yield ("write", offset + at, data[at:end])
        at = end
