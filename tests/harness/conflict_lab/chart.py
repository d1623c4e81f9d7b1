"""Draws the figures: an SVG of small line charts, on logarithmic axes. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from conflict_lab.results import Cell, Results
from conflict_lab.ways import WAYS, Way, Workload

COLOURS = {
    "PUT": "#1f77b4",
    "JSON Patch": "#d9700a",
    "Merge Patch": "#2a8a2a",
    "Strategic Merge Patch": "#c0392b",
    "Apply": "#7d4fb0",
}
_DASHES = {True: "", False: "5 3"}

_PANEL_WIDTH, _PANEL_HEIGHT = 250, 170
_LEFT, _TOP, _GAP_X, _GAP_Y = 62, 56, 70, 92
_LEGEND_COLUMNS, _LEGEND_ROW = 3, 18


@dataclass(frozen=True)
class Measure:
    """The content of one column of charts."""

    title: str
    value: Callable[[Cell], float]
    logarithmic: bool


MEASURES = (
    Measure("updates kept, per second", lambda cell: cell.kept_rate, logarithmic=True),
    Measure("acknowledged updates lost, %", lambda cell: 100 * cell.lost_share, logarithmic=False),
    Measure("p99 of an acknowledged update, ms", lambda cell: 1000 * cell.p99, logarithmic=True),
)


@dataclass(frozen=True)
class Axis:
    """The vertical axis of one chart: its range, and the positions of values."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def over(cls, values: Sequence[float], logarithmic: bool) -> "Axis":
        """Return an axis for these values: whole powers of ten, or per cent."""
        positive = [value for value in values if value > 0]
        if not logarithmic:
            return cls(0, 100, logarithmic)
        if not positive:
            return cls(1, 10, logarithmic)
        low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
        return cls(10.0**low, 10.0 ** max(high, low + 1), logarithmic)

    def at(self, value: float) -> float:
        """Return the position of a value: 0 at the bottom, 1 at the top."""
        if not self.logarithmic:
            return value / self.high
        inside = max(value, self.low)
        return math.log10(inside / self.low) / math.log10(self.high / self.low)

    @property
    def ticks(self) -> list[float]:
        """Return the values with a grid line."""
        if not self.logarithmic:
            return [0, 25, 50, 75, 100]
        decades = round(math.log10(self.high / self.low))
        return [self.low * 10**decade for decade in range(decades + 1)]


def chart(results: Results) -> str:
    """Return the SVG: a row of charts for each workload, a line for each write method."""
    width = _LEFT + len(MEASURES) * (_PANEL_WIDTH + _GAP_X)
    legend_top = _TOP + len(Workload) * (_PANEL_HEIGHT + _GAP_Y)
    height = legend_top + math.ceil(len(WAYS) / _LEGEND_COLUMNS) * _LEGEND_ROW + 14
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="sans-serif" font-size="11" fill="#222">'
        ),
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for row, workload in enumerate(Workload):
        above = _TOP + row * (_PANEL_HEIGHT + _GAP_Y) - 32
        parts.append(f'<text x="{_LEFT}" y="{above}" font-size="14" font-weight="bold">{escape(workload)}</text>')
        for column, measure in enumerate(MEASURES):
            x, y = _LEFT + column * (_PANEL_WIDTH + _GAP_X), _TOP + row * (_PANEL_HEIGHT + _GAP_Y)
            parts += [f'<g transform="translate({x} {y})">', *_panel(results, workload, measure), "</g>"]
    parts += [f'<g transform="translate({_LEFT} {legend_top})">', *_legend(width - _LEFT), "</g>", "</svg>", ""]
    return "\n".join(parts)


def _panel(results: Results, workload: Workload, measure: Measure) -> list[str]:
    lines = {way: results.of(way.name, workload) for way in WAYS}
    axis = Axis.over([measure.value(cell) for cells in lines.values() for cell in cells], measure.logarithmic)
    across = {count: _across(number, len(results.counts)) for number, count in enumerate(results.counts)}
    parts = [f'<text x="0" y="-12">{escape(measure.title)}</text>']
    for tick in axis.ticks:
        y = _down(axis.at(tick))
        parts += [
            f'<line x1="0" x2="{_PANEL_WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>',
            f'<text x="-6" y="{y + 4}" text-anchor="end">{tick:g}</text>',
        ]
    for count, x in across.items():
        parts.append(f'<text x="{x}" y="{_PANEL_HEIGHT + 16}" text-anchor="middle">{count}</text>')
    parts.append(f'<text x="{_PANEL_WIDTH / 2}" y="{_PANEL_HEIGHT + 32}" text-anchor="middle">writers</text>')
    for way, cells in lines.items():
        points = [(across[cell.writers], _down(axis.at(measure.value(cell)))) for cell in cells if cell.acknowledged]
        parts += _line(way, points)
    return parts


def _line(way: Way, points: Sequence[tuple[float, float]]) -> list[str]:
    path = " ".join(f"{x},{y}" for x, y in points)
    colour = COLOURS[way.family]
    return [
        (
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"'
            f' stroke-dasharray="{_DASHES[way.guarded]}"><title>{_plain(way)}</title></polyline>'
        ),
        *(_mark(way, x, y) for x, y in points),
    ]


def _mark(way: Way, x: float, y: float) -> str:
    """Return a different marker for each method of a family."""
    family = [each.name for each in WAYS if each.family == way.family]
    colour = COLOURS[way.family]
    drawn = (
        f'<circle cx="{x}" cy="{y}" r="3"',
        f'<rect x="{x - 3}" y="{y - 3}" width="6" height="6"',
        f'<path d="M{x} {y - 4}l4 7h-8z"',
    )[family.index(way.name)]
    return f'{drawn} fill="{colour if way.guarded else "#fff"}" stroke="{colour}"/>'


def _legend(width: float) -> list[str]:
    parts = []
    rows = math.ceil(len(WAYS) / _LEGEND_COLUMNS)
    for number, way in enumerate(WAYS):
        x, y = number // rows * width / _LEGEND_COLUMNS, number % rows * _LEGEND_ROW
        parts += [*_line(way, [(x, y), (x + 28, y)]), f'<text x="{x + 38}" y="{y + 4}">{_plain(way)}</text>']
    return parts


def _plain(way: Way) -> str:
    return escape(way.title.replace("`", ""))


def _across(number: int, of: int) -> float:
    return round(12 + number * (_PANEL_WIDTH - 24) / max(of - 1, 1), 1)


def _down(part: float) -> float:
    return round((1 - part) * _PANEL_HEIGHT, 1)
