"""Injection by markup: fake conversation turns, tool calls, hidden text, data exfiltration.

Patterns run on folded text, so none needs to ignore case, and only if their needle occurs: that and bounded gaps keep a
megabyte cheap.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_ROLE = "system|assistant|developer|human|sistema|asistente|assistent|systeme|系统|システム|시스템|система"
_TAG = re.compile(r"<(?:\s{0,3}/)?\s{0,3}([^\W\d_][\w:-]{0,40})([^<>]{0,300})")
_TAGS = {
    "role-tag": f"{_ROLE}|developer_message|system_message|system-reminder|system_prompt",
    "tool-call": "tool_call|tool_calls|tool_use|tool_code|tool_result|function_call|function_calls|function_result"
    "|function_results|invoke|parameter",
    "html": "script|iframe|object|embed|meta|link|base|form|svg",
    "delimiter": "relevant-memories|memory|memories|context|user_input|userinput|user_message|user|instructions"
    "|instruction|document|documents|conversation|prompt|input|query|admin|rules|override",
}
_TAG_RULE = {tag: rule for rule, tags in _TAGS.items() for tag in tags.split("|")}
_PREFIX = re.compile("[_-]")
_HIDING = re.compile(
    r"[\s/\"']on[a-z]{3,20}\s{0,3}=|\shidden(?:[\s=/]|$)"
    r"|style\s{0,3}=.*(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0"
    r"|opacity\s{0,3}:\s{0,3}0|color\s{0,3}:\s{0,3}(?:white|#fff|transparent))",
    re.DOTALL,
)

# rule, needle, pattern
_PATTERNS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("html", "<!--", re.compile("<!--")),
    ("role-tag", "<|", re.compile(r"<\|[^<>|]{1,40}\|")),
    ("role-tag", "<<", re.compile(r"<<\s{0,3}/?sys\s{0,3}>>")),
    ("role-tag", "]", re.compile(rf"\[\s{{0,3}}/?\s{{0,3}}(?:inst|{_ROLE})\s{{0,3}}\]")),
    ("role-tag", "[", re.compile(rf"\[\s{{0,3}}(?:{_ROLE}|admin)\b[^\]\n]{{0,40}}:")),
    ("role-tag", ":", re.compile(rf"\n[ \t>*_]{{0,8}}(?:{_ROLE})[*_]{{0,2}}\s{{0,2}}:")),
    ("role-tag", '"role"', re.compile(r'"role"\s{0,3}:\s{0,3}"(?:system|assistant|developer|tool)"')),
    (
        "tool-call",
        '":',
        re.compile(
            r'"(?:name|function|tool)"\s{0,3}:\s{0,3}["{][^\n]{0,200}?"(?:arguments|parameters|args|input)"\s{0,3}:'
            r'|"(?:tool_calls|function_call)"\s{0,3}:\s{0,3}[\[{]'
        ),
    ),
    ("tool-call", "```", re.compile(r"```\s{0,3}tool_(?:code|call)")),
    (
        "tool-call",
        "action input",
        re.compile(r"\n\s{0,8}action\s{0,3}:[^\n]{1,80}\n\s{0,8}action input\s{0,3}:"),
    ),
    ("tool-call", "curl", re.compile(r"curl\s[^\n|]{0,200}\|\s{0,3}(?:sudo\s)?(?:ba|z)?sh\b")),
    ("tool-call", "wget", re.compile(r"wget\s[^\n|]{0,200}\|\s{0,3}(?:sudo\s)?(?:ba|z)?sh\b")),
    ("tool-call", "rm -", re.compile(r"\brm -[rf]{1,2} {1,3}[~/*.]")),
    ("tool-call", "/etc/", re.compile(r"/etc/(?:passwd|shadow)\b")),
    ("override", "_", re.compile(r"system_override|override_instruction|(?:disable|bypass)_(?:safety|filter)")),
    ("html", "(", re.compile(r"\bfetch\(\s{0,3}['\"]https?:|\bdocument\.cookie\b|\blocalstorage\.")),
    ("html", "script", re.compile(r"\b(?:java|vb)script\s{0,3}:\s{0,3}[a-z(]")),
    (
        "delimiter",
        "\n",
        re.compile(
            rf"\n\s{{0,3}}#{{1,6}}\s{{0,3}}(?:{_ROLE}|user|instructions?|response|admin|anweisung(?:en)?|instruccion(?:es)?"
            r"|instrucao|instrucoes|consignes?|指令|指示|지시|명령)\s{0,3}:"
            r'|\n\s{0,3}(?:"""|```)\s{0,3}\n\s{0,8}end of\b'
        ),
    ),
    ("delimiter", "】", re.compile(r"[【\[](?:用户输入结束|对话结束|系统(?:消息|指令|提示)|ユーザー入力終了)[】\]]")),
    ("link", "![", re.compile(r"!\[[^\]\n]{0,100}\]\(\s{0,3}[^()\s?]{1,200}\?[^()\s]{0,200}?=")),
    ("link", "](", re.compile(r"\]\(\s{0,3}(?:javascript|data|vbscript|file)\s{0,3}:|\[\]\(\s{0,3}https?:")),
    ("link", "[//]", re.compile(r"\[//\]\s{0,3}:")),
    (
        "link",
        "://",
        re.compile(r"https?://[^\s()<>{}\[\]$?]{1,200}\?(?:[^\s()<>{}\[\]$]{0,200}&)?[\w.-]{0,60}=(?:[{$<\[]|%7b|\s)"),
    ),
)
_THINGS = "SYSTEM|USER|ADMIN|ASSISTANT|DEVELOPER|MEMORY|CONTEXT|DOCUMENT|INSTRUCTIONS?|PROMPT|INPUT|OVERRIDE|SAFETY"
# In capitals: a sentence may mention the beginning of a system test.
_CAPITALS = re.compile(
    rf"\b(?:BEGIN|START|END)(?:\s{{1,3}}OF)?(?:\s{{1,3}}THE)?\s{{1,3}}(?:{_THINGS})\s{{0,3}}"
    r"(?:PROMPT|MESSAGE|INPUT|CONTEXT|OVERRIDE|INSTRUCTIONS?|DOCUMENT|MODE|\]|--|==|\*\*)"
    r"|[-=*#]{3}\s{0,3}(?:END|ENDE|FIN|FINE|FIM|KONEC|КОНЕЦ)\s{1,3}[^\W\d_a-z]{2}"
    r"|\b(?:SYSTEM|ADMIN|ADMINISTRATOR|DEVELOPER|EDITOR|AI)\s(?:NOTE|NOTICE|OVERRIDE|UPDATE|ALERT|MESSAGE|COMMAND|INSTRUCTION)S?\b"
    r"|[?&]\w{1,40}=[A-Z0-9]{2,30}_[A-Z_]{3,}"
    r"|\bPRIORITY\s(?:OVERRIDE|INSTRUCTIONS?)\b"
    r"|[-=*#]{3}\s{0,3}(?:SYSTEM|ADMIN|SISTEMA|SYSTEME|SYSTÈME|СИСТЕМА)\b"
)
_LINK = re.compile(r"\[\s{0,3}((?:https?://|www\.)[^\]\s]{1,200})\s{0,3}\]\(\s{0,3}(https?://[^()\s]{1,300})")


def find_markup_injection(text: str, folded: str) -> str | None:
    """The rule that a text violates by its markup; `folded` is the same text, folded."""
    if "<" in folded:
        for name, rest in _TAG.findall(folded):
            name = name.removeprefix("antml:")
            # Every `<system_…>` poses as the system.
            rule = _TAG_RULE.get(name) or _TAG_RULE.get(
                _PREFIX.split(name, maxsplit=1)[0] if name[:6] == "system" else ""
            )
            if rule is None and (_HIDING.search(rest) or (name == "img" and "://" in rest)):
                rule = "html"
            if rule:
                return rule
    # Line starts are matched by the preceding newline; the first line gets one, too.
    lines = "\n" + folded
    for rule, needle, pattern in _PATTERNS:
        if needle in lines and pattern.search(lines):
            return rule
    if _CAPITALS.search(text):
        return "delimiter"
    if "](" in folded and any(_host(shown) != _host(target) for shown, target in _LINK.findall(folded)):
        return "link"
    return None


def _host(address: str) -> str:
    address = address if "://" in address else f"https://{address}"
    try:
        return (urlsplit(address).hostname or "").removeprefix("www.")
    except ValueError:
        return address
