"""Every page: what it shows, that every link leads somewhere, and that no note becomes part of a page's own HTML."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from memslot import Places, SessionStore
from memslot_inspector.app import READS
from memslot_inspector.pages.browse import PAGE_SIZE

from tests.inspected_home import KEY, MEMORY_IDS, TOKEN, WAIT, environment
from tests.plugins.inspector.conftest import Browser

MOST_PAGES = 400


class Reader(HTMLParser):
    """The links of a page, its texts, and what must not be in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.text = ""
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("iframe", "object", "embed", "style", "base", "frame", "applet"):
            self.faults.append(tag)
        if tag == "script" and given.get("src") != "/static/app.js":
            self.faults.append(f"script {given}")
        if tag == "img" and not str(given.get("src")).startswith("/static/"):
            self.faults.append(f"img {given}")
        self.faults += [f"{tag} {name}" for name in given if name.startswith("on") or name in ("style", "srcdoc")]
        for name in ("href", "action", "src"):
            address = given.get(name)
            if address is None:
                continue
            if address.startswith(("http://", "https://")) and tag == "a":
                if "noopener" not in str(given.get("rel")):
                    self.faults.append(f"{tag} {address}")
            elif not address.startswith(("/", "#")):
                self.faults.append(f"{tag} {name}={address}")
            elif name == "href" and tag == "a" and address.startswith("/"):
                self.links.append(address)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def test_every_link_leads_to_a_page_in_which_no_note_is_markup(browser: Browser) -> None:
    seen: set[str] = set()
    asked = ("who+keeps+the+marmalade+ledger%3F", "the+token+of+the+pager")
    waiting = deque(["/", "/?q=marmalade+script", "/?q=pager+token", *(f"/agent?prompt={each}" for each in asked)])
    seen.update(waiting)
    while waiting and len(seen) < MOST_PAGES:
        address = waiting.popleft()
        answer = browser.get(address)
        assert answer.status_code == 200, f"{address}: {answer.status_code} {answer.text[:300]}"
        page = read(answer.text)
        assert page.faults == [], address
        assert KEY not in answer.text, f"{address} shows a secret"
        assert TOKEN[:12] not in answer.text, f"{address} shows a secret"
        for link in page.links:
            target = urlsplit(urljoin(address, link))._replace(fragment="").geturl()
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    assert {urlsplit(each).path for each in seen} == READS.keys(), "some page has no link to it"


def test_search_shows_where_why_and_what_was_dropped(browser: Browser) -> None:
    page = read(browser.get("/?q=PostgreSQL berth plan").text).text
    assert "MEMORY.md" in page
    assert "lines 1–" in page
    for part in ("words", "meaning", "evidence", "decay"):
        assert part in page
    assert "considered and dropped" in page
    assert "hybrid · universal" in page
    details = browser.get("/?q=PostgreSQL berth plan&in=memory-lancedb").text
    assert "<dt>found by</dt>" in details
    assert "<dt>score</dt>" not in details, "a number of its own beside the score that is shown"


def test_search_of_a_stack_can_be_limited_to_one_memory(browser: Browser) -> None:
    both = browser.get("/?q=tea over coffee").text
    assert "ltm/" in both
    assert "MEMORY.md" in both
    one = read(browser.get("/?q=tea over coffee&in=memory-lancedb").text)
    assert not any("memory-core" in link for link in one.links if link.startswith("/browse/item"))
    assert any("ltm%2F" in link for link in one.links)


def test_a_weak_match_is_marked(browser: Browser) -> None:
    page = read(browser.get("/?q=zylophantic quibberish").text).text
    assert "weak" in page


def test_a_part_is_sent_to_a_script_without_the_frame(browser: Browser) -> None:
    part = browser.get("/?q=tea", **{"X-Memslot-Part": "tab-1"}).text
    assert part.startswith('<div id="results"')
    assert "<nav" not in part


def test_the_first_page_with_its_assets_is_small(browser: Browser) -> None:
    answers = [browser.get(path) for path in ("/", "/static/app.js", "/static/style.css", "/static/icon.svg")]
    assert sum(len(answer.content) for answer in answers) <= 100 * 1000


