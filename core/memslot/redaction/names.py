"""Names of secrets, in several languages, and the separators between a name and its value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import merge
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memslot.redaction.values import Kind

_PASSWORD = (
    *("password", "passwd", "passwort", "passphrase", "passcode", "pwd", "kennwort", "contraseña", "contrasena"),
    *("contrasenya", "senha", "palavra-passe", "mot de passe", "mdp", "hasło", "haslo", "heslo", "wachtwoord"),
    *("lösenord", "losenord", "salasana", "adgangskode", "passord", "parola", "şifre", "sifre", "jelszó", "parool"),
    *("пароль", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "رمز عبور", "كلمة المرور"),
    *("mật khẩu", "kata sandi", "รหัสผ่าน", "पासवर्ड"),
    *("requirepass", "bindpw", "psk", "clave", "pass", "pw"),
)
_TOKEN = (
    *(
        "secret",
        "token",
        "clé api",
        "clé secrète",
        "clé privée",
        "clave api",
        "clave privada",
        "llave secreta",
        "segredo",
    ),
    *("chave api", "chave secreta", "chave privada", "geheimer schlüssel", "geheimschlüssel", "privater schlüssel"),
    *("ключ api", "ключ доступа", "закрытый ключ", "секрет", "秘密鍵", "シークレットキー", "金鑰", "액세스 키"),
    *(
        "clé d'api",
        "clave de acceso",
        "lizenzschlüssel",
        "chiave api",
        "chiave segreta",
        "klucz api",
        "api-sleutel",
        "clef api",
        "jeton",
        "токен",
        "секретный ключ",
        "api-ключ",
    ),
    *("密钥", "秘钥", "密鑰", "令牌", "トークン", "シークレット", "apiキー", "api 키", "토큰", "비밀 ?키"),
    *("api[ -]?schlüssel", "chave de api", "clave de api", "clave secreta", "credentials?", "cookie"),
    *("jsessionid", "phpsessid", "sessionid", "sessid", r"connect\.sid", "asp.net_sessionid", "_auth"),
    *("authorization", "x-amz-signature"),
)
_KEY = (
    "key",
    "auth",
    "sig",
    "chave",
    "totp",
    "recovery code",
    "backup code",
    "ключ",
    "session[ _-]?id",
    "mnemonic",
    "seed[ _-]?phrase",
)

_CREDENTIAL_HEAD = re.compile(
    r"(?:api|access|private|priv|master|signing|encryption|encrypt|decryption|license|licence|app|account|storage"
    r"|subscription|consumer|service|client|shared|function|deploy|admin|root|webhook|crypt|hmac|jwt|auth|session"
    r"|server|bot|secret)[ _.-]?$"
)
"""Words before `key` that make it a credential."""
_MAX_HEAD = len("subscription ")

# Parts of a name that make it mean something else: an attribute of a secret, or another kind of key.
_OTHER_TAIL_TEXT = """
    hash hashes hashed url uri file path dir name names id ids type types count limit limits length size min max
    expires expiry expiration expired lifetime ttl age at on in algorithm algo policy hint hints field label env var
    variable ref reference usage used budget per window endpoint issuer header prefix suffix format manager store
    storage provider reset change changed rotation strength version index arn required enabled disabled fingerprint
    digest checksum
"""
_OTHER_TAIL = frozenset(_OTHER_TAIL_TEXT.split())
_OTHER_HEAD_TEXT = """
    primary foreign public pub partition sort cache row hash idempotency composite unique natural object hot arrow
    shortcut lookup dict map redis s3 room house first second third last next max min total num count per input
    output no without csrf site publishable palabra
