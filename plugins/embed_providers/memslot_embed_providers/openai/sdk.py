"""OpenAI's SDK, held to our limits and speaking in our errors. Imports the SDK, and so is imported late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
from memslot import ProviderError, one_line

from memslot_embed_providers.failures import failure_of
from memslot_embed_providers.http import CarefulClient, Reply, failure_of_transport, limits, read_json
from memslot_embed_providers.service import Service

_NO_KEY = "none"  # the SDK wants one; a server without keys does not look at it
_SMALL_BYTES = 1024 * 1024


class Sdk:
    """Calls that give JSON or lines; the SDK neither retries nor follows redirects nor parses vectors."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client = openai.OpenAI(
            api_key=service.key or _NO_KEY,
            base_url=service.base_url,
            default_headers=dict(service.headers),
            max_retries=0,  # the host retries, and knows for how long
            http_client=CarefulClient(),
        )

    def json(self, opener: Callable[[openai.OpenAI], Any], *, seconds: float, room: int = _SMALL_BYTES) -> Any:
        """Make a call and read its answer."""
        with self._open(opener, seconds) as reply:
            return read_json(self._service, reply.headers, reply.read(room))

    def lines(self, opener: Callable[[openai.OpenAI], Any], *, seconds: float) -> Iterator[str]:
        """Make a call and read its answer line by line."""
        with self._open(opener, seconds) as reply:
            yield from reply.lines()

    def _open(self, opener: Callable[[openai.OpenAI], Any], seconds: float) -> Reply:
        outcome: Any
        try:
            outcome = opener(self._client.with_options(timeout=limits(seconds))).__enter__()
        except openai.APIStatusError as error:
            answer = error.response
            outcome = failure_of(self._service, answer.status_code, answer.headers, answer.text)
        except openai.APIConnectionError as error:
            outcome = failure_of_transport(self._service, error.__cause__ or httpx2.ReadTimeout("no answer"))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            outcome = failure_of_transport(self._service, error)
        except openai.OpenAIError as error:
            told = self._service.hide(one_line(str(error)))
            outcome = ProviderError(f"{self._service} cannot be asked: {told}")
        # Raised here, where the SDK's own error is not its context: that one may show a key.
        if isinstance(outcome, ProviderError):
            raise outcome
        return Reply(self._service, outcome.headers, outcome)
