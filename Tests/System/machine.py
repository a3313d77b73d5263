"""A machine of one's own: a real systemd as process 1 of a container, over a throw-away copy of this machine's root.

What is written goes into memory and is gone at the end; nothing of this machine is changed. The container has a network of its
own without a way out. Needs root, systemd-nspawn, overlayfs and a cgroup file system that may be written to; `Unavailable` says
what is missing.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time

# Services that a developer's machine may have and that mean nothing here.
KEEP_OUT = ["postgresql.service", "etcd.service", "glewlwyd.service", "systemd-timesyncd.service", "apt-daily.timer",
            "apt-daily-upgrade.timer", "unattended-upgrades.service", "ssh.service", "cron.service"]


class Unavailable(Exception):
    """Why there can be no such machine here."""


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


class Machine:
    def __init__(self):
        if os.geteuid() != 0:
            raise Unavailable("needs root")
        for program in ("systemd-nspawn", "nsenter"):
            if not shutil.which(program):
                raise Unavailable(f"needs {program} (Debian: systemd-container, util-linux)")
        self.name = f"chatauth{os.getpid()}"
        self.scratch = tempfile.mkdtemp(prefix="chatauth-machine.")
        self.root = os.path.join(self.scratch, "root")
        self.process = self.leader = None
        self.groups = []
        mounted = run("mount", "-t", "tmpfs", "-o", "size=3g,mode=755", "tmpfs", self.scratch)
        if mounted.returncode:
            os.rmdir(self.scratch)
            raise Unavailable("may not mount: " + mounted.stdout.strip())
        for name in ("upper", "work", "root"):
            os.mkdir(os.path.join(self.scratch, name))
        layers = f"lowerdir=/,upperdir={self.scratch}/upper,workdir={self.scratch}/work"
        mounted = run("mount", "-t", "overlay", "overlay", "-o", layers, self.root)
        if mounted.returncode:
            self.close()
            raise Unavailable("no overlay of this root: " + mounted.stdout.strip())
        # An identity and a key of its own.
        with open(os.path.join(self.root, "etc/machine-id"), "w"):
            pass
        credential = os.path.join(self.root, "var/lib/systemd/credential.secret")
        if os.path.exists(credential):
            os.unlink(credential)
        os.makedirs(os.path.join(self.root, "etc/systemd/system"), exist_ok=True)
        for unit in KEEP_OUT:
            path = os.path.join(self.root, "etc/systemd/system", unit)
            if not os.path.lexists(path):
                os.symlink("/dev/null", path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _enter_groups(self):
        """A part of each cgroup hierarchy of its own: the inner systemd must never manage that of this machine."""
        base = "/sys/fs/cgroup"
        hierarchies = [""] if os.path.exists(base + "/cgroup.controllers") else ["systemd", "unified"]
        for hierarchy in hierarchies:
            if not os.path.isdir(os.path.join(base, hierarchy)):
                continue
            group = os.path.join(base, hierarchy, self.name)
            try:
                os.makedirs(group, exist_ok=True)
            except OSError as error:
                raise Unavailable(f"no cgroup can be made: {error}") from error
            self.groups.append(group)

    def boot(self, seconds=60):
        """Starts it; returns the seconds until its systemd was up."""
        self._enter_groups()

        def join():
            for group in self.groups:
                with open(os.path.join(group, "cgroup.procs"), "w") as file:
                    file.write(str(os.getpid()))
            os.setsid()
        begun = time.monotonic()
        console = os.path.join(self.scratch, "console")
        with open(console, "wb") as log:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "-q", "-D", self.root, "-M", self.name, "--register=no", "--keep-unit", "--boot",
                 "--link-journal=no", "--console=read-only", "--private-network", "--capability=all",
                 "--system-call-filter=bpf", "--resolv-conf=off"],
                env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, preexec_fn=join)
        state = ""
        while time.monotonic() < begun + seconds:
            if self.process.poll() is not None:
                with open(console, errors="replace") as log:
                    raise Unavailable("systemd-nspawn does not run here: " + log.read()[-300:].strip())
            children = run("pgrep", "-P", str(self.process.pid)).stdout.split()
            if children:
                self.leader = int(children[0])
                state = self.run("systemctl", "is-system-running").stdout.strip()
                if state in ("running", "degraded"):
                    return time.monotonic() - begun
            time.sleep(0.05)
        raise Unavailable(f"systemd did not come up: {state}")

    def command(self, *command):
        return ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                "LANG=C.UTF-8", "nsenter", "-t", str(self.leader), "-a", "--wd", *command]

    def run(self, *command):
        return run(*self.command(*command), cwd="/")

    def close(self):
        if self.process and self.process.poll() is None:
            if self.leader:
                # systemd: poweroff.target
                os.kill(self.leader, signal.SIGRTMIN + 4)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                for pid in filter(None, (self.leader, self.process.pid)):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                self.process.wait(10)
        for path in (self.root, self.scratch):
            for _ in range(50):
                if not os.path.ismount(path) or run("umount", path).returncode == 0:
                    break
                time.sleep(0.1)
        for group in self.groups:
            for folder, _, _ in os.walk(group, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
        try:
            os.rmdir(self.scratch)
        except OSError:
            pass
