"""Checks JSON Web Tokens: what PyJWT and joserfc sign is accepted, and what RFC 8725 forbids is refused. The log says
which check failed, the answer does not.
"""
import base64
import concurrent.futures
import hashlib
import hmac
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

import joserfc.jwk
import joserfc.jwt
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives import hashes

from server import BINARY, Server, wait_until

SECRET = "a-secret-of-at-least-32-characters"
RSA = rsa.generate_private_key(65537, 2048)
OTHER_RSA = rsa.generate_private_key(65537, 2048)
SMALL_RSA = rsa.generate_private_key(65537, 1024)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
KEYS = {"RS256": (RSA, "rsa"), "ES256": (EC, "ec"), "EdDSA": (ED, "ed"), "PS256": (OTHER_RSA, "pss")}


def is_without_tokens():
    run = subprocess.run([BINARY, "serve", "--port", "0", "--database", ":memory:", "--jwks", "/dev/null"], capture_output=True, text=True)
    return "built without JSON Web Tokens" in run.stderr


pytestmark = pytest.mark.skipif(is_without_tokens(), reason="the binary was built without the trait JWT")


def kind(key):
    return {rsa.RSAPrivateKey: "RSA", ec.EllipticCurvePrivateKey: "EC", ed25519.Ed25519PrivateKey: "OKP"}[
        next(type for type in [rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey] if isinstance(key, type))]


def jwk(key, **members):
    """Returns the public key."""
    return joserfc.jwk.import_key(pem(key, is_public=True), kind(key)).as_dict(private=False) | members


def pem(key, is_public=False):
    if is_public:
        return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


JWKS = {"keys": [jwk(key, kid=kid, use="sig", alg=algorithm) for algorithm, (key, kid) in KEYS.items()]}


def claims(**changes):
    """Returns valid claims with changes. `None` leaves a claim out."""
    now = int(time.time())
    all = {"iss": "https://login.example", "aud": "braid", "sub": "kim", "name": "Kim", "exp": now + 600, "iat": now} | {
        "braid": {"role": "participant", "sessions": ["mine", "team-*"]}} | changes
    return {name: value for name, value in all.items() if value is not None}


def by_pyjwt(algorithm, claims, **headers):
    key, kid = KEYS.get(algorithm, (SECRET, None))
    return jwt.encode(claims, key, algorithm, headers=({"kid": kid} if kid else {}) | headers)


def by_joserfc(algorithm, claims, **headers):
    if algorithm not in KEYS:
        key, header = joserfc.jwk.OctKey.import_key(SECRET), {}
    else:
        private, kid = KEYS[algorithm]
        key, header = joserfc.jwk.import_key(pem(private), kind(private)), {"kid": kid}
    return joserfc.jwt.encode({"alg": algorithm, "typ": "JWT"} | header | headers, claims, key, algorithms=[algorithm])


def encoded(data):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def signed(header, payload, key=SECRET, digest=hashlib.sha256):
    """Returns a token made by hand, of parts that no library would sign."""
    text = f"{encoded(header)}.{encoded(payload)}"
    return f"{text}.{encoded(hmac.new(key if isinstance(key, bytes) else key.encode(), text.encode(), digest).digest())}"


HS256 = {"alg": "HS256"}


