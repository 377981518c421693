"""The wire formats by name."""

from __future__ import annotations

from typing import Any

from memslot_wire.gemini_format import GeminiFormat
from memslot_wire.ollama_format import OllamaFormat
from memslot_wire.openai_format import OpenAIFormat
from memslot_wire.voyage_format import VoyageFormat

FORMATS: dict[str, Any] = {
    "openai": OpenAIFormat(),
    "gemini": GeminiFormat(),
    "voyage": VoyageFormat(),
    "ollama": OllamaFormat(),
}
