"""JSON Lines files of batch jobs: requests and results."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from memslot import InputTooLargeError, ProviderError, one_line

from memslot_embed_providers.error_mapping import message_of
from memslot_embed_providers.service import Service
from memslot_embed_providers.vectors import Floats, read_rows

MAX_REQUESTS = 50_000
Results = dict[str, "Floats[float] | str"]


@contextmanager
def write_requests(service: Service, lines: Iterable[Mapping[str, Any]], *, max_bytes: int) -> Iterator[IO[bytes]]:
    """A private temporary file with one line per request, deleted afterwards."""
    with tempfile.TemporaryFile(prefix="memslot-") as file:
        for number, line in enumerate(lines):
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            if number >= MAX_REQUESTS or file.tell() > max_bytes:
                raise InputTooLargeError(
                    f"{service} accepts at most {MAX_REQUESTS} requests and {max_bytes} bytes per job"
                )
        file.seek(0)
        yield file


def read_records(service: Service, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The records of a results file; raises for an invalid line."""
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise ProviderError(f"{service} sent results with a line that is not a JSON object")
        yield record


def result_of(service: Service, record: Mapping[str, Any]) -> Floats[float] | str:
    """A result line of OpenAI or Voyage: the vector, or the error for this text."""
    response = record.get("response")
    if isinstance(response, dict) and response.get("status_code") == 200:
        return vector_or_error(service, lambda: read_rows(service, response.get("body"), 1)[0])
    told = message_of(record.get("error"))
    if not told and isinstance(response, dict):
        told = message_of(response.get("body")) or message_of(response)
    return sentence(service, told)


def vector_or_error(service: Service, read: Any) -> Floats[float] | str:
    """An invalid vector fails its own line, not the job."""
    try:
        vector: Floats[float] = read()
    except ProviderError as error:
        return str(error)
    return vector


def sentence(service: Service, told: str) -> str:
    return service.hide(one_line(told)) or "no reason given"