"""
_OTHER_HEAD = frozenset(_OTHER_HEAD_TEXT.split())
_SPLIT = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


_STEMS = (
    *("pass", "pwd", "secret", "token", "key", "auth", "sess", "cookie", "credential", "sig", "pw", "kennwort", "mdp"),
    *("contrase", "senha", "haslo", "heslo", "wachtwoord", "losenord", "salasana", "adgangskode", "paro", "sifre"),
    *("kata sandi", "jeton", "clave", "chave", "mnemonic", "phrase", ".sid"),
)


@dataclass(frozen=True)
class NamePattern:
    """The names that a text may hold, and letters that it holds if it has them."""

    regex: re.Pattern[str]
    stems: Sequence[str]
    longest: int

    def windows(self, folded: str) -> Iterator[tuple[int, int]]:
        """Where names may be, in order and apart: around their letters, which a plain search finds much faster."""
        start, end = 0, -1
        for place in merge(*(_places(folded, stem) for stem in self.stems)):
            if place - self.longest > end:
                if end >= 0:
                    yield start, end
                start = max(0, place - self.longest)
            end = place + self.longest
        if end >= 0:
            yield start, end


def _places(folded: str, stem: str) -> Iterator[int]:
    place = folded.find(stem)
    while place >= 0:
        yield place
        place = folded.find(stem, place + 1)


@cache
def _words() -> dict[str, list[tuple[str, str]]]:
    """Return the words with their groups, indexed by a substring they always contain."""
    by_stem: dict[str, list[tuple[str, str]]] = {}
    for group, words in ("password", _PASSWORD), ("token", _TOKEN), ("key", _KEY):
        for word in words:
            plain = word.replace("\\", "")
            stem = next((stem for stem in _STEMS if stem in plain), re.split(r"[ ?\[]", plain)[0])
            by_stem.setdefault(stem, []).append((group, word))
    return by_stem


@cache
def _pattern(stems: tuple[str, ...]) -> NamePattern:
    words = [each for stem in stems for each in _words()[stem]]
    of = {group: "|".join(word for other, word in words if other == group) for group in ("password", "token", "key")}
    regex = re.compile("|".join(f"(?P<{group}>{joined})" for group, joined in of.items() if joined))
    return NamePattern(regex, stems, max(len(word) for _, word in words))


@cache
def _stems(*, is_ascii: bool) -> tuple[str, ...]:
    return tuple(stem for stem in _words() if stem.isascii() or not is_ascii)


def pattern(folded: str) -> NamePattern | None:
    """Return a pattern for the names that may occur in a folded text, or None: most texts have none."""
    is_ascii = folded.isascii()
    listed = _stems(is_ascii=is_ascii)
    if not is_ascii:
        characters = set(folded)
        listed = tuple(stem for stem in listed if characters.issuperset(stem))
    found = tuple([stem for stem in listed if stem in folded])
    return _pattern(found) if found else None


@cache
def gap() -> re.Pattern[str]:
    """Return the pattern of separators between a name and its value, for folded text."""
    close = r"""(?:\\?["'`]|\*{1,3}|_{1,2}|[\])])"""
    links = "for|of|to|on|at|in|de|del|da|do|du|für|fur|zu|от|для|к"
    words = rf"(?:[ ](?:{links})(?:[ ][^\s:=|：]{{1,24}}){{1,6}}?|[ ]?[(（][^()\n]{{1,40}}[)）])"
    verbs = "is|ist|lautet|est|es|é|è|jest|je|is[ ](?:now|set[ ]to)|c'est|это|-"
    annotation = (
        r":[ ]?(?:final\[)?(?:optional\[)?&?(?:'static[ ])?(?:secret)?(?:str|string|bytes)\]{0,2}\??"
        r"(?:[ ]?\|[ ]?(?:none|null|undefined))?(?=[ ]?=)"
    )
    return re.compile(
        rf"""
        (?P<more>{words}|(?P<extra>[ ][^\W\d_]{{2,20}}(?=[ ]?[:：])))?{close}{{0,4}}(?:
          (?P<equals>\s{{0,3}}(?:{annotation}\s{{0,3}})?(?::=|={{1,3}}>?|=>|\?=)[ \t]*)
        | (?P<colon>[ \t]*(?:->|→|—|–|:|：)(?:[*_]{{1,3}})?(?:[ \t]*[>|][+-]?[ \t]*)?(?:[ \t]|\n[ \t]{{0,8}})*)
        | (?P<cell>[ \t]*\|[ \t]*)
        | (?P<markup></key>\s{{0,20}}<string>|>)
        | (?P<attribute>[ ]value=(?=["'])|,?\s{{1,20}}["']?value["']?[ ]?[:=][ ]?(?=\S))
        | (?P<verb>[ \t]+(?:{verbs})[ \t]+|['’]s[ ]|[ ]?(?:是|为|為|は|이|은|는)[ ]?)
        | (?P<argument>,[ ]?(?=["'])|\((?=["']))
        | (?P<space>(?(more)(?!)|[ \t]{{1,4}}))
        )
        (?:[*_]{{1,3}}(?=\S))?(?:[@bru]{{1,2}}(?=["']))?(?P<quote>\\?["'`“„«「])?
        """,
        re.VERBOSE,
    )


def is_other(word: str) -> bool:
    """Whether a word after a secret's name changes its meaning: `token type`."""
    return word in _OTHER_TAIL


def kind_of(name: str, at: int, word: str, kind: Kind, before: str) -> Kind | None:
    """Classify an identifier with `word` at `at`, or return None if it is not a secret's name.

    `before` is the folded text before the word.
    """
    head, tail = name[:at], name[at + len(word) :]
    opens = word == "key" and _CREDENTIAL_HEAD.search(before[-_MAX_HEAD:]) is not None
    heads = [piece.lower() for part in _SPLIT.findall(head) for piece in _HUMP.split(part)]
    if word in ("key", "clave") and not heads:  # cache key, palabra clave
        heads = before.split()[-1:]
    tails = [piece.lower() for part in _SPLIT.findall(tail) for piece in _HUMP.split(part)]
    if word.isascii() and tail[:1].islower() and tail[:1].isascii() and tails and tails[0] not in ("s", "en", "base"):
        return None  # keyboard, tokenizer, passport, secretary
    if any(piece in _OTHER_TAIL for piece in tails) or (tails[:1] == ["s"] and kind == "token" and word == "token"):
        return None
    glued = head[-1:].isalpha() and head[-1:].isascii() and word.isascii() and not name[at : at + 1].isupper()
    if (
        not opens
        and word in ("pass", "pw", "key", "auth", "sig", "mdp", "pwd", "clave", "chave", "parola", "ключ")
        and ((glued or (head[-1:].isupper() and name[at : at + 1].isupper())) and word != "pwd")
    ):
        return None  # compass, monkey, design
    if (kind != "password" or word == "clave") and any(piece in _OTHER_HEAD for piece in heads[-2:]):
        return None
    if opens or (word == "key" and head and name == name.upper()):
        return "token"  # api_key, STRIPE_KEY
    return kind


_SETTINGS = ("apikey", "secret", "password", "passwd", "passphrase", "authorization", "credential", "privatekey")


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name is a secret, whatever its value looks like."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    # `tokens` is a count (chunking.tokens); a `token` is a credential.
    return any(word in letters for word in _SETTINGS) or re.search(r"token(?!s)", letters) is not None
