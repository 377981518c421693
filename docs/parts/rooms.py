"""The map of rooms: which parts of a package import which, drawn from its source text.

A room is a folder or a module right below the package. An arrow means "imports", also inside functions; imports for
type checkers alone do not count. Where A imports B and B imports C, no arrow is drawn from A to C.
"""

from __future__ import annotations

import ast
import html
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MAPS = {"memslot": "host", "memslot_memory_core": "memory-core", "memslot_memory_lancedb": "memory-lancedb"}
"""The packages that have a map, and what its file is called after."""
_WIDTH, _ROW, _BOX, _GAP, _MARGIN = 980, 84, 40, 16, 16


@dataclass
class Room:
    """One part of a package: what it is for, how many modules it has, and what it imports."""

    name: str
    about: str = ""
    modules: int = 0
    imports: set[str] = field(default_factory=set)

    @property
    def label(self) -> str:
        return f"{self.name}/" if self.modules > 1 else f"{self.name}.py"


def rooms_of(package: str) -> dict[str, Room]:
    """The rooms of a package by name, without its doors (`__init__`, `__main__`)."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    rooms: dict[str, Room] = {}
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        if parts[0].startswith("__"):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        room = rooms.setdefault(parts[0], Room(parts[0]))
        room.modules += 1
        room.imports.update(_imported_rooms(tree, package))
        if parts[1:] in ((), ("__init__",)):
            room.about = (ast.get_docstring(tree) or "").split("\n")[0]
    for room in rooms.values():
        room.imports &= rooms.keys() - {room.name}
    return rooms


def _imported_rooms(node: ast.AST, package: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        names: list[str] = []
        if isinstance(child, ast.ImportFrom) and child.module and not child.level:
            names = [f"{child.module}.{alias.name}" for alias in child.names]
        elif isinstance(child, ast.Import):
            names = [alias.name for alias in child.names]
        yield from (parts[1] for name in names if (parts := name.split("."))[0] == package and len(parts) > 1)
        yield from _imported_rooms(child, package)


def render_table() -> str:
    """The rooms of the mapped packages, those that import the most of the others first."""
    parts = []
    for package, title in MAPS.items():
        rooms = rooms_of(package)
        rows = [room for row in reversed(_rows(rooms)) for room in row]
        parts += [
            f"### {title}: `{package}`",
            "",
            f"![Which room of {package} imports which](images/rooms-{title}.svg)",
            "",
            "| room | modules | holds |",
            "|---|---|---|",
            *(f"| `{rooms[name].label}` | {rooms[name].modules} | {rooms[name].about} |" for name in rows),
            "",
        ]
    return "\n".join(parts)


def render_maps() -> dict[str, str]:
    """Each map's file name, and its SVG."""
    return {f"rooms-{title}.svg": _draw(package, rooms_of(package)) for package, title in MAPS.items()}


def _reachable(rooms: Mapping[str, Room], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(rooms[start].imports)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += rooms[name].imports
    return found


def _rows(rooms: Mapping[str, Room]) -> list[list[str]]:
    """Rooms by height: a room stands above all that it imports; rooms that import each other share a height."""
    below = {name: _reachable(rooms, name) for name in rooms}
    heights: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in heights:
            strictly = [other for other in below[name] if name not in below[other]]
            heights[name] = max((height(other) + 1 for other in strictly), default=0)
        return heights[name]

    rows: list[list[str]] = [[] for _ in range(max(map(height, rooms)) + 1)]
    for name in rooms:
        rows[heights[name]].append(name)
    for _ in range(4):  # neighbours of neighbours stand near each other, so that fewer arrows cross
        place = {name: (index + 1) / (len(row) + 1) for row in rows for index, name in enumerate(row)}
        for row in rows:
            row.sort(key=lambda name: (_centre(_linked(rooms, name), place, place[name]), name))
    return rows


def _linked(rooms: Mapping[str, Room], name: str) -> list[str]:
    return sorted(rooms[name].imports | {other.name for other in rooms.values() if name in other.imports})


def _centre(names: Iterable[str], place: Mapping[str, float], default: float) -> float:
    places = [place[name] for name in names]
    return sum(places) / len(places) if places else default


def _direct(rooms: Mapping[str, Room], name: str) -> list[str]:
    """What a room imports and does not also reach through another room that it imports."""
    below = {other: _reachable(rooms, other) for other in rooms}
    own = rooms[name].imports
    return sorted(
        target
        for target in own
        if not any(
            target in below[other] and other not in below[target] and name not in below[other]
            for other in own - {target}
        )
    )


def _draw(package: str, rooms: Mapping[str, Room]) -> str:
    lines: list[list[str]] = []
    for row in reversed(_rows(rooms)):  # a row that is too wide goes on in the next line
        line: list[str] = []
        for name in row:
            if line and sum(_box_width(rooms[each]) + _GAP for each in [*line, name]) > _WIDTH - 2 * _MARGIN:
                lines.append(line)
                line = []
            line.append(name)
        lines.append(line)
    boxes: dict[str, tuple[float, float, float]] = {}
    for number, line in enumerate(lines):
        left = (_WIDTH - sum(_box_width(rooms[name]) + _GAP for name in line) + _GAP) / 2
        for name in line:
            boxes[name] = (left, _MARGIN + number * _ROW, _box_width(rooms[name]))
            left += _box_width(rooms[name]) + _GAP
    height = 2 * _MARGIN + (len(lines) - 1) * _ROW + _BOX
    arrows = [_arrow(boxes[name], boxes[target]) for name in boxes for target in _direct(rooms, name)]
    shapes = [_box(rooms[name], *box) for name, box in boxes.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" aria-labelledby="title">',
            f'  <title id="title">Which room of {package} imports which</title>',
            '  <defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6" '
            'orient="auto"><path d="M0 0 10 5 0 10z" fill="#7a869a"/></marker></defs>',
            f'  <rect width="{_WIDTH}" height="{height}" rx="12" fill="#f7f8fb"/>',
            '  <g fill="none" stroke="#9aa5b8" marker-end="url(#tip)">',
            *arrows,
            "  </g>",
            "  <g font-family=\"system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\" text-anchor=\"middle\">",
            *shapes,
            "  </g>",
            "</svg>",
            "",
        ]
    )


def _box_width(room: Room) -> int:
    return 28 + 8 * len(room.label)


def _box(room: Room, left: float, top: float, width: float) -> str:
    place = f'x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{_BOX}"'
    centre, base = left + width / 2, top + 25
    return (
        f'    <rect {place} rx="7" fill="#fff" stroke="#9aa5b8"/>\n'
        f'    <text x="{centre:.0f}" y="{base:.0f}" font-size="14" fill="#1d2433">{html.escape(room.label)}</text>'
    )


def _arrow(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    """From the lower edge of one box to the upper edge of another; sideways where both stand in one line."""
    x1, x2 = start[0] + start[2] / 2, end[0] + end[2] / 2
    if start[1] == end[1]:
        y, bend = start[1] + _BOX, start[1] + _BOX + 22
        return f'    <path d="M{x1:.0f} {y:.0f}C{x1:.0f} {bend:.0f} {x2:.0f} {bend:.0f} {x2:.0f} {y:.0f}"/>'
    y1, y2 = start[1] + _BOX, end[1]
    if y2 < y1:  # rooms that import each other, drawn in two lines
        y1, y2 = start[1], end[1] + _BOX
    middle = (y1 + y2) / 2
    return f'    <path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {y2:.0f}"/>'