def test_what_an_agent_gets_is_what_run_prints(browser: Browser) -> None:
    import json

    from tests.inspected_home import run

    prompt = "what do we use for the berth plan?"
    told = json.loads(run(browser.server.home, "run", prompt, "--json"))
    page = read(browser.get(f"/agent?prompt={prompt}").text).text
    assert told["context"] in page
    assert told["systemPrompt"] in page
    for tool in told["tools"]:
        assert tool["name"] in page
    assert "tokens in all" in page


def test_a_prompt_may_be_longer_than_an_address(browser: Browser) -> None:
    prompt = "Что мы решили о плане причалов? " * 4000
    answer = browser.post("/agent", {"prompt": prompt, "chat": "direct"})
    assert answer.status_code == 200
    assert prompt.strip() in read(answer.text).text


def test_a_memory_can_be_turned_off_to_see_the_difference(browser: Browser) -> None:
    page = browser.get("/agent?prompt=what do we use for the berth plan?&without=memory-lancedb").text
    assert '<span class="removed"><span class="gutter">-</span><span>memory_recall' in page
    assert "Without memory-lancedb" in page
    still = browser.get("/").text
    assert "memory-lancedb" in still, "the host of the pages lost the memory"


def test_all_memories_can_be_turned_off_without_a_warning(browser: Browser) -> None:
    page = browser.get("/agent?prompt=tea or coffee?&without=memory-core&without=memory-lancedb").text
    assert "Without memory-core, memory-lancedb" in page
    assert 'class="notice' not in page


def test_a_group_chat_is_given_less(browser: Browser) -> None:
    direct = read(browser.get("/agent?prompt=tea or coffee?&chat=direct").text).text
    group = read(browser.get("/agent?prompt=tea or coffee?&chat=group").text).text
    assert "I prefer tea over coffee" in direct
    assert "I prefer tea over coffee" not in group


def test_looking_at_what_an_agent_gets_leaves_no_session_and_captures_nothing(browser: Browser) -> None:
    before = browser.get("/sessions").text.count("/sessions/transcript")
    items = browser.get("/browse?memory=memory-lancedb").text.count("/browse/item")
    browser.get("/agent?prompt=Remember that I always prefer the window seat on trains.")
    assert browser.get("/sessions").text.count("/sessions/transcript") == before
    assert browser.get("/browse?memory=memory-lancedb").text.count("/browse/item") == items


def test_browsing_has_notes_a_time_line_and_a_table(browser: Browser) -> None:
    notes = read(browser.get("/browse").text).text
    assert "Days" in notes
    assert "MEMORY.md" in notes
    table = read(browser.get("/browse?memory=memory-lancedb").text).text
    for word in ("category", "importance", "origin", "age", "preference", "harbour-1"):
        assert word in table


def test_a_list_is_filtered_by_name_and_category(browser: Browser) -> None:
    notes = read(browser.get("/browse?find=PROJ").text)
    assert [link for link in notes.links if "/browse/item" in link] == [
        "/browse/item?memory=memory-core&path=memory%2Fprojects.md"
    ]
    decisions = read(browser.get("/browse?memory=memory-lancedb&find=decision").text)
    assert "We decided to use PostgreSQL" in decisions.text
    assert "I prefer tea over coffee." not in decisions.text
    part = browser.get("/browse?find=nothing-of-that-name", **{"X-Memslot-Part": "tab-1"}).text
    assert part.startswith('<div id="items"')
    assert "0 matches" in part


@pytest.fixture
def many_notes(browser: Browser) -> Iterator[None]:
    files = [browser.server.workspace / "memory" / "many" / f"note-{number}.md" for number in range(PAGE_SIZE)]
    files[0].parent.mkdir()
    for file in files:
        file.write_text("A note.\n", encoding="utf-8")
    yield
    for file in files:
        file.unlink()


@pytest.mark.usefixtures("many_notes")
def test_the_first_page_of_many_notes_has_the_time_line(browser: Browser) -> None:
    page = browser.get("/browse").text
    assert ">More</a>" in page
    assert page.count('class="day"') == 30


