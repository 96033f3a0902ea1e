"""https: certificates are checked, and what is wrong with one is said."""

import ssl
import subprocess
import time

import pytest

from dreamlake.lakeshore.errors import DispatchError
from http_peer import Peer, reply, until


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of its own authority for 127.0.0.1, with its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lakeshore-test"]
    name = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", *kind, *name, "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return cert, key


@pytest.fixture
def secure(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    made = Peer(tls=context)
    made.script(reply({"now": 1.0}))
    yield made
    made.close()


def test_a_trusted_certificate_is_spoken_to_and_the_connection_kept(
    secure, connect, certificate, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    plane = connect(secure.url, token="dlk_secret")
    for _ in range(5):
        assert plane.now() == 1.0
    assert secure.connections == 1
    text = b"much of the same " * 100_000
    secure.script(reply({"state": "succeeded", "result_blob": text}))
    assert plane.result("a") == text


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(secure, connect):
    began = time.monotonic()
    with pytest.raises(DispatchError, match=r"is not trusted \(self.signed certificate\).*SSL_CERT_FILE"):
        connect(secure.url, token="dlk_secret").now()
    assert time.monotonic() - began < 1
    assert secure.requests == []


def test_a_certificate_of_another_host_is_refused(secure, connect, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with pytest.raises(DispatchError, match="Hostname mismatch"):
        connect(secure.url.replace("127.0.0.1", "localhost")).now()
    assert secure.requests == []


def test_closing_ends_a_listener_over_tls(secure, connect, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    plane = connect(secure.url)
    told = reply({"cursors": {"done": 1}, "woken": []})
    secure.answer = lambda request: Peer.HANG if request.body["topics"]["done"] else told
    listener = plane.listen("done")
    listener.fileno()
    until(lambda: len(secure.requests) == 2)
    began = time.monotonic()
    listener.close()
    assert time.monotonic() - began < 2
