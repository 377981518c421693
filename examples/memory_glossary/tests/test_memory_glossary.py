"""The glossary on its own, and beside another memory."""

from pathlib import Path

from memory_glossary import Glossary
from memslot import Host
from memslot.testing import HostOpener, StackContract


class TestStack(StackContract):
    plugin = "memory-glossary"

    def remember(self, host: Host, memory_id: str, text: str) -> None:
        _write(host, text)


def test_a_term_is_explained_before_a_prompt_that_names_it(memslot_host: HostOpener) -> None:
    host = memslot_host("memory-glossary")
    _write(host, "HTX: the harbour tax export, which runs at 02:00", "blue deploy: a release without a migration")
    with host.run("Somebody says that HTX failed last night, what now?") as run:
        assert "GLOSSARY.md#L1-L1: HTX: the harbour tax export" in run.context
        assert "blue deploy" not in run.context
    with host.run("What did HTX export?", chat_type="group") as run:
        assert run.context == ""


def test_a_term_is_found_where_it_is_and_another_finds_nothing(tmp_path: Path) -> None:
    file, glossary = tmp_path / "docs" / "GLOSSARY.md", Glossary(tmp_path, "docs/GLOSSARY.md")
    assert not glossary.search("HTX").hits
    file.parent.mkdir()
    file.write_text("blue deploy: a release without a migration\n\n", encoding="utf-8")
    assert not glossary.search("HTX").hits
    assert not glossary.search("").hits
    (hit,) = glossary.search("deploys that are blue").hits
    assert (hit.score, hit.citation) == (0.9, "docs/GLOSSARY.md#L1-L1")


def _write(host: Host, *lines: str) -> None:
    folder = host.config.workspace(host.agent_id, host.places)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "GLOSSARY.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