def test_a_note_is_rendered_and_shown_as_source_at_a_line(browser: Browser) -> None:
    rendered = browser.get("/browse/item?memory=memory-core&path=memory/projects.md").text
    assert "<strong>berth planner</strong>" in rendered
    source = browser.get("/browse/item?memory=memory-core&path=memory/projects.md&line=3").text
    assert 'id="L3" value="3" class="chosen"' in source
    assert "**berth planner**" in source


def test_a_captured_memory_says_where_it_came_from(browser: Browser) -> None:
    page = read(browser.get(f"/browse/item?memory=memory-lancedb&path=ltm/{MEMORY_IDS[1]}").text)
    for word in ("preference", "0.8", "harbour-1", "5 d ago"):
        assert word in page.text
    assert "/sessions/transcript?id=harbour-1" in page.links


@pytest.fixture
def long_note(browser: Browser) -> Iterator[str]:
    """A note of six thousand lines, with one of half a million characters in it."""
    file = browser.server.workspace / "memory" / "long.md"
    lines = [f"Line {number} of the long log." for number in range(1, 6001)]
    lines[2499] = "x" * 500_000
    file.write_text("\n".join(lines), encoding="utf-8")
    yield "/browse/item?memory=memory-core&path=memory/long.md"
    file.unlink()


def test_a_long_note_is_shown_in_pages_that_every_line_can_be_reached_in(browser: Browser, long_note: str) -> None:
    first = browser.get(long_note)
    assert "Too long to be rendered" in first.text
    assert "Too long to be edited" in browser.get(f"{long_note}&view=edit").text
    seen: set[int] = set()
    address: str | None = long_note
    while address is not None:
        answer = browser.get(address)
        assert len(answer.content) < 1_000_000, "a page stays small"
        seen.update(int(number) for number in re.findall(r'id="L(\d+)"', answer.text))
        later = re.search(r'href="([^"]+)"[^>]*>Later lines', answer.text)
        address = unescape(later[1]) if later else None
    assert seen == set(range(1, 6001))
    place = browser.get(f"{long_note}&line=5432").text
    assert 'id="L5432" value="5432" class="chosen"><span>Line 5432 of' in place
    assert "Earlier lines" in place
    beyond = browser.get(f"{long_note}&line=60000")
    assert beyond.status_code == 404
    assert "ends before line" in beyond.text


def test_a_path_outside_the_memory_is_refused_in_one_sentence(browser: Browser) -> None:
    for path in ("../memslot.json5", "/etc/passwd", "memory/../../memslot.json5"):
        answer = browser.get(f"/browse/item?memory=memory-core&path={path}")
        assert answer.status_code in (400, 404)
        assert "root:" not in answer.text


def test_a_transcript_shows_what_was_recalled_and_captured(browser: Browser) -> None:
    page = read(browser.get("/sessions/transcript?id=harbour-1").text).text
    assert "Recalled before this prompt" in page
    assert "The harbour office closes at six." in page
    assert "I like short answers with the reason first." in page
    assert "<b>Noted.</b>" in page


def test_a_transcript_is_named_by_its_first_prompt(browser: Browser) -> None:
    page = browser.get("/sessions/transcript?id=harbour-1").text
    assert "<h1>What do I drink in the morning? I prefer tea over coffee.</h1>" in page
    assert "<code>harbour-1</code>" in page
    assert "2 messages" in page


def test_every_message_of_a_long_conversation_can_be_reached_from_the_last(browser: Browser) -> None:
    home = browser.server.home
    store = SessionStore.of_agent(Places.from_env(environment(home)), "main", browser.server.workspace)
    store.begin("long")
    store.append("long", [{"role": "user", "content": f"Message {number} of the long talk."} for number in range(1001)])
    address: str | None = "/sessions/transcript?id=long"
    seen: list[set[int]] = []
    while address is not None:
        page = browser.get(address).text
        seen.append({int(number) for number in re.findall(r'class="said"[^>]*>Message (\d+) of', page)})
        earlier = re.search(r'href="([^"]+)"[^>]*>Earlier messages', page)
        address = unescape(earlier[1]) if earlier else None
    assert 1000 in seen[0], "the last page comes first"
    assert set().union(*seen) == set(range(1001))
    assert "Later messages" in page
    store.delete("long")


