"""Redaction: secrets go, everything that only looks like one stays."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import find_secrets, redact, redact_lines
from memslot.redaction import names
from memslot.redaction.redact import REDACTED
from memslot.redaction.rules import RULES

A, B = "Ab3dEf6hIj9kLm2nOp5q", "rS8tUv1wXy4z"
# Written in two pieces, so that scanners of repositories do not take these for real ones.
SECRETS = {
    "openai": "sk-" + A + B,
    "openai project": "sk-proj-" + A + "_" + B + "-" + A,
    "anthropic": "sk-ant-api03-" + A + B + "-" + A,
    "google": "AIza" + "SyA" + A + B,
    "voyage": "pa-" + A + "_" + B + "-" + A,
    "hugging face": "hf_" + A + B + "Qr",
    "github": "ghp_" + (A + B + "Qrst")[:36],
    "github app": "ghs_" + (A + B + "Qrst")[:36],
    "github fine grained": "github_pat_" + A + "_" + A + B + A,
    "gitlab": "glpat-" + A,
    "slack bot": "xoxb-" + "123456789012-1234567890123-" + A,
    "npm": "npm_" + (A + B + "Qrst")[:36],
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + A + B,
    "aws": "AKIA" + "ABCDEFGH1JKLMNOP",
    "aws session": "ASIA" + "ABCDEFGH1JKLMNOP",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + A,
}
PRIVATE_KEY = "-----BEGIN {kind}PRIVATE KEY-----\nMIIEow" + A + "\n" + B + "\n-----END {kind}PRIVATE KEY-----"


@pytest.mark.parametrize("around", ["{}", "the key is {}.", 'key="{}"', "({})", "x\n{}\ny", "a={}&b=1", "Ключ: {}"])
def test_a_key_is_replaced_whole_wherever_it_stands(around: str) -> None:
    for kind, secret in SECRETS.items():
        result = redact(around.format(secret))
        assert REDACTED in result, kind
        assert not any(secret[i : i + 12] in result for i in range(len(secret) - 11)), kind


def test_only_the_key_goes() -> None:
    for kind, secret in SECRETS.items():
        assert redact(f"before ({secret}) after") == f"before ({REDACTED}) after", kind


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_is_replaced_whole(kind: str) -> None:
    block = PRIVATE_KEY.format(kind=kind)
    assert redact(f"before\n{block}\nafter") == f"before\n{REDACTED}\nafter"
    assert redact(f"before\n{block[:60]}") == f"before\n{REDACTED}"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer abcdef0123456789XYZ==", f"Authorization: Bearer {REDACTED}"),
        ("curl -H 'authorization: bearer abc.def-ghi_123~xyz'", f"curl -H 'authorization: bearer {REDACTED}'"),
        ("postgres://app:s3cr3t-pw@db.internal:5432/x", f"postgres://app:{REDACTED}@db.internal:5432/x"),
        ("https://user:hunter22@example.org/path", f"https://user:{REDACTED}@example.org/path"),
        ("redis://:hunter22@cache:6379/0", f"redis://:{REDACTED}@cache:6379/0"),
        ("amqp://u:p@ss@broker", f"amqp://u:{REDACTED}@broker"),
        ("password: hunter22", f"password: {REDACTED}"),
        ('"password": "hunter22"', f'"password": "{REDACTED}"'),
        ("PASSWORD=hunter22", f"PASSWORD={REDACTED}"),
        ("DB_PASSWORD=hunter22", f"DB_PASSWORD={REDACTED}"),
        ("api_key = 'abcdef123456'", f"api_key = '{REDACTED}'"),
        ("apiKey: abcdef123456", f"apiKey: {REDACTED}"),
        ("OPENAI_API_KEY=abcdef123456", f"OPENAI_API_KEY={REDACTED}"),
        ("access-token=abcdef123456;", f"access-token={REDACTED};"),
        ("client_secret: abcdef123456", f"client_secret: {REDACTED}"),
        ("pwd=abcdef123", f"pwd={REDACTED}"),
    ],
)
def test_what_follows_a_telling_word_is_replaced(text: str, clean: str) -> None:
    assert redact(text) == clean


INNOCENT = """\
The risk-management-and-compliance-team meets on Monday.
Use task-scheduling-with-priorities for that.
disk-encryption-recommended-settings are in the wiki.
sk-short is not a key.
We fly with SK-1234 to Oslo.
The sk- prefix marks a key of OpenAI.
Install scikit-learn, also known as sk-learn.
The pa-system in the hall is broken.
pa-rental-equipment-list-for-june is the file name.
hf_hub_download_with_progress is the function to call.
hf-transformers-training-loop is a folder.
npm-check-updates-and-install runs every night.
npm_config_registry_timeout_seconds is a variable.
pypi-publish-workflow-for-wheels is the name of the job.
ghp_short is not a token.
The github_pat prefix marks a fine-grained token.
glpat- is what GitLab's tokens begin with.
xoxo and kisses from grandma.
AIza is how Google's keys begin.
AKIA is how AWS access keys begin.
AKIABUT is not one, nor is ASIAN cuisine.
The word eyJ is base64 for an opening brace.
eyJhbGci alone is not a token.
My password is stored in the vault.
The password must have twelve characters.
Passwords: see the vault.
Password reset mails go out at noon.
The secret of good tea is fresh water.
Secrets are kept in the vault, not in Git.
Secret Santa: 24 Dec.
secret: none
pwd: /tmp
The api key rotates every ninety days.
api_key: null
Set api_key: "" to turn it off.
Call rotate_access_token() when it expires.
auth_token=$TOK
The bearer of this letter is my friend.
Use bearer authentication for this endpoint.
Bearer tokens are sent in a header.
https://example.org/path:with:colons/and@sign
https://example.org:8080/user@home
Mail bob@example.org about https://example.org.
ssh git@example.org:team/repo.git
The ratio was 3:4@noon.
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
The private key is in the safe.
commit 3f2a9c1e8b7d6054f3e2d1c0b9a8f7e6d5c4b3a2
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
id 550e8400-e29b-41d4-a716-446655440000
data:image/png;base64,iVBORw0KGgo=
Zürich, 東京 and Москва are cities.
tokens: 128000 in, 4096 out
x = a.b.c.d(e, f) / g
""".splitlines()


def test_fifty_innocent_lines_are_left_alone() -> None:
    assert len(set(INNOCENT)) >= 50
    assert [redact(line) for line in INNOCENT] == INNOCENT


@given(st.text(alphabet=st.characters(categories=["L", "Z", "Nd"]), max_size=200))
def test_plain_words_and_numbers_are_left_alone(text: str) -> None:
    assert REDACTED not in redact(text) or "bearer" in text.lower()


@given(
    st.lists(st.sampled_from([*SECRETS.values(), "word", " ", "\n", ":", "password: ", "://a:b@c"]), max_size=8).map(
        "".join
    )
)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


HOSTILE = {
    "dotted": "a.",
    "dashed": "a-",
    "plus": "a+b.",
    "jwt starts": "eyJ-",
    "jwt parts": "eyJaaaaaaaa.",
    "begin key": "-----BEGIN ",
    "begin private": "-----BEGIN RSA PRIVATE KEY-----",
    "capitals": "-----BEGIN A A A ",
    "sk": "sk-",
    "bearer spaces": "bearer   ",
    "spaces": " ",
    "scheme": "a://",
    "users": "a://b:",
    "colons": "://:::",
    "password": "password ",
    "password equals": "password=",
    "quotes": "secret'\"",
    "at": "@",
    "akia": "AKIA",
    "key colon": "key:",
    "for": "password for ",
    "bracket": "password (",
    "mysql": "mysql -p ",
    "user": " -u a:",
    "comma": "key=a,",
    "pgpass": "a:1:",
    "dashes": "a-b_c.",
    "mnemonic": "mnemonic abc ",
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_time_grows_with_the_text_not_with_its_square(kind: str) -> None:
    def seconds(size: int) -> float:
        text = HOSTILE[kind] * (size // len(HOSTILE[kind])) + " key"
        begun = time.process_time()
        redact(text)
        return time.process_time() - begun

    seconds(1000)
    # Eight times the text: eight times the time, or 64 times where it is quadratic.
    assert any(seconds(64_000) < 24 * max(seconds(8_000), 0.001) for _ in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_two_megabytes_on_one_line_take_ten_times_as_long_as_a_tenth(kind: str) -> None:
    def seconds(size: int) -> float:
        text = HOSTILE[kind] * (size // len(HOSTILE[kind]))
        begun = time.process_time()
        redact(text)
        return time.process_time() - begun

    assert any(seconds(2_000_000) < 25 * max(seconds(200_000), 0.01) for _ in range(3))


def test_lines_stay_as_many_and_no_part_of_a_key_is_left() -> None:
    key = [
        "-----BEGIN RSA PRIVATE KEY-----",
        *["MIIEabcdefghijklmnopqrstuvwxyz0123456789"] * 5,
        "-----END RSA PRIVATE KEY-----",
    ]
    lines = ["before", *key, "token: abcdefgh1234", "after"]
    cleaned = redact_lines(lines)
    assert len(cleaned) == len(lines)
    assert (cleaned[0], cleaned[-1]) == ("before", "after")
    assert cleaned[1] == "[redacted]"
    assert not any("MIIE" in line for line in cleaned)
    assert redact_lines(["nothing here", ""]) == ["nothing here", ""]


_ODD = (
    "ſecret",
    "PAſſWORD",
    "paſſwd",
    "toKen",
    "api_Key",
    "apı_key",
    "Bearer ",
    ": ",
    "=",
    '"',
    "://",
    "me:",
    "@",
    "İ",
    "-",
)
_PIECES = st.sampled_from(
    [*SECRETS.values(), *HOSTILE.values(), *_ODD, A, B, "-----BEGIN EC PRIVATE KEY-----", "\n", " "]
)


_TEXTS = st.lists(_PIECES, max_size=8).map("".join) | st.lists(_PIECES, max_size=8).map(" ".join) | st.text(max_size=40)


@given(_TEXTS)
def test_no_secret_is_passed_over_for_lack_of_a_hint(text: str) -> None:
    """Rules whose hints a text has not are not tried; with every hint in another paragraph, the same is found."""
    hints = "\n\n!\n" + "\n".join([*(stem for stem in names._words()), *(p for rule in RULES for p in rule.prefixes)])
    assert find_secrets(text) == [span for span in find_secrets(text + hints) if span[0] < len(text)]


@given(_TEXTS)
def test_redacted_text_is_left_alone(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.lists(st.text(max_size=30) | _PIECES, max_size=8))
def test_lines_come_back_as_many_as_went_in(lines: list[str]) -> None:
    assert len(redact_lines(lines)) == len(lines)


@given(st.lists(_PIECES.map(lambda piece: piece.replace("\n", " ")), max_size=8))
def test_lines_and_the_whole_text_hide_the_same(lines: list[str]) -> None:
    def dense(text: str) -> str:
        return "".join(text.split())

    assert dense("\n".join(redact_lines(lines))) == dense(redact("\n".join(lines)))


def test_a_text_without_a_hint_compiles_no_pattern() -> None:
    code = (
        "from memslot.redaction import names, phrases, redact, rules\n"
        "redact.redact('plain words')\n"
        "print([f.cache_info().currsize for f in (names._pattern, phrases._compiled, rules._pattern)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[0, 0, 0]\n"
