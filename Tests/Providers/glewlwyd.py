"""A real OAuth 2 and OpenID Connect provider: glewlwyd from Debian, configured from nothing, on TLS.

Refresh tokens can be used once, and using one twice ends the whole family. It answers that with an empty 400, and a
wrong client secret with an empty 403.
"""

import base64
import http.client
import json
import os
import socket
import sqlite3
import ssl
import subprocess
import time
import urllib.parse

SCHEMA = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
CLIENT, CLIENT_SECRET = "support-desk", "support-desk-secret"
SIGNING_CLIENT = "signing-desk"
USER, PASSWORD = "alice", "alice-password"
SCOPES = ["chat_read", "chat_write", "offline_access"]


class ProviderFailed(Exception):
    """The provider does not start, or does not do what it is asked while it is set up."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def packages():
    """The Debian packages that are missing."""
    needed = ["glewlwyd", "sqlite3"]
    asked = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package}\n", *needed],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
    return [name for name in needed if f"installed {name}" not in asked]


class Glewlwyd:
    """One provider in a directory of its own; `url` is where others reach it, which may be a proxy before it."""

    def __init__(self, directory, certificate, key, ca, url=None, access_seconds=60, refresh_seconds=3600):
        self.directory, self.ca = directory, ca
        self.port = free_port()
        self.own_url = f"https://localhost:{self.port}"
        self.url = url or self.own_url
        self.access_seconds, self.refresh_seconds = access_seconds, refresh_seconds
        self.context = ssl.create_default_context(cafile=ca)
        self.cookies = {}
        os.makedirs(directory, exist_ok=True)
        self._configure(certificate, key)
        self.start()
        self._set_up()

    @property
    def issuer(self):
        return self.url + "/api/oidc"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # Life

    def start(self):
        with open(os.path.join(self.directory, "out.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["glewlwyd", "--config-file=" + os.path.join(self.directory, "glewlwyd.conf")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 30
        while True:
            try:
                self.request("GET", "/config")
                return
            except (OSError, ProviderFailed, http.client.HTTPException):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise ProviderFailed("glewlwyd did not start; see " + self.directory) from None
                time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _configure(self, certificate, key):
        database = os.path.join(self.directory, "glewlwyd.db")
        with sqlite3.connect(database) as connection, open(SCHEMA) as schema:
            connection.executescript(schema.read())
        settings = {
            "port": self.port, "bind_address": "127.0.0.1", "external_url": self.url, "login_url": "login.html",
            "api_prefix": "api", "allow_origin": "*", "log_mode": "file", "log_level": "WARNING",
            "log_file": os.path.join(self.directory, "glewlwyd.log"), "cookie_domain": "localhost",
            "cookie_secure": 0, "session_expiration": 3600, "session_key": "GLEWLWYD2_SESSION_ID",
            "admin_session_authentication": "cookie", "profile_session_authentication": "cookie",
            "login_api_enabled": True, "admin_scope": "g_admin", "profile_scope": "g_profile",
            "user_module_path": "/usr/lib/glewlwyd/user", "client_module_path": "/usr/lib/glewlwyd/client",
            "user_auth_scheme_module_path": "/usr/lib/glewlwyd/scheme",
            "plugin_module_path": "/usr/lib/glewlwyd/plugin", "use_secure_connection": True,
            "secure_connection_key_file": key, "secure_connection_pem_file": certificate,
            "secure_connection_ca_file": self.ca, "hash_algorithm": "SHA512",
        }
        with open(os.path.join(self.directory, "glewlwyd.conf"), "w") as file:
            for name, value in settings.items():
                file.write(f"{name}={json.dumps(value)}\n")
            file.write(f'database = {{ type = "sqlite3"; path = {json.dumps(database)}; }};\n')

    # Setting up, as its administration page would

    def request(self, method, path, body=None, jar=None, form=None, headers=None):
        """Status and body of one request to the provider itself."""
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=20, context=self.context)
        headers = dict(headers or {})
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body), "application/json"
        elif form is not None:
            data = urllib.parse.urlencode(form)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        if jar and jar in self.cookies:
            headers["Cookie"] = self.cookies[jar]
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
            if jar and (cookie := answer.getheader("Set-Cookie")):
                self.cookies[jar] = cookie.split(";")[0]
            return answer.status, text
        finally:
            connection.close()

    def _api(self, method, path, body, jar="admin"):
        status, text = self.request(method, "/api" + path, body, jar)
        if status != 200:
            raise ProviderFailed(f"glewlwyd: {method} {path}: {status} {text[:300]!r}")

    def _set_up(self):
        self._api("POST", "/auth/", {"username": "admin", "password": "password"})
        key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            check=True, capture_output=True, text=True).stdout
        public = subprocess.run(
            ["openssl", "pkey", "-pubout"], check=True, capture_output=True, text=True, input=key).stdout
        self.signing_key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
            check=True, capture_output=True, text=True).stdout
        signing_public = subprocess.run(
            ["openssl", "pkey", "-pubout"], check=True, capture_output=True, text=True,
            input=self.signing_key).stdout
        for name in SCOPES:
            self._api("POST", "/scope/", {
                "name": name, "display_name": name, "password_required": False, "password_max_age": 0, "scheme": {}})
        self.parameters = {
            "iss": self.issuer, "jwt-type": "ecdsa", "jwt-key-size": "256", "key": key, "cert": public,
            "access-token-duration": self.access_seconds, "refresh-token-duration": self.refresh_seconds,
            "code-duration": 60, "refresh-token-rolling": True, "refresh-token-one-use": "always",
            "allow-non-oidc": True, "auth-type-code-enabled": True, "auth-type-code-revoke-replayed": True,
            "auth-type-token-enabled": True, "auth-type-id-token-enabled": True, "auth-type-none-enabled": True,
            "auth-type-password-enabled": True, "auth-type-client-enabled": True, "auth-type-device-enabled": True,
            "auth-type-refresh-enabled": True, "jwks-show": True, "subject-type": "public", "scope": [],
            "additional-parameters": [], "claims": [], "allowed-scope": ["openid", *SCOPES],
            "pkce-allowed": True, "introspection-revocation-allowed": True,
            "introspection-revocation-allow-target-client": True, "introspection-revocation-auth-scope": [],
            "register-client-allowed": False, "session-management-allowed": False,
            "request-parameter-allow": True, "client-pubkey-parameter": "pubkey",
        }
        self._api("POST", "/mod/plugin/", {
            "module": "oidc", "name": "oidc", "display_name": "OIDC", "order_rank": 0, "enabled": True,
            "parameters": self.parameters})
        client = {
            "client_id": CLIENT, "name": CLIENT, "enabled": True, "confidential": True, "password": CLIENT_SECRET,
            "client_secret": CLIENT_SECRET,
            "token_endpoint_auth_method": ["client_secret_basic", "client_secret_post"],
            "authorization_type": ["code", "password", "client_credentials", "refresh_token", "delete_token"],
            "redirect_uri": ["http://127.0.0.1:8899/cb"], "scope": ["chat_read", "chat_write"]}
        self._api("POST", "/client/", client)
        self._api("POST", "/user/", {
            "username": USER, "name": "Alice", "email": "alice@example.invalid", "enabled": True,
            "password": PASSWORD, "scope": ["g_profile", "openid", *SCOPES]})
        self._api("POST", "/auth/", {"username": USER, "password": PASSWORD}, jar=USER)
        self._api(
            "PUT", f"/auth/grant/{CLIENT}/", {"scope": " ".join(["openid", *SCOPES])}, jar=USER)
        self.signing_public = signing_public

    def change_lifetimes(self, access_seconds):
        """Tokens that are issued from now on live so long; the plugin starts anew with its new settings."""
        self.parameters["access-token-duration"] = self.access_seconds = access_seconds
        self._api("PUT", "/mod/plugin/oidc", {
            "module": "oidc", "name": "oidc", "display_name": "OIDC", "order_rank": 0, "enabled": True,
            "parameters": self.parameters})
        for action in ("disable", "enable"):
            self._api("PUT", f"/mod/plugin/oidc/{action}", None)

    def change_secret(self, secret):
        """The client's secret is another one from now on."""
        status, text = self.request("GET", f"/api/client/{CLIENT}", jar="admin")
        client = json.loads(text)
        client.update({"password": secret, "client_secret": secret})
        self._api("PUT", f"/client/{CLIENT}", client)

    def trust_client_key(self, public_key):
        """The client proves itself with a key from now on, and with nothing else (RFC 7523)."""
        status, text = self.request("GET", "/api/mod/client/", jar="admin")
        for module in json.loads(text):
            # Which properties a client may have is a setting of where clients are kept.
            module["parameters"]["data-format"]["pubkey"] = {"multiple": False, "read": True, "write": True}
            self._api("PUT", f"/mod/client/{module['name']}", module)
            self._api("PUT", f"/mod/client/{module['name']}/reset", {})
        status, text = self.request("GET", f"/api/client/{CLIENT}", jar="admin")
        client = json.loads(text)
        client.update({"pubkey": public_key, "token_endpoint_auth_method": ["private_key_jwt"]})
        self._api("PUT", f"/client/{CLIENT}", client)

    # What a person would do

    def token_request(self, form, client=CLIENT, secret=CLIENT_SECRET):
        credentials = base64.b64encode(
            f"{urllib.parse.quote(client)}:{urllib.parse.quote(secret)}".encode()).decode()
        return self.request(
            "POST", "/api/oidc/token", form=form, headers={"Authorization": "Basic " + credentials})

    def sign_in(self, scope="openid chat_read offline_access"):
        """A refresh token that was never used."""
        status, text = self.token_request(
            {"grant_type": "password", "username": USER, "password": PASSWORD, "scope": scope})
        if status != 200:
            raise ProviderFailed(f"glewlwyd: sign-in: {status} {text[:300]!r}")
        return json.loads(text)["refresh_token"]

    def introspect(self, token):
        credentials = base64.b64encode(
            f"{urllib.parse.quote(CLIENT)}:{urllib.parse.quote(CLIENT_SECRET)}".encode()).decode()
        status, text = self.request(
            "POST", "/api/oidc/introspect", form={"token": token},
            headers={"Authorization": "Basic " + credentials})
        if status != 200:
            raise ProviderFailed(f"glewlwyd: introspection: {status} {text[:300]!r}")
        return json.loads(text)
