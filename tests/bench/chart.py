"""Draws the growth with the number of WebApps: an SVG of line charts on logarithmic axes. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import median

from bench.results import PEERS, Measured, Results, chosen
from conflict_lab.chart import Axis

COLOURS = dict(zip(PEERS, ("#c0392b", "#7f8c8d", "#d9700a", "#1f77b4"), strict=True))
_WIDTH, _HEIGHT = 250, 180
_LEFT, _TOP, _GAP = 64, 40, 76


@dataclass(frozen=True)
class Measure:
    """The figure in one chart."""

    title: str
    value: Callable[[Measured], float | None]


def _cpu(one: Measured) -> float | None:
    parts = [one.figures.get(f"{name} CPU") for name in ("operator", "API server", "etcd")]
    return None if None in parts else sum(part for part in parts if part is not None)


MEASURES = (
    Measure("B1: seconds to convergence", lambda one: one.figures.get("seconds")),
    Measure("B1: operator's peak memory, MB", lambda one: one.figures.get("operator peak MB")),
    Measure("B1: requests of the operator", lambda one: float(sum(one.requests.values()))),
    Measure("B1: CPU seconds, operator and servers", _cpu),
)


def chart(results: Results) -> str:
    """Return the SVG: a chart for each measure, a line for each peer, the median of the rounds."""
    width = _LEFT + len(MEASURES) * (_WIDTH + _GAP)
    height = _TOP + _HEIGHT + 80
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="sans-serif" font-size="11" fill="#222">'
        ),
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for column, measure in enumerate(MEASURES):
        parts += [f'<g transform="translate({_LEFT + column * (_WIDTH + _GAP)} {_TOP})">']
        parts += [*_panel(measure.title, _lines(results, measure)), "</g>"]
    for column, (peer, colour) in enumerate(COLOURS.items()):
        x, y = _LEFT + column * 160, _TOP + _HEIGHT + 60
        parts.append(f'<line x1="{x}" x2="{x + 24}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 30}" y="{y + 4}">{escape(peer)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _lines(results: Results, measure: Measure) -> dict[str, list[tuple[int, float]]]:
    lines: dict[str, list[tuple[int, float]]] = {}
    for peer in PEERS:
        found: dict[int, list[float]] = {}
        for one in chosen(results, "B1", peer=peer):
            value = measure.value(one)
            if not one.void and value is not None:
                found.setdefault(one.size, []).append(value)
        lines[peer] = [(size, median(values)) for size, values in sorted(found.items())]
    return lines


def _panel(title: str, lines: Mapping[str, Sequence[tuple[int, float]]]) -> list[str]:
    sizes = sorted({size for points in lines.values() for size, _ in points})
    axis = Axis.over([value for points in lines.values() for _, value in points], logarithmic=True)
    parts = [f'<text x="0" y="-12">{escape(title)}</text>']
    for tick in axis.ticks:
        y = round(_HEIGHT * (1 - axis.at(tick)), 1)
        parts.append(f'<line x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="-6" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    across = {size: round(_across(size, sizes), 1) for size in sizes}
    for size, x in across.items():
        parts.append(f'<text x="{x}" y="{_HEIGHT + 16}" text-anchor="middle">{size}</text>')
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT + 32}" text-anchor="middle">WebApps</text>')
    for peer, points in lines.items():
        placed = [(across[size], round(_HEIGHT * (1 - axis.at(value)), 1)) for size, value in points]
        path = " ".join(f"{x},{y}" for x, y in placed)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{COLOURS[peer]}" stroke-width="1.8">'
            f"<title>{escape(peer)}</title></polyline>"
        )
        parts += [f'<circle cx="{x}" cy="{y}" r="2.5" fill="{COLOURS[peer]}"/>' for x, y in placed]
    return parts


def _across(size: int, sizes: Sequence[int]) -> float:
    if sizes[0] == sizes[-1]:
        return _WIDTH / 2
    span = math.log(sizes[-1] / sizes[0])
    return 10 + (_WIDTH - 20) * math.log(size / sizes[0]) / span
