"""A second real provider: django-oauth-toolkit from PyPI, in an environment of its own below .build."""

import base64
import fcntl
import http.client
import json
import os
import ssl
import subprocess
import sys
import urllib.parse

from glewlwyd import ProviderFailed, free_port
from support import Skipped

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = os.path.join(HERE, "../../.build/django-oauth-toolkit")
PACKAGES = ["django-oauth-toolkit==3.4.1", "oauthlib==3.3.1"]


def install():
    """The Python that has the toolkit; made once, skips the test where PyPI cannot be reached.

    One at a time: tests run beside each other, and half an environment is none.
    """
    os.makedirs(os.path.dirname(ENVIRONMENT), exist_ok=True)
    with open(ENVIRONMENT + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _install()


def _install():
    python = os.path.join(ENVIRONMENT, "bin/python")
    mark = os.path.join(ENVIRONMENT, "complete")
    if os.path.exists(mark):
        return python
    for command in ([sys.executable, "-m", "venv", ENVIRONMENT],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            raise Skipped("django-oauth-toolkit cannot be installed: " + lines[-1][:200])
    open(mark, "w").close()
    return python


class DjangoToolkit:
    def __init__(self, directory, certificate, key, ca, url, access_seconds=60):
        self.port, self.url = free_port(), url
        self.context = ssl.create_default_context(cafile=ca)
        python = install()
        subprocess.run(
            ["openssl", "genrsa", "-out", os.path.join(directory, "rsa.pem"), "2048"], check=True, capture_output=True)
        self.log = open(os.path.join(directory, "out.log"), "wb")
        self.process = subprocess.Popen(
            [python, os.path.join(HERE, "django/server.py"), directory, str(self.port), certificate, key, self.issuer,
             str(access_seconds)],
            stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL)
        if self.process.stdout.readline().strip() != b"serving":
            self.stop()
            raise ProviderFailed("django-oauth-toolkit did not start: "
                                 + open(os.path.join(directory, "out.log")).read()[-2000:])

    @property
    def issuer(self):
        return self.url + "/o"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def request(self, path, form, client="desk"):
        credentials = base64.b64encode(f"{client}:{client}-secret".encode()).decode()
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=20, context=self.context)
        try:
            connection.request("POST", path, urllib.parse.urlencode(form), {
                "Authorization": "Basic " + credentials, "Content-Type": "application/x-www-form-urlencoded"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def sign_in(self):
        """A refresh token that was never used."""
        status, text = self.request("/o/token/", {
            "grant_type": "password", "username": "alice", "password": "alice-password",
            "scope": "openid chat_read introspection"})
        if status != 200:
            raise ProviderFailed(f"django-oauth-toolkit: sign-in: {status} {text[:300]!r}")
        return json.loads(text)["refresh_token"]

    def spend(self, token):
        return self.request("/o/token/", {"grant_type": "refresh_token", "refresh_token": token})
