"""vec1 past the size where comparing all is quick: what it still finds, and when it is trained."""

from __future__ import annotations

import functools
import re
import sysconfig
from pathlib import Path
from typing import Any

import numpy
import pytest
from memslot_memory_core.index.vectors.vec1 import Vec1Engine


def trained(kit: Any, rows: Any, dims: int) -> Any:
    index = kit.index("vec1", dims, make=lambda table: Vec1Engine(table, trained_from=1))
    index.write([row.tobytes() for row in rows])
    assert index.engine.maintain(index.db) is True
    return index


def recall(index: Any, rows: Any, queries: Any, limit: int = 24) -> float:
    """How many of the nearest rows are found; every cosine that is given must be exact."""
    found = 0
    for query in queries:
        cosines = rows @ query
        nearest = set((numpy.argpartition(-cosines, limit)[:limit] + 1).tolist())
        hits = index.search(query.tobytes(), limit)
        assert [cosine for _, cosine in hits] == pytest.approx([cosines[rowid - 1] for rowid, _ in hits], abs=1e-5)
        assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
        found += len(nearest & {rowid for rowid, _ in hits})
    return found / (limit * len(queries))


def unit(rows: Any) -> Any:
    return (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")


def clusters(count: int, dims: int, seed: int = 0, around: int = 300) -> tuple[Any, Any]:
    """Rows around some centres, wide enough that neighbourhoods overlap, and queries between them."""
    random = numpy.random.default_rng(seed)
    centres = random.standard_normal((around, dims))
    rows = centres[random.integers(0, around, count)] + 1.2 * random.standard_normal((count, dims))
    queries = centres[random.integers(0, around, 60)] + 1.2 * random.standard_normal((60, dims))
    return unit(rows), unit(queries)


@functools.cache
def real_text() -> tuple[Any, Any]:
    """Embeddings of paragraphs of Python's own library, and of some first sentences as queries."""
    universal = pytest.importorskip("memslot_embed_providers.universal.provider")
    paragraphs: dict[str, None] = {}
    for file in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py")):
        if "site-packages" in file.parts or "lib2to3" in file.parts:
            continue
        text = file.read_text(encoding="utf-8", errors="ignore")
        parts = (part for part in re.split(r"\n\s*\n", text) if 12 <= len(part.split()) <= 20)
        # A text without letters has no direction.
        paragraphs.update(dict.fromkeys(part for part in parts if re.search("[a-z]", " ".join(part.split()[:9]))))
        if len(paragraphs) > 10_200:
            break
    texts = list(paragraphs)
    provider = universal.UniversalProvider()
    rows = numpy.concatenate([provider.embed_documents(texts[at : at + 1000]) for at in range(0, 10_000, 1000)])
    queries = provider.embed_documents([" ".join(text.split()[:9]) for text in texts[10_000:10_200]])
    return unit(rows), unit(queries)


def test_a_trained_table_finds_the_nearest_of_real_text(kit: Any) -> None:
    """With a fifth of the rows from which on a table is trained by itself; the bar of .98 is for those sizes."""
    rows, queries = real_text()
    index = trained(kit, rows, 512)

    assert index.engine._groups(index.db) == 200
    assert recall(index, rows, queries) >= 0.95


def test_a_trained_table_finds_the_nearest_of_clusters(kit: Any) -> None:
    rows, queries = clusters(24_000, 48)
    index = trained(kit, rows, 48)

    assert index.engine._groups(index.db) == 308
    assert recall(index, rows, queries) >= 0.98


def test_rows_that_come_after_the_training_are_found_and_removed_ones_are_not(kit: Any) -> None:
    rows, _ = clusters(9000, 32)
    index = trained(kit, rows, 32)
    strangers, _ = clusters(500, 32, seed=7)
    new = index.write([row.tobytes() for row in strangers])
    index.write(remove=range(1, 500))

    for number, row in enumerate(strangers[:100]):
        assert index.search(row.tobytes(), 3)[0] == (new[number], 1.0)
    for row in rows[:100]:
        assert min(rowid for rowid, _ in index.search(row.tobytes(), 24)) >= 500


def test_a_wish_for_many_rows_is_answered_exactly(kit: Any) -> None:
    rows, queries = clusters(9000, 16)
    index = trained(kit, rows, 16)

    index.check(queries[0].tobytes(), 3000)
    assert len(index.search(queries[0].tobytes(), 20_000)) == 9000


def test_training_waits_for_its_size_and_comes_again_when_the_table_has_grown(kit: Any) -> None:
    index = kit.index("vec1", 8, make=lambda table: Vec1Engine(table, trained_from=1100))
    rows = kit.some(5000, 8)
    maintain = lambda: index.engine.maintain(index.db)  # noqa: E731

    index.write(rows[:1000])
    assert (maintain(), index.engine._groups(index.db)) == (False, 0)
    index.write(rows[1000:1100])
    assert (maintain(), index.engine._groups(index.db)) == (True, 66)
    assert maintain() is False
    index.write(rows[1100:4300])
    assert maintain() is False
    index.write(rows[4300:4400])
    assert (maintain(), index.engine._groups(index.db)) == (True, 132)
    assert index.search(rows[1], 24)[0] == (2, 1.0)


def test_a_table_that_has_become_small_is_exact_again(kit: Any) -> None:
    index = kit.index("vec1", 8, make=lambda table: Vec1Engine(table, trained_from=1100))
    rows = kit.some(1200, 8)
    ids = index.write(rows)
    index.engine.maintain(index.db)
    index.write(remove=ids[500:])

    assert (index.engine.maintain(index.db), index.engine._groups(index.db)) == (True, 0)
    assert index.engine.maintain(index.db) is False
    index.check(rows[1], 24)


def test_a_table_of_equal_rows_can_be_trained(kit: Any) -> None:
    index = kit.index("vec1", 8, make=lambda table: Vec1Engine(table, trained_from=1100))
    index.write([kit.pack([1, 2, 3, 4, 5, 6, 7, 8])] * 1500)

    assert index.engine.maintain(index.db) is True
    assert [rowid for rowid, _ in index.search(kit.pack([1, 2, 3, 4, 5, 6, 7, 8]), 3)] == [1, 2, 3]


def test_a_reader_in_an_older_snapshot_does_not_notice_the_training(kit: Any) -> None:
    index = kit.index("vec1", 8, make=lambda table: Vec1Engine(table, trained_from=1100))
    rows = kit.some(1500, 8)
    index.write(rows)
    old = index.connect()
    old.execute("BEGIN")
    index.check(rows[3], 24, old)
    index.engine.maintain(index.db)

    index.check(rows[3], 24, old)
    index.write(remove=[4])
    index.check(rows[3], 24, old)
    old.execute("COMMIT")
    assert 4 not in dict(index.search(rows[3], 24, old))
    assert index.search(rows[8], 24, old)[0] == (9, 1.0)


def test_nobody_trains_before_it_pays() -> None:
    from memslot_memory_core.index.vectors.engine import VectorTable

    starts = {dims: Vec1Engine(VectorTable("vec_3", dims, "SELECT 1, x''"))._train_at for dims in (64, 256, 1536)}

    assert starts == {64: 800_000, 256: 200_000, 1536: 100_000}