def test_the_audit_links_to_the_place(browser: Browser) -> None:
    page = browser.get("/audit").text
    assert "duplicate" in page
    assert "path=memory%2Fchecks.md&amp;line=" in page


def test_the_audit_links_to_every_place_of_a_finding_and_names_memories_without_one(browser: Browser) -> None:
    passage = "The lock keeper wants to be called by radio at least one hour before a tow arrives at the outer gate."
    notes = [browser.server.workspace / "memory" / f"copy-{number}.md" for number in range(9)]
    for note in notes:
        note.write_text(f"# Copy\n\n{passage}\n", encoding="utf-8")
    page = browser.get("/audit").text
    for note in notes:
        assert f"path=memory%2F{note.name}&amp;line=" in page
        note.unlink()
    assert "<summary>3 more</summary>" in page
    assert "Without an audit: memory-lancedb." in page


def test_headings_of_a_note_follow_the_heading_of_its_page(browser: Browser) -> None:
    page = browser.get("/browse/item?memory=memory-core&path=MEMORY.md").text
    assert "<h2>Long-lived notes</h2>" in page
    assert "<h3>Me</h3>" in page


def test_pictures_draw_growth_and_a_map_with_texts(browser: Browser) -> None:
    for memory in ("memory-core", "memory-lancedb"):
        for by in ("source", "age"):
            page = browser.get(f"/pictures?memory={memory}&by={by}").text
            assert page.count("<circle") >= 10
            assert 'class="stroke"' in page
    assert "We decided to use PostgreSQL" in page
    assert "Nothing is counted" in page


def test_the_doctor_says_what_to_do(browser: Browser) -> None:
    deadline = time.monotonic() + WAIT  # notes of other tests may be on their way into the index
    while "memory-core owns the slot" not in (page := read(browser.get("/settings/doctor").text).text):
        assert time.monotonic() < deadline, page
    assert "embeddings" in page


ODD = ("", "\0", "a\0b", "../../etc/passwd", "/etc/passwd", "..\\x", "%2e%2e%2f", "x" * 5000, "-1", "9" * 30, "'\"<>&")
ODD += ("\r\nSet-Cookie: a=b", "ltm/' OR 1=1 --", "[]", "\u202e", "~/.ssh", "http://x", "\ufffd")
PARAMETERS = {
    "/": ("q", "in"),
    "/browse": ("memory", "cursor"),
    "/browse/item": ("memory", "path", "view", "line"),
    "/browse/forget": ("memory", "path"),
    "/browse/history": ("memory",),
    "/sessions/transcript": ("id",),
    "/pictures": ("memory", "by"),
    "/settings/plugin": ("id",),
}


@pytest.mark.parametrize("path", PARAMETERS)
@pytest.mark.parametrize("memory", ["memory-core", "memory-lancedb"])
def test_odd_values_are_answered_or_refused_in_one_sentence(browser: Browser, path: str, memory: str) -> None:
    for name in PARAMETERS[path]:
        for value in ODD:
            answer = browser.get(f"{path}?{urlencode({'memory': memory, 'path': 'MEMORY.md', name: value})}")
            assert answer.status_code in (200, 400, 404), f"{name}={value!r}: {answer.status_code}"
            assert "set-cookie" not in answer.headers
            page = read(answer.text)
            assert page.faults == [], f"{name}={value!r}"
            assert "root:" not in page.text


def test_an_address_that_leads_nowhere_has_the_menu(browser: Browser) -> None:
    answer = browser.get("/nothing")
    assert answer.status_code == 404
    assert "/settings" in read(answer.text).links


@pytest.mark.parametrize(
    "address", ["/browse?memory=nothing", "/browse/history?memory=memory-core", "/settings/plugin?id=x"]
)
def test_what_is_not_there_is_said_in_one_sentence(browser: Browser, address: str) -> None:
    answer = browser.get(address)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert "Traceback" not in answer.text
