"""How four vendors' models stream a reply, and what a request to each of them holds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

_ids = itertools.count(1)


@dataclass(frozen=True)
class Call:
    """A tool that the model asks for, by the name that it has in the request."""

    name: str
    arguments: Mapping[str, Any]
    namespace: str = ""


@dataclass(frozen=True)
class Reply:
    """What the model says: a text, and the tools that it wants."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    tokens: int = 100
    """How long the model says that the request was."""


class Format(Protocol):
    """One vendor's wire format."""

    def tools(self, body: Mapping[str, Any]) -> dict[str, str]:
        """The names of the tools on offer, each with its namespace."""

    def stream(self, body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
        """The reply as server-sent events."""


def sse(tree: Any, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(tree, ensure_ascii=False)}\n\n".encode()


class AnthropicMessages:
    """Claude Code."""

    def tools(self, body: Mapping[str, Any]) -> dict[str, str]:
        return {tool["name"]: "" for tool in body.get("tools") or () if not tool.get("defer_loading")}

    def stream(self, body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
        usage = {"input_tokens": reply.tokens, "output_tokens": 1}
        message = {
            "id": f"msg_{next(_ids)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        yield sse({"type": "message_start", "message": message}, "message_start")
        blocks: list[tuple[dict[str, Any], dict[str, Any]]] = []
        if reply.text or not reply.calls:
            blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}))
        for call in reply.calls:
            head = {"type": "tool_use", "id": f"toolu_{next(_ids)}", "name": call.name, "input": {}}
            blocks.append((head, {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}))
        for index, (head, delta) in enumerate(blocks):
            yield sse({"type": "content_block_start", "index": index, "content_block": head}, "content_block_start")
            yield sse({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
            yield sse({"type": "content_block_stop", "index": index}, "content_block_stop")
        end = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
        yield sse({"type": "message_delta", "delta": end, "usage": {**usage, "output_tokens": 10}}, "message_delta")
        yield sse({"type": "message_stop"}, "message_stop")


class OpenAiResponses:
    """Codex."""

    def tools(self, body: Mapping[str, Any]) -> dict[str, str]:
        found: dict[str, str] = {}
        for tool in body.get("tools") or ():
            if tool.get("type") == "namespace":
                found |= {inner["name"]: tool["name"] for inner in tool["tools"]}
            elif "name" in tool:
                found[tool["name"]] = ""
        return found

    def stream(self, body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
        response = {"id": f"resp_{next(_ids)}", "object": "response", "model": body["model"]}
        items: list[dict[str, Any]] = []
        if reply.text or not reply.calls:
            part = {"type": "output_text", "text": reply.text, "annotations": []}
            message = {"type": "message", "id": f"msg_{next(_ids)}", "role": "assistant"}
            items.append({**message, "status": "completed", "content": [part]})
        for call in reply.calls:
            names = {"name": call.name, **({"namespace": call.namespace} if call.namespace else {})}
            item = {"type": "function_call", "id": f"fc_{next(_ids)}", "call_id": f"call_{next(_ids)}", **names}
            items.append({**item, "arguments": json.dumps(call.arguments), "status": "completed"})
        yield sse({"type": "response.created", "response": {**response, "status": "in_progress"}}, "response.created")
        for index, item in enumerate(items):
            for event in ("response.output_item.added", "response.output_item.done"):
                yield sse({"type": event, "output_index": index, "item": item}, event)
        usage = {
            "input_tokens": reply.tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.tokens + 10,
        }
        done = {**response, "status": "completed", "output": items, "usage": usage}
        yield sse({"type": "response.completed", "response": done}, "response.completed")


class OpenAiChat:
    """opencode and qwen-code."""

    def tools(self, body: Mapping[str, Any]) -> dict[str, str]:
        return {tool["function"]["name"]: "" for tool in body.get("tools") or ()}

    def stream(self, body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
        head = {"id": f"chatcmpl-{next(_ids)}", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            return sse({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        yield chunk({"role": "assistant", "content": reply.text})
        for index, call in enumerate(reply.calls):
            function = {"name": call.name, "arguments": json.dumps(call.arguments)}
            told = {"index": index, "id": f"call_{next(_ids)}", "type": "function", "function": function}
            yield chunk({"tool_calls": [told]})
        yield chunk({}, "tool_calls" if reply.calls else "stop")
        usage = {"prompt_tokens": reply.tokens, "completion_tokens": 10, "total_tokens": reply.tokens + 10}
        yield sse({**head, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"


class GeminiContent:
    """Gemini CLI."""

    def tools(self, body: Mapping[str, Any]) -> dict[str, str]:
        return {
            function["name"]: ""
            for tool in body.get("tools") or ()
            for function in tool.get("functionDeclarations", ())
        }

    def stream(self, body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
        yield sse(self.answer(reply))

    def answer(self, reply: Reply) -> dict[str, Any]:
        """A whole answer: what comes in one event, or to a request that is not streamed."""
        parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text or not reply.calls else []
        for call in reply.calls:
            parts.append({"functionCall": {"id": f"call_{next(_ids)}", "name": call.name, "args": call.arguments}})
        usage = {"promptTokenCount": reply.tokens, "candidatesTokenCount": 10, "totalTokenCount": reply.tokens + 10}
        content = {"role": "model", "parts": parts}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
