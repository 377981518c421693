"""Who may talk to the inspector."""

from __future__ import annotations

import http.client
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest
from memslot_inspector.access import Access
from memslot_inspector.app import POSTS, READS

from tests.inspected_home import WAIT, Server, serving
from tests.plugins.inspector.conftest import Browser, opened

NOTE = "MEMORY.md"


def test_the_link_works_once(home: Path) -> None:
    with serving(home) as server:
        with opened(server) as browser:
            assert "<h1>Search</h1>" in browser.get("/").text
            assert browser.get(server.link).status_code == 200, "the browser that has the cookie may open it again"
        again = httpx2.get(server.link, timeout=WAIT)
        assert again.status_code == 403
        assert "once" in again.text
        assert not again.cookies


def test_a_wrong_or_old_token_opens_nothing(home: Path, server: Server) -> None:
    with serving(home) as other:
        old = other.link.partition("token=")[2]
    for token in ("", "x", old, "%00", "é"):
        answer = httpx2.get(f"{server.address}/open", params={"token": token}, timeout=WAIT)
        assert answer.status_code == 403
        assert not answer.cookies


def test_the_cookie_is_strict_and_out_of_reach_for_scripts(home: Path) -> None:
    with serving(home) as server:
        cookie = httpx2.get(server.link, timeout=WAIT).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize("other", ['theme={"a":1}', "list=[1, 2]", "a", "=", 'quote="', "memslot-ui-{port}=old"])
def test_cookies_of_servers_on_other_ports_lock_nobody_out(browser: Browser, server: Server, other: str) -> None:
    own = "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items())
    other = other.replace("{port}", str(server.port))
    for cookie in (f"{other}; {own}", f"{own}; {other}"):
        assert httpx2.get(server.address, headers={"Cookie": cookie}, timeout=WAIT).status_code == 200


@pytest.mark.parametrize("path", [*READS, "/static/app.js", "/static/style.css", "/nothing"])
def test_nothing_is_shown_without_the_cookie(server: Server, path: str) -> None:
    for cookie in ("", f"memslot-ui-{server.port}=", f"memslot-ui-{server.port}=wrong", '"; bad=\x01'):
        answer = httpx2.get(server.address + path, headers={"Cookie": cookie}, timeout=WAIT)
        assert answer.status_code == 403
        assert "Ada" not in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""]
)
def test_a_rebinding_host_name_is_refused(browser: Browser, server: Server, host: str) -> None:
    answer = browser.get("/", Host=host.format(port=server.port))
    assert answer.status_code == 421
    assert "Host" in answer.text


def test_two_host_headers_are_refused(browser: Browser, server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
    connection.putrequest("GET", "/", skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{server.port}")
    connection.putheader("Host", "evil.example")
    connection.putheader("Cookie", "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items()))
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)
    connection.close()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_can_neither_read_nor_write(browser: Browser, server: Server, origin: str) -> None:
    origin = origin.format(port=server.port)
    assert browser.get("/", Origin=origin).status_code == 403
    before = (server.workspace / NOTE).read_bytes()
    answer = browser.post("/browse/remember", {"memory": "memory-core", "text": "Planted."}, Origin=origin)
    assert answer.status_code == 403
    assert (server.workspace / NOTE).read_bytes() == before
    assert "access-control-allow-origin" not in answer.headers


def test_requests_that_a_browser_calls_cross_site_are_refused(browser: Browser) -> None:
    for site in ("cross-site", "same-site"):
        assert browser.get("/", **{"Sec-Fetch-Site": site}).status_code == 403
    assert browser.get("/", **{"Sec-Fetch-Site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("path", POSTS)
def test_a_form_needs_an_origin_and_its_token(browser: Browser, server: Server, path: str) -> None:
    token = browser.form_token()
    without_origin = browser.client.post(path, data={"form-token": token})
    assert without_origin.status_code == 403
    for given in ({}, {"form-token": ""}, {"form-token": "wrong"}, {"form-token": "é"}):
        answer = browser.client.post(path, data=given, headers={"Origin": server.address})
        assert answer.status_code == 403
    in_the_address = f"{path}?{urlencode({'form-token': token})}"
    assert browser.client.post(in_the_address, headers={"Origin": server.address}).status_code == 403
    assert browser.client.post(path, json={"form-token": token}, headers={"Origin": server.address}).status_code == 403


@pytest.mark.parametrize("path", ["/browse/save", "/browse/remember", "/settings/save", "/settings/preview"])
def test_reading_never_writes(browser: Browser, path: str) -> None:
    assert browser.get(path).status_code == 405


def test_every_answer_forbids_what_pages_do_not_need(browser: Browser, server: Server) -> None:
    answers = [
        browser.get("/"),
        browser.get("/nothing"),
        browser.get("/static/app.js"),
        browser.get("/", Host="evil.example"),
        httpx2.get(server.address, timeout=WAIT),
        browser.get("/browse/item?memory=memory-core&path=../x"),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        for rule in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'"):
            assert rule in policy
        assert "unsafe" not in policy
        assert "data:" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_a_body_that_is_too_large_is_refused(browser: Browser) -> None:
    text = "x" * (6 * 1024 * 1024)
    answer = browser.post("/browse/remember", {"memory": "memory-core", "text": text})
    assert answer.status_code == 413

    def in_pieces() -> Iterator[bytes]:
        yield f"form-token={browser.form_token()}&memory=memory-core&text=".encode()
        for start in range(0, len(text), 2**16):
            yield text[start : start + 2**16].encode()

    form = {"Origin": browser.server.address, "Content-Type": "application/x-www-form-urlencoded"}
    answer = browser.client.post("/browse/remember", content=in_pieces(), headers=form)
    assert answer.status_code == 413, "a body without a length is as large as it is"


def test_a_look_at_the_link_by_another_method_does_not_use_it_up(home: Path) -> None:
    with serving(home) as server:
        assert httpx2.head(server.link, timeout=WAIT).status_code == 403
        assert httpx2.post(server.link, headers={"Origin": server.address}, timeout=WAIT).status_code == 403
        assert httpx2.get(server.link, timeout=WAIT).status_code == 200


def test_slow_clients_keep_nobody_waiting(home: Path) -> None:
    """Two hundred that never end their request, and twenty whose form never ends; then the server is told to stop."""
    with serving(home) as server, opened(server) as browser, ExitStack() as slow:
        cookie = "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items())
        start = f"HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.address}\r\nCookie: {cookie}\r\n"
        form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 900\r\n\r\nform-token=x"
        for number in range(220):
            client = slow.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=WAIT))
            client.sendall(
                f"POST /browse/remember {start}{form}".encode() if number < 20 else f"GET / {start}".encode()
            )
        for query in ("tea", "berth", "crane"):
            assert browser.get(f"/?q={query}").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT) == 0
        assert server.process.stderr is not None
        assert "Traceback" not in server.process.stderr.read()


def test_port_80_is_left_out_as_browsers_do() -> None:
    access = Access(80)
    assert {"127.0.0.1", "localhost", "127.0.0.1:80"} <= access.hosts
    assert "http://127.0.0.1" in access.origins
    assert "127.0.0.1" not in Access(8080).hosts


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # sends nothing: it asks for the route
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no other address")
        own = probe.getsockname()[0]
    with pytest.raises(OSError):
        socket.create_connection((own, server.port), timeout=5)


def test_a_taken_port_is_one_sentence(home: Path, server: Server) -> None:
    import subprocess
    import sys

    from tests.inspected_home import environment

    command = [sys.executable, "-m", "memslot", "ui", "--no-open", "--port", str(server.port)]
    done = subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{server.port}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
