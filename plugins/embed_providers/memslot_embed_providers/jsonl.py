"""Batch jobs as files: requests written line by line, results read line by line."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from memslot import InputTooLargeError, ProviderError, one_line

from memslot_embed_providers.failures import message_of
from memslot_embed_providers.service import Service
from memslot_embed_providers.vectors import Floats, read_rows

MAX_REQUESTS = 50_000
Results = dict[str, "Floats[float] | str"]


@contextmanager
def written(service: Service, lines: Iterable[Mapping[str, Any]], *, max_bytes: int) -> Iterator[IO[bytes]]:
    """A private temporary file with a line for each request, gone afterwards."""
    with tempfile.TemporaryFile(prefix="memslot-") as file:
        for number, line in enumerate(lines):
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            if number >= MAX_REQUESTS or file.tell() > max_bytes:
                raise InputTooLargeError(f"{service} takes {MAX_REQUESTS} requests and {max_bytes} bytes in one job")
        file.seek(0)
        yield file


def parsed(service: Service, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The records of a results file; a line that is none ends it with an error."""
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
    """A result line as OpenAI and Voyage write it: the vector, or what went wrong with this one text."""
    response = record.get("response")
    if isinstance(response, dict) and response.get("status_code") == 200:
        return vector_or_sentence(service, lambda: read_rows(service, response.get("body"), 1)[0])
    told = message_of(record.get("error"))
    if not told and isinstance(response, dict):
        told = message_of(response.get("body")) or message_of(response)
    return sentence(service, told)


def vector_or_sentence(service: Service, read: Any) -> Floats[float] | str:
    """A broken vector spoils its own line, not the job."""
    try:
        vector: Floats[float] = read()
    except ProviderError as error:
        return str(error)
    return vector


def sentence(service: Service, told: str) -> str:
    return service.hide(one_line(told)) or "it failed without a reason"
