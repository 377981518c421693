"""Token formats, as documented by vendors and public rule lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_WORD = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_URL = "[A-Za-z0-9_-]"
_B64 = "[A-Za-z0-9+/]"
_UUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"


@dataclass(frozen=True)
class Rule:
    """Tokens that start with one of `prefixes`, continue with `body` and end at a word boundary.

    A match of a `certain` format is a secret; other matches must also look random, as dashed words match too.
    """

    name: str
    prefixes: tuple[str, ...]
    body: str
    certain: bool = False


RULES = (
    Rule("openai, anthropic and their like", ("sk-",), f"{_URL}{{20,}}"),
    Rule("stripe", ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"), f"{_WORD}{{10,}}"),
    Rule("elevenlabs", ("sk_",), f"{_HEX}{{32,}}"),
    Rule("stripe webhook", ("whsec_",), f"{_B64}{{16,}}=*"),
    Rule("slack", tuple(f"xox{kind}-" for kind in "abcdeoprs"), "[A-Za-z0-9%-]{10,}"),
    Rule("slack app", ("xapp-",), f"{_URL}{{16,}}"),
    Rule("slack configuration", ("xoxe.xoxb-", "xoxe.xoxp-"), f"{_URL}{{16,}}"),
    Rule("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), f"{_WORD}{{16,}}"),
    Rule("github fine-grained", ("github_pat_",), r"\w{20,}"),
    Rule(
        "gitlab",
        (
            *("glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-"),
            *("glsoat-", "glffct-", "glwt-"),
        ),
        r"[A-Za-z0-9_.-]{15,}",
    ),
    Rule("gitlab runner registration", ("GR1348941",), f"{_URL}{{20,}}"),
    Rule("bitbucket", ("ATBB", "BBDC-"), f"{_WORD}{{24,}}"),
    Rule("atlassian", ("ATATT3", "ATCTT3"), "[A-Za-z0-9_=-]{20,}"),
    Rule("google api", ("AIza",), f"{_URL}{{30,}}"),
    Rule("google oauth client", ("GOCSPX-",), f"{_URL}{{16,}}"),
    Rule("google oauth", ("ya29.",), r"[A-Za-z0-9_.-]{20,}"),
    Rule("google refresh", ("1//0",), f"{_URL}{{30,}}"),
    Rule("aws", ("AKIA", "ASIA", "ABIA", "ACCA"), "[A-Z0-9]{16}(?![a-z])"),
    Rule("aws bedrock", ("ABSK",), f"{_B64}{{60,}}=*"),
    Rule("sendgrid", ("SG.",), r"[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}"),
    Rule("mailgun", ("key-",), f"{_HEX}{{32}}"),
    Rule("brevo", ("xkeysib-", "xsmtpsib-"), f"{_URL}{{32,}}"),
    Rule("resend", ("re_",), r"[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}"),
    Rule("twilio", ("SK",), f"{_HEX}{{32}}"),
    Rule("docker", ("dckr_pat_", "dckr_oat_"), f"{_URL}{{16,}}"),
    Rule("digitalocean", ("dop_v1_", "doo_v1_", "dor_v1_"), f"{_HEX}{{32,}}"),
    Rule("shopify", ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_"), f"{_WORD}{{24,}}"),
    Rule("vault", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_.-]{20,}"),
    Rule("vault before 1.10", ("s.",), r"(?=[^\d\s]*\d)(?=[^A-Z\s]*[A-Z])[A-Za-z0-9]{24}(?![.(])"),
    Rule("groq", ("gsk_",), f"{_WORD}{{20,}}"),
    Rule("xai", ("xai-",), f"{_WORD}{{20,}}"),
    Rule("perplexity", ("pplx-",), f"{_WORD}{{20,}}"),
    Rule("replicate", ("r8_",), f"{_WORD}{{20,}}"),
    Rule("hugging face", ("hf_", "api_org_"), f"{_WORD}{{24,}}"),
    Rule("voyage", ("pa-",), f"{_URL}{{20,}}"),
    Rule("jina", ("jina_",), f"{_WORD}{{24,}}"),
    Rule("langsmith", ("lsv2_",), r"(?:pt|sk)_\w{24,}"),
    Rule("model hosts", ("csk-", "tvly-", "nvapi-", "fw_", "pcsk_", "esecret_", "key_live_"), f"{_URL}{{20,}}"),
    Rule("supabase", ("sbp_", "sb_secret_"), f"{_URL}{{20,}}"),
    Rule("databricks", ("dapi", "dkea", "dose"), rf"{_HEX}{{32}}(?:-\d)?"),
    Rule("age", ("AGE-SECRET-KEY-1",), "[A-Z0-9]{20,}"),
    Rule("npm", ("npm_",), f"{_WORD}{{24,}}"),
    Rule("pypi", ("pypi-",), f"{_URL}{{32,}}"),
    Rule("package hosts", ("rubygems_", "CLOJARS_", "clojars_"), f"{_WORD}{{32,}}"),
    Rule("cargo", ("cio",), f"{_WORD}{{32}}"),
    Rule("nuget", ("oy2",), "[a-z0-9]{43}"),
    Rule("linear", ("lin_api_", "lin_oauth_"), f"{_WORD}{{20,}}"),
    Rule("notion", ("ntn_", "secret_"), f"{_WORD}{{30,}}"),
    Rule("airtable", ("pat",), rf"{_WORD}{{14}}\.{_HEX}{{32,}}"),
    Rule("figma", ("figd_", "figo_"), f"{_URL}{{20,}}"),
    Rule("cloudflare origin ca", ("v1.0-",), f"{_HEX}{{24}}-{_HEX}{{100,}}"),
    Rule("heroku", ("HRKU-",), f"{_URL}{{20,}}"),
    Rule("web hosts", ("nfp_", "nfc_", "vcp_", "vci_", "vca_", "vck_", "rnd_"), f"{_WORD}{{20,}}"),
    Rule("vercel blob", ("vercel_blob_rw_",), r"\w{20,}"),
    Rule("fly", ("fm1a_", "fm1r_", "fm2_", "fo1_"), "[A-Za-z0-9+/_=-]{30,}"),
    Rule("sentry", ("sntryu_", "sntrys_", "sntrya_", "sntryi_"), "[A-Za-z0-9+/_=-]{30,}"),
    Rule("new relic", ("NRAK-", "NRII-", "NRJS-", "NRRA-", "NRSP-"), f"{_URL}{{16,}}"),
    Rule("grafana", ("glsa_", "glc_", "gluca_"), "[A-Za-z0-9+/_=]{24,}"),
    Rule("postman", ("PMAK-",), f"{_URL}{{24,}}"),
    Rule("planetscale", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[\w=.-]{24,}"),
    Rule("doppler", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), r"[\w.-]{20,}"),
    Rule("pulumi", ("pul-",), f"{_HEX}{{32,}}"),
    Rule("square", ("sq0atp-", "sq0csp-", "sq0idp-"), f"{_URL}{{20,}}"),
    Rule("square and facebook access", ("EAA",), f"{_URL}{{40,}}"),
    Rule("braintree", ("access_token$production$", "access_token$sandbox$"), r"[a-z0-9]{8,}\$[0-9a-f]{16,}"),
    Rule("plaid", ("access-production-", "access-development-", "access-sandbox-"), _UUID, certain=True),
    Rule("razorpay", ("rzp_live_", "rzp_test_"), f"{_WORD}{{14,}}"),
    Rule("alibaba", ("LTAI",), f"{_WORD}{{16,}}"),
    Rule("tencent", ("AKID",), f"{_WORD}{{32}}"),
    Rule("yandex", ("AQVN", "y0_", "y1_", "y2_", "y3_"), f"{_URL}{{30,}}"),
    Rule("1password", ("A3-",), "[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){3,5}"),
    Rule("1password service account", ("ops_eyJ",), "[A-Za-z0-9+/=_-]{60,}"),
    Rule("dynatrace", ("dt0c01.", "dt0s01."), r"[A-Z0-9]{20,}\.[A-Z0-9]{40,}"),
    Rule("build services", ("bkua_", "bkpat_", "CCIPAT_", "CCIPRJ_", "pnu_", "squ_", "sqp_", "sqa_"), r"\w{24,}"),
    Rule("documentation and forms", ("rdme_", "tfp_", "CFPAT-"), r"[\w.=-]{32,}"),
    Rule("easypost", ("EZAK", "EZTK"), f"{_WORD}{{40,}}"),
    Rule("shops and travel", ("shippo_live_", "shippo_test_", "duffel_live_", "duffel_test_"), "[A-Za-z0-9_=-]{20,}"),
    Rule("frame.io", ("fio-u-",), "[A-Za-z0-9_=-]{32,}"),
    Rule("flutterwave", ("FLWSECK-", "FLWSECK_TEST-"), "[A-Za-z0-9-]{12,}"),
    Rule("artifactory", ("AKCp", "cmVmd"), f"{_WORD}{{50,}}"),
    Rule("octopus", ("API-",), "[A-Z0-9]{26}"),
    Rule("openshift", ("sha256~",), f"{_URL}{{30,}}"),
    Rule("tailscale", ("tskey-",), f"{_URL}{{20,}}"),
    Rule("sourcegraph", ("sgp_",), r"\w{32,}"),
    Rule("posthog", ("phx_", "phs_"), f"{_WORD}{{30,}}"),
    Rule("dropbox", ("sl.",), r"[\w.-]{100,}"),
    Rule("harness", ("pat.", "sat."), r"[\w-]{22}\.[A-Za-z0-9]{20,}\.[A-Za-z0-9]{16,}"),
    Rule("infracost", ("ico-",), f"{_WORD}{{32}}"),
    Rule("settlemint", ("sm_aat_", "sm_pat_", "sm_sat_"), f"{_WORD}{{16,}}"),
    Rule("adobe", ("p8e-",), f"{_WORD}{{32}}"),
    Rule("defined networking", ("dnkey-",), f"{_URL}{{40,}}"),
    Rule("scalingo", ("tk-us-",), f"{_URL}{{32,}}"),
    Rule("authress", ("scauth_", "authress_"), r"[a-z0-9]{5,}\.[\w.=+/-]{30,}"),
    Rule("intra 42", ("s-s4t2ud-", "s-s4t2af-"), f"{_HEX}{{40,}}"),
    Rule("bitcoin", ("xprv", "yprv", "zprv"), f"{_WORD}{{100,}}"),
    Rule("twitter", ("AAAAAAAAAAAAAAAAAAAA",), "[A-Za-z0-9%]{60,}"),
    Rule("mapbox", ("sk.eyJ",), r"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}"),
    Rule("hubspot", ("pat-na1-", "pat-na2-", "pat-na3-", "pat-eu1-", "pat-ap1-"), _UUID, certain=True),
    Rule("json web token", ("eyJ",), r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.(?:[A-Za-z0-9_-]{8,})?", certain=True),
    Rule("grafana before 9", ("eyJrIjoi",), "[A-Za-z0-9]{60,}=*", certain=True),
    Rule("password hash", ("$2a$", "$2b$", "$2y$"), r"\d\d\$[A-Za-z0-9./]{53}", certain=True),
    Rule("password hash", ("$1$", "$5$", "$6$", "$y$", "$apr1$"), r"[A-Za-z0-9./=$]{22,}", certain=True),
    Rule("password hash", ("$argon2id$", "$argon2i$"), r"[A-Za-z0-9+/=$,]{40,}", certain=True),
)

SHAPES: tuple[tuple[str, tuple[str, ...] | str, str], ...] = (
    ("terraform cloud", (".atlasv1.",), r"(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    ("azure client", ("Q~",), r"(?<![\w~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    ("azure devops", ("AZDO",), r"(?<!\w)[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?!\w)"),
    ("mailgun", r"[0-9a-f]{32}-[0-9a-f]{8}-", r"(?<!\w)[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?!\w)"),
    ("asana", r"\d:[0-9a-f]{32}", r"(?<!\w)\d/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}(?!\w)"),
    ("mailchimp", ("-us",), r"(?<!\w)[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    ("telegram", (":AA",), r"(?:(?<!\w)|(?<=/bot))\d{8,10}:AA[A-Za-z0-9_-]{32,33}(?![\w-])"),
    (
        "discord",
        r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
        r"(?<![\w.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])",
    ),
    ("discord webhook", ("/webhooks/",), r"(?<=/webhooks/)\d{10,20}/[A-Za-z0-9_-]{40,}"),
    (
        "slack webhook",
        ("hooks.slack.com/",),
        r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[A-Za-z0-9/+]{20,}",
    ),
    ("teams webhook", ("webhook.office.com/",), r"(?<=webhook\.office\.com/)webhookb2/[A-Za-z0-9@/-]{60,}"),
    ("zapier webhook", ("hooks.zapier.com/",), r"(?<=hooks\.zapier\.com/)hooks/catch/[A-Za-z0-9/]{8,}"),
    ("make webhook", (".make.com/",), r"(?<=\d\.make\.com/)[a-z0-9]{32}(?!\w)"),
    ("firebase messaging", (":APA91b",), r"(?<!\w)[A-Za-z0-9_-]{11,22}:APA91b[A-Za-z0-9_-]{100,}"),
    ("new relic license", ("NRAL",), r"(?<!\w)[0-9a-f]{36}NRAL(?!\w)"),
    ("maxmind", ("_mmk",), r"(?<!\w)[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)"),
    ("facebook app", r"\|[A-Za-z0-9_-]{27}", r"(?<!\w)\d{15,16}\|[A-Za-z0-9_-]{27,40}(?![\w-])"),
    ("extended bearer", ("ZXlK",), r"(?<!\w)ZXlK[A-Za-z0-9+/]{60,}=*"),
)
"""Formats inside one long word, not told by how they begin: a name, what the word holds or matches, and the pattern."""

LOOSE_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("ifttt webhook", ("maker.ifttt.com/",), r"(?<=/with/key/)[A-Za-z0-9_-]{20,}"),
    ("putty", ("Private-Lines:",), r"(?<=Private-Lines: )\d+(?:\r?\n[A-Za-z0-9+/=]{8,})+"),
    ("putty", ("Private-MAC:",), r"(?<=Private-MAC: )[0-9a-f]{40,}"),
    ("json web key", ('"d"', '"k"'), r'(?<="[dk]":")[A-Za-z0-9_-]{30,}(?=")|(?<="[dk]": ")[A-Za-z0-9_-]{30,}(?=")'),
)
"""Formats that span words: a name, the substrings that hint at it, the pattern."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _pattern(prefix: str, body: str) -> re.Pattern[str]:
    # Literal first: the regex engine then uses a plain substring search.
    start = re.escape(prefix)
    return re.compile(rf"{start}(?<![A-Za-z0-9_~-]{start})({body})(?![A-Za-z0-9_])", re.ASCII)


