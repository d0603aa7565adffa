"""Verifies signed requests, and the directory of their key, with http-message-signatures.

Reads JSON from standard input: the directory and the requests, as a site received them. Each request must
verify; changed in any covered part, it must not. Writes the number of requests.
"""

import base64
import json
import sys
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageVerifier,
    InvalidSignature,
    MappingKeyResolver,
    algorithms,
)

given = json.load(sys.stdin)


def verifier(jwks):
    keys = {}
    for jwk in jwks["keys"]:
        assert (jwk["kty"], jwk["crv"], jwk["use"]) == ("OKP", "Ed25519", "sig"), jwk
        x = base64.urlsafe_b64decode(jwk["x"] + "=" * (-len(jwk["x"]) % 4))
        keys[jwk["kid"]] = Ed25519PublicKey.from_public_bytes(x)
    resolver = MappingKeyResolver(public_keys=keys, private_keys={})
    return HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=resolver)


def request(url, headers):
    return SimpleNamespace(method="GET", url=url, headers=headers)


def fails(message, **options):
    try:
        verify(message, **options)
    except InvalidSignature:
        return True
    return False


site = verifier(json.loads(given["directory"]["body"]))


def verify(message, **options):
    return site.verify(message, **options)


# The directory.
headers = given["directory"]["headers"]
asked = request(given["directory"]["url"], {})
answer = SimpleNamespace(status_code=200, headers=headers, request=asked)
options = {
    "expect_tag": "http-message-signatures-directory",
    "require_components": ('"@authority";req', '"content-digest"'),
    "body": given["directory"]["body"].encode(),
}
assert len(verify(answer, **options)) == 1
assert headers["Content-Type"] == "application/http-message-signatures-directory+json"
elsewhere = SimpleNamespace(
    status_code=200, headers=headers, request=request("https://other.example/", {})
)
assert fails(elsewhere, **options), "a directory of another origin"
assert fails(answer, **{**options, "body": b"{}"}), "another body"

# The requests.
options = {
    "expect_tag": "web-bot-auth",
    "require_components": ("@authority", given["component"]),
}
for received in given["requests"]:
    url, headers = received["url"], received["headers"]
    results = verify(request(url, headers), **options)
    assert len(results) == 1, results
    parameters = results[0].parameters
    assert 0 < parameters["expires"] - parameters["created"] <= 86_400, parameters
    changes = {
        "signature-agent": headers["signature-agent"].replace("bot", "bad"),
        "signature-input": headers["signature-input"].replace("web-bot-auth", "x"),
        "signature": headers["signature"].replace(":", ":AAAA", 1),
    }
    for name, value in changes.items():
        assert value != headers[name], name
        assert fails(request(url, {**headers, name: value}), **options), name
    scheme, rest = url.split("://")
    assert fails(request(f"{scheme}://x{rest}", headers), **options), "another authority"
    expired = {**headers, "signature-input": headers["signature-input"].replace("expires=1", "expires=9")}
    assert fails(request(url, expired), **options), "another expiry"
print(len(given["requests"]))
