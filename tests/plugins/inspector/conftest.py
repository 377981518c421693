"""One home and one `memslot ui` for a module, and a client that has opened its link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.inspected_home import WAIT, Server, fill_home, serving


@dataclass(frozen=True)
class Browser:
    """A client with the cookie, which sends what a browser sends."""

    client: httpx2.Client
    server: Server

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.client.get(path, headers=headers)

    def post(self, path: str, values: dict[str, str | list[str]], **headers: str) -> httpx2.Response:
        """Send a form from one of the inspector's own pages."""
        fields = {"form-token": self.form_token(), **values}
        return self.client.post(path, data=fields, headers={"Origin": self.server.address, **headers})

    def form_token(self) -> str:
        page = self.get("/settings").text
        return page.partition('name="form-token" value="')[2].partition('"')[0]

    def field(self, path: str, name: str) -> str:
        """The value of a hidden field on a page."""
        return self.get(path).text.partition(f'name="{name}" value="')[2].partition('"')[0]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    folder.chmod(0o700)
    fill_home(folder)
    return folder


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home) as running:
        yield running


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[Browser]:
    with opened(server) as found:
        yield found


class opened:  # noqa: N801  a context manager
    """Open a server's link, as its first browser does."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._client = httpx2.Client(base_url=server.address, timeout=WAIT)

    def __enter__(self) -> Browser:
        answer = self._client.get(self._server.link)
        assert answer.status_code == 200, answer.text
        return Browser(self._client, self._server)

    def __exit__(self, *_: object) -> None:
        self._client.close()