_BEFORE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~-"
"""Characters that cannot precede a prefix."""
_RUNS = bytes(code if chr(code) in _BEFORE else ord(" ") for code in range(256))
_SHORTEST_SHAPE = 36
"""Characters of the word around one of SHAPES; the shortest is a key of Mailchimp."""


@cache
def _by_head() -> dict[bytes, list[tuple[str, Rule]]]:
    """Prefixes by their first two characters; under no characters, those that may begin inside a run."""
    listed: dict[bytes, list[tuple[str, Rule]]] = {}
    for rule in RULES:
        for prefix in rule.prefixes:
            head = prefix[:2]
            listed.setdefault(head.encode() if set(head) <= set(_BEFORE) else b"", []).append((prefix, rule))
    return listed


def find_tokens(text: str, long_words: str) -> Iterator[tuple[Rule, re.Match[str]]]:
    """Yield every match of a rule; group 1 is the body. `long_words` are the text's long words."""
    # A token begins where a run of such characters does, and few runs begin as one of the many prefixes.
    heads = {run[:2] for run in long_words.encode("latin-1", "replace").translate(_RUNS).split()}
    by_head = _by_head()
    for head in (*heads.intersection(by_head), b""):
        for prefix, rule in by_head[head]:
            if prefix in long_words:
                for match in _pattern(prefix, rule.body).finditer(text):
                    yield rule, match


def find_shapes(text: str, long_words: str) -> Iterator[tuple[int, int]]:
    longest = " ".join([word for word in long_words.split(" ") if len(word) >= _SHORTEST_SHAPE])
    if longest:
        for _, hints, pattern in SHAPES:
            if _holds(longest, hints) if isinstance(hints, tuple) else _compiled(hints).search(longest):
                yield from (match.span() for match in _compiled(pattern).finditer(text))
    for _, hints, pattern in LOOSE_SHAPES:
        if _holds(text, hints):
            yield from (match.span() for match in _compiled(pattern).finditer(text))


def _holds(text: str, hints: tuple[str, ...]) -> bool:
    return any(hint in text for hint in hints)