class Requests(Server):
    def send(self, token, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {}), method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def status(self, token, session="mine"):
        return self.send(token, "GET", f"/v1/sessions/{session}")[0]

    def stream(self, token):
        return urllib.request.urlopen(urllib.request.Request(
            self.url + "/v1/sessions/mine/updates", headers={"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}))


class TokenServer(Requests):
    """With three sessions, all keys, and a log."""

    def __init__(self, folder, *options):
        self.keys, self.secret, self.log = folder / "keys.json", folder / "secret", folder / "log"
        self.write(self.keys, json.dumps(JWKS))
        self.write(self.secret, SECRET + "\n")
        super().__init__(
            "--jwks", self.keys, "--jwt-secret-file", self.secret, "--jwt-issuer", "https://login.example", "--jwt-audience", "braid",
            "--log-level", "info", "--log-format", "json", "--log-file", self.log, *options, token="controller")
        for id in ["mine", "theirs", "team-1"]:
            assert self.send("controller", "POST", "/v1/sessions", {"id": id, "rows": []})[0] == 201

    def write(self, file, text):
        """Replaces the file at once, as a deployment does."""
        new = file.with_suffix(".new")
        new.write_text(text)
        os.rename(new, file)

    def lines(self, message=""):
        return [line for line in map(json.loads, self.log.read_text().splitlines()) if message in line["message"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with TokenServer(tmp_path_factory.mktemp("tokens")) as server:
        yield server


# MARK: Accepted


@pytest.mark.parametrize("sign", [by_pyjwt, by_joserfc])
@pytest.mark.parametrize("algorithm", [*KEYS, "HS256"])
def test_both_libraries(server, sign, algorithm):
    """Also from the cache."""
    token = sign(algorithm, claims())
    assert [server.status(token) for _ in range(2)] == [200, 200]


def test_the_new_name_of_an_algorithm(server):
    """RFC 9864: `Ed25519` for `EdDSA`."""
    key = joserfc.jwk.import_key(pem(ED), "OKP")
    token = joserfc.jwt.encode({"alg": "Ed25519", "kid": "ed"}, claims(), key, algorithms=["Ed25519"])
    assert server.status(token) == 200


def test_a_token_without_kid(server):
    """Only one key is for its algorithm."""
    assert server.status(jwt.encode(claims(), RSA, "RS256")) == 200


@pytest.mark.parametrize("header", [{"typ": "at+jwt"}, {"typ": "application/at+jwt"}, {"jku": "https://evil.example/keys", "jwk": JWKS["keys"][0]}, {"kid": "x"}])
def test_headers_that_are_no_fault(server, header):
    """A secret has no `kid`, and keys that a token brings along are not read."""
    assert server.status(signed(HS256 | header, claims())) == 200


def test_claims_that_are_no_fault(server):
    now = int(time.time())
    for changes in [{"aud": ["other", "braid"]}, {"exp": now + 60.5}, {"exp": now - 5}, {"nbf": now + 5}, {"name": "x" * 500}, {"name": 1}, {"sub": "é" * 128}]:
        assert server.status(signed(HS256, claims(**changes))) == 200, changes


def test_scope(server):
    """What the token does not cover does not exist."""
    token = by_pyjwt("ES256", claims())
    assert [server.status(token, session) for session in ["mine", "team-1", "theirs", "never"]] == [200, 200, 404, 404]
    everything = by_pyjwt("ES256", claims(braid={"role": "viewer"}))
    assert [server.status(everything, session) for session in ["mine", "theirs", "never"]] == [200, 200, 404]
    nothing = by_pyjwt("ES256", claims(braid={"role": "viewer", "sessions": []}))
    assert server.status(nothing) == 404


def test_role(server):
    for role, status in [("viewer", 403), ("participant", 403), ("controller", 200)]:
        token = by_pyjwt("EdDSA", claims(braid={"role": role}))
        assert server.send(token, "GET", "/v1/tables")[0] == status, role


# MARK: Refused


def lacking(part):
    parts = signed(HS256, claims()).split(".")
    parts[part] += "="
    return ".".join(parts)


def with_der_signature():
    text = by_pyjwt("ES256", claims()).rsplit(".", 1)[0]
    return f"{text}.{encoded(EC.sign(text.encode(), ec.ECDSA(hashes.SHA256())))}"


def rs512():
    text = f"{encoded({'alg': 'RS512', 'kid': 'rsa'})}.{encoded(claims())}"
    return f"{text}.{encoded(RSA.sign(text.encode(), padding.PKCS1v15(), hashes.SHA512()))}"


def noncanonical():
    """Returns a token whose last digit has other unused bits, which stands for the same bytes."""
    token = signed(HS256, claims())
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + digits[digits.index(token[-1]) ^ 1]


def changed(token):
    head, payload, signature = token.split(".")
    return f"{head}.{encoded(claims(sub='mallory'))}.{signature}"


NOW = int(time.time())
REFUSED = {
    "none": (lambda: jwt.encode(claims(), None, "none"), "alg"),
    "none, with a signature": (lambda: signed({"alg": "none"}, claims()), "alg"),
    "None": (lambda: signed({"alg": "None"}, claims()), "alg"),
    "no algorithm": (lambda: signed({}, claims()), "alg"),
    "an algorithm that is no string": (lambda: signed({"alg": ["HS256"]}, claims()), "alg"),
    "HS512": (lambda: signed({"alg": "HS512"}, claims(), digest=hashlib.sha512), "alg"),
    "an algorithm that is not the key's": (rs512, "alg"),
    "a secret's algorithm with the kid of a public key": (lambda: signed(HS256 | {"kid": "rsa"}, claims()), "alg"),
    "a secret as a private key": (lambda: signed({"alg": "RS256", "kid": "rsa"}, claims()), "signature"),
    "a public key as the secret": (lambda: signed(HS256, claims(), pem(RSA, is_public=True)), "signature"),
    "a public key as the secret, and its kid": (lambda: signed(HS256 | {"kid": "rsa"}, claims(), pem(RSA, is_public=True)), "alg"),
    "a public key's modulus as the secret": (lambda: signed(HS256, claims(), RSA.public_key().public_numbers().n.to_bytes(256, "big")), "signature"),
    "another key of the set": (lambda: jwt.encode(claims(), OTHER_RSA, "RS256", headers={"kid": "rsa"}), "signature"),
    "unknown kid": (lambda: jwt.encode(claims(), RSA, "RS256", headers={"kid": "x"}), "kid"),
    "kid that is no string": (lambda: signed(HS256 | {"kid": 1}, claims()), "kid"),
    "a signature in DER": (with_der_signature, "signature"),
    "a signature of zeros": (lambda: by_pyjwt("ES256", claims()).rsplit(".", 1)[0] + "." + encoded(bytes(64)), "signature"),
    "no signature": (lambda: signed(HS256, claims()).rsplit(".", 1)[0] + ".", "signature"),
    "changed claims": (lambda: changed(by_pyjwt("EdDSA", claims())), "signature"),
    "expired": (lambda: signed(HS256, claims(exp=NOW - 60)), "exp"),
    "no expiry": (lambda: signed(HS256, claims(exp=None)), "exp"),
    "an expiry that is no number": (lambda: signed(HS256, claims(exp=str(NOW + 600))), "exp"),
    "an infinite expiry": (lambda: signed(HS256, json.dumps(claims(exp=7)).replace(" 7", " 1e999").encode()), "exp"),
    "not yet valid": (lambda: signed(HS256, claims(nbf=NOW + 3600)), "nbf"),
    "wrong issuer": (lambda: signed(HS256, claims(iss="https://evil.example")), "iss"),
    "no issuer": (lambda: signed(HS256, claims(iss=None)), "iss"),
    "wrong audience": (lambda: signed(HS256, claims(aud="other")), "aud"),
    "no audience": (lambda: signed(HS256, claims(aud=None)), "aud"),
    "audiences that are no strings": (lambda: signed(HS256, claims(aud=["braid", 1])), "aud"),
    "no subject": (lambda: signed(HS256, claims(sub=None)), "sub"),
    "a long subject": (lambda: signed(HS256, claims(sub="x" * 129)), "sub"),
    "no role": (lambda: signed(HS256, claims(braid=None)), "role"),
    "unknown role": (lambda: signed(HS256, claims(braid={"role": "admin"})), "role"),
    "a misspelled restriction": (lambda: signed(HS256, claims(braid={"role": "viewer", "session": ["mine"]})), "role"),
    "sessions that are no list": (lambda: signed(HS256, claims(braid={"role": "viewer", "sessions": "mine"})), "role"),
    "a session that is no id": (lambda: signed(HS256, claims(braid={"role": "viewer", "sessions": ["a b"]})), "role"),
    "33 sessions": (lambda: signed(HS256, claims(braid={"role": "viewer", "sessions": [f"s{number}" for number in range(33)]})), "role"),
    "tables that are no strings": (lambda: signed(HS256, claims(braid={"role": "viewer", "tables": [1]})), "role"),
    "long claims": (lambda: signed(HS256, claims(braid={"role": "viewer", "claims": {"x": "x" * 4096}})), "role"),
    "two of a claim": (lambda: signed(HS256, json.dumps(claims()).replace('"sub"', '"sub": "mallory", "sub"').encode()), "json"),
    "two of a claim, one escaped": (lambda: signed(HS256, json.dumps(claims()).replace('"sub"', '"s\\u0075b": "mallory", "sub"').encode()), "json"),
    "two of a header's member": (lambda: signed(b'{"alg": "none", "alg": "HS256"}', claims()), "json"),
    "claims that are no object": (lambda: signed(HS256, [1]), "json"),
    "claims that are no UTF-8": (lambda: signed(HS256, b'{"sub": "\xff"}'), "json"),
    "deep claims": (lambda: signed(HS256, b'{"x": ' + b"[" * 100 + b"]" * 100 + b"}"), "json"),
    "padding": (lambda: lacking(0), "base64url"),
    "padding of the signature": (lambda: lacking(2), "base64url"),
    "the other base64": (lambda: "+" + signed(HS256, claims()), "base64url"),
    "two texts for one token": (noncanonical, "base64url"),
    "crit": (lambda: signed(HS256 | {"crit": ["exp"]}, claims()), "crit"),
    "crit of an unencoded payload": (lambda: signed(HS256 | {"crit": ["b64"], "b64": False}, claims()), "crit"),
    "a token for another purpose": (lambda: signed(HS256 | {"typ": "dpop+jwt"}, claims()), "typ"),
    "two parts": (lambda: "a.b", "format"),
    "five parts, as encrypted": (lambda: "a.b.c.d.e", "format"),
    "one word": (lambda: "word", "format"),
    "20 KB": (lambda: signed(HS256, claims(x="x" * 20_000)), "size"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(server, name):
    make, check = REFUSED[name]
    before = len(server.lines("token refused"))
    status, headers, body = server.send(make(), "GET", "/v1/sessions/mine")
    assert status == 401
    assert headers["WWW-Authenticate"] == 'Bearer realm="braid", error="invalid_token", error_description="The token is unknown, expired or revoked."'
    assert json.loads(body)["detail"] == "The token is unknown, expired or revoked. Get a new one."
    wait_until(lambda: len(server.lines("token refused")) > before)
    assert [line["check"] for line in server.lines("token refused")[before:]] == [check]


def test_100_kilobytes(server):
    """The head is too long before anybody looks at the token."""
    assert server.status(signed(HS256, claims(x="x" * 100_000))) == 431


def test_a_public_key_is_no_secret(tmp_path):
    """Without a secret, HS256 is no algorithm of any key, whether the token names the key or not. And with keys but
    without a controller's token, the server is not open.
    """
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [jwk(RSA, kid="rsa")]}))
    with Requests("--jwks", keys) as server:
        for header in [HS256, HS256 | {"kid": "rsa"}]:
            for secret in [pem(RSA, is_public=True), json.dumps(jwk(RSA)).encode(), b""]:
                assert server.status(signed(header, claims(aud=None), secret)) == 401
        controller = claims(aud=None, braid={"role": "controller"})
        assert server.send(by_pyjwt("RS256", controller), "GET", "/v1/tables")[0] == 200
        assert server.send(jwt.encode(controller, RSA, "RS256", headers={"kid": "x"}), "GET", "/v1/tables")[0] == 401
        assert server.send(None, "GET", "/v1/tables")[0] == 401


# MARK: Keys


def test_replaced_keys(tmp_path):
    """A file that changes is read again. What the old key's token opened ends, and a faulty file changes nothing.
    """
    with TokenServer(tmp_path) as server:
        old, kept = by_pyjwt("RS256", claims()), by_pyjwt("EdDSA", claims())
        streams = [server.stream(token) for token in [old, kept]]
        server.write(server.keys, "{")
        wait_until(lambda: server.lines("is not valid JSON"))
        assert [server.status(token) for token in [old, kept]] == [200, 200]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            poll = pool.submit(server.send, old, "GET", "/v1/sessions/mine/updates?since=0&wait=60")
            wait_until(lambda: 'braid_subscribers{by="poll"} 1' in server.send(None, "GET", "/metrics")[2])
            server.write(server.keys, json.dumps({"keys": JWKS["keys"][1:]}))
            streams[0].read()
            assert poll.result()[0] == 401
        assert [server.status(token) for token in [old, kept]] == [401, 200]
        server.send("controller", "POST", "/v1/sessions/mine/rows", {"at": [0, 0], "model": {"id": "new"}})
        while b"new" not in streams[1].readline():
            pass
        streams[1].close()


def test_sighup(tmp_path):
    """Also reads a file that nobody could watch, such as one behind a link to another folder."""
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere/keys.json"
    target.write_text(json.dumps({"keys": JWKS["keys"][:1]}))
    (tmp_path / "link.json").symlink_to(target)
    with Requests("--jwks", tmp_path / "link.json", "--jwt-issuer", "https://login.example", "--jwt-audience", "braid", token="controller") as server:
        old, new = (by_pyjwt(algorithm, claims(braid={"role": "controller"})) for algorithm in ["RS256", "ES256"])
        assert [server.send(token, "GET", "/v1/tables")[0] for token in [old, new]] == [200, 401]
        target.write_text(json.dumps({"keys": JWKS["keys"][1:]}))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: [server.send(token, "GET", "/v1/tables")[0] for token in [old, new]] == [401, 200])


def test_an_expired_token_ends_its_stream(tmp_path):
    with TokenServer(tmp_path, "--test-mode", "--jwt-leeway", 300) as server:
        token = by_pyjwt("ES256", claims())
        stream = server.stream(token)
        assert server.send("controller", "PUT", "/v1/test/clock", {"advance": 600})[0] == 200
        assert server.status(token) == 200, "the leeway"
        assert server.send("controller", "PUT", "/v1/test/clock", {"advance": 301})[0] == 200
        stream.read()
        assert server.status(token) == 401


@pytest.mark.parametrize("keys, reason", [
    ("[]", "must be a JSON Web Key Set"), ('{"keys": []}', "has no key for signatures"), ("{", "is not valid JSON"),
    ('{"keys": [], "keys": []}', "is not valid JSON"),
    (json.dumps({"keys": [jwk(SMALL_RSA)]}), "key 0 is no valid public key"),
    (json.dumps({"keys": [jwk(RSA) | {"d": "AQ"}]}), "key 0 is secret"),
    (json.dumps({"keys": [{"kty": "oct", "k": "AQ"}]}), "key 0 is secret"),
    (json.dumps({"keys": [jwk(RSA, alg="ES256")]}), "does not fit"),
    (json.dumps({"keys": [jwk(EC) | {"y": encoded(bytes(32))}]}), "key 0 is no valid public key"),
    (json.dumps({"keys": [jwk(EC), jwk(ED)]}), "each needs a \"kid\""),
    (json.dumps({"keys": [jwk(EC, kid="a"), jwk(ED, kid="a")]}), "each needs a \"kid\""),
    (json.dumps({"keys": [jwk(RSA, use="enc")]}), "has no key for signatures"),
])
def test_wrong_key_files(tmp_path, keys, reason):
    file = tmp_path / "keys.json"
    file.write_text(keys)
    run = subprocess.run([BINARY, "serve", "--port", "0", "--database", ":memory:", "--jwks", file], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and reason in run.stderr, run.stderr


@pytest.mark.parametrize("secret", ["", "short", "two words of at least 32 characters", f"{SECRET}\n" * 3, "é" * 40])
def test_wrong_secret_files(tmp_path, secret):
    file = tmp_path / "secret"
    file.write_text(secret)
    run = subprocess.run([BINARY, "serve", "--port", "0", "--database", ":memory:", "--jwt-secret-file", file], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and f"The secret file {file}" in run.stderr, run.stderr
    assert secret == "" or secret[:20] not in run.stderr.replace(str(file), ""), "the secret is not in the log"


def test_two_secrets(tmp_path):
    """While a secret is being replaced, both are accepted."""
    other = SECRET[::-1]
    with TokenServer(tmp_path) as server:
        token = signed(HS256, claims(), other)
        assert server.status(token) == 401
        server.write(server.secret, f"{other}\n{SECRET}\n")
        wait_until(lambda: server.status(token) == 200)
        assert server.status(signed(HS256, claims())) == 200


# MARK: Roles by other claims


def test_mapped_roles(tmp_path):
    rules = ["controller:groups=admins", "participant:/realm_access/roles=editor", "participant:scope=write", "viewer:sub"]
    with TokenServer(tmp_path, *[word for rule in rules for word in ["--jwt-role", rule]]) as server:
        for number, (changes, role) in enumerate([
            ({}, "viewer"), ({"groups": ["staff"]}, "viewer"), ({"groups": "admins"}, "controller"), ({"groups": ["staff", "admins"]}, "controller"),
            ({"realm_access": {"roles": ["editor"]}}, "participant"), ({"scope": "read write"}, "participant"), ({"scope": "rewrite"}, "viewer"),
            ({"groups": "not admins"}, "viewer"), ({"groups": ["admins"], "braid": {"role": "viewer"}}, "viewer"),
        ]):
            server.status(signed(HS256, claims(**{"braid": None} | changes)), f"case-{number}")

            def logged():
                return [line["role"] for line in server.lines("request") if line["path"] == f"/v1/sessions/case-{number}"]

            wait_until(logged)
            assert logged() == [role], changes


@pytest.mark.parametrize("rule", ["", "groups=admins", "admin:groups=x", "viewer:", "viewer:=x", "viewer:groups=", "viewer:/a~2=x"])
def test_wrong_rules(rule):
    run = subprocess.run([BINARY, "serve", "--jwks", "/nowhere", "--jwt-role", rule], capture_output=True, text=True)
    assert run.returncode == 64, run.stderr


def test_another_name_of_the_claim(tmp_path):
    with TokenServer(tmp_path, "--jwt-claim", "https://app.example/braid") as server:
        assert server.status(signed(HS256, claims(braid=None) | {"https://app.example/braid": {"role": "viewer"}})) == 200
        assert server.status(signed(HS256, claims())) == 401


def test_options_that_need_keys():
    for options in [["--jwt-issuer", "x"], ["--jwt-audience", "x"], ["--jwt-role", "viewer:sub"], ["--jwt-claim", "x"]]:
        run = subprocess.run([BINARY, "serve", "--port", "0", "--database", ":memory:", *options], capture_output=True, text=True, timeout=60)
        assert run.returncode == 1 and "need the keys of JSON Web Tokens" in run.stderr, run.stderr
