"""django-oauth-toolkit as an identity provider on TLS: opaque access tokens, errors as RFC 6749 has them, refresh tokens that
can be used once and end their whole family when one is used twice.

usage: server.py DIRECTORY PORT CERTIFICATE KEY ISSUER ACCESS_SECONDS        prints one line when it serves
"""

import os
import ssl
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

directory, port, certificate, key, issuer, access_seconds = sys.argv[1:]
settings.configure(
    DEBUG=False, SECRET_KEY="of a test, and of nothing else " * 2, ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, USE_TZ=True,
    SECURE_PROXY_SSL_HEADER=("wsgi.url_scheme", "https"), USE_X_FORWARDED_HOST=False,
    DATABASES={"default": {
        "ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(directory, "provider.db"),
        "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"}}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": open(os.path.join(directory, "rsa.pem")).read(),
        "OIDC_ISS_ENDPOINT": issuer, "SCOPES": {"openid": "", "chat_read": "", "introspection": ""},
        "PKCE_REQUIRED": False, "ACCESS_TOKEN_EXPIRE_SECONDS": int(access_seconds),
        "REFRESH_TOKEN_EXPIRE_SECONDS": 3600, "ROTATE_REFRESH_TOKEN": True, "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0})
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402

urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]
call_command("migrate", verbosity=0)
alice = User.objects.create_user("alice", password="alice-password")
for name, grant_type in (("machine", "client-credentials"), ("desk", "password")):
    Application.objects.create(
        client_id=name, client_secret=name + "-secret", client_type="confidential", authorization_grant_type=grant_type,
        name=name, user=alice, algorithm="RS256")


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def get_request(self):
        connection, address = self.socket.accept()
        return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, *_):
        pass

    def setup_environ(self):
        super().setup_environ()
        self.base_environ["HTTPS"] = "on"


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server = make_server("127.0.0.1", int(port), get_wsgi_application(), server_class=Server, handler_class=Quiet)
print("serving", flush=True)
server.serve_forever()
