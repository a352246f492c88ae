"""An OpenID Connect provider whose users are logged in already: whoever asks is the user that it is set to."""

from __future__ import annotations

import base64
import json
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import trustme
from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

__all__ = ["CLIENT", "SECRET", "Provider", "provider"]

CLIENT, SECRET = "kubernetes", "client-secret"
_KEY = "key-1"


class Provider:
    """`user` has the claims of the user who is logged in. Access tokens are ID tokens, as an API server takes them."""

    def __init__(self, ca_file: Path) -> None:
        self.ca_file, self.url = ca_file, ""
        self.user: Mapping[str, Any] = {}
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._codes: dict[str, dict[str, Any]] = {}

    async def discovery(self, _: web.Request) -> web.Response:
        paths = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "keys"}
        return web.json_response(
            {
                "issuer": self.url,
                **{name: f"{self.url}/{path}" for name, path in paths.items()},
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    async def keys(self, _: web.Request) -> web.Response:
        public = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY, "n": _number(public.n), "e": _number(public.e)}
        return web.json_response({"keys": [key]})

    async def auth(self, request: web.Request) -> NoReturn:
        code = secrets.token_urlsafe(16)
        self._codes[code] = {**self.user, "nonce": request.query.get("nonce", "")}
        raise web.HTTPFound(f"{request.query['redirect_uri']}?code={code}&state={request.query['state']}")

    async def token(self, request: web.Request) -> web.Response:
        form = await request.post()
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {basic}" and form.get("client_secret") != SECRET:
            return web.json_response({"error": "invalid_client"}, status=401)
        token = self.signed(self._codes.pop(str(form["code"])))
        return web.json_response({"access_token": token, "id_token": token, "token_type": "Bearer", "expires_in": 600})

    def signed(self, claims: Mapping[str, Any]) -> str:
        now = int(time.time())
        body = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 600, **claims}
        head = {"alg": "RS256", "kid": _KEY, "typ": "JWT"}
        text = f"{_part(json.dumps(head).encode())}.{_part(json.dumps(body).encode())}"
        return f"{text}.{_part(self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _number(value: int) -> str:
    return _part(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@asynccontextmanager
async def provider(folder: Path, authority: trustme.CA) -> AsyncIterator[Provider]:
    ca_file = folder / "provider-ca.crt"
    authority.cert_pem.write_to_path(str(ca_file))
    made = Provider(ca_file)
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", made.discovery)
    app.router.add_get("/keys", made.keys)
    app.router.add_get("/auth", made.auth)
    app.router.add_post("/token", made.token)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        made.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()
