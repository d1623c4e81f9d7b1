"""Writes docs/benchmarks.md and docs/benchmarks.svg from docs/benchmarks.json; keeps the text outside of the marks."""

from pathlib import Path

from bench.chart import chart
from bench.page import page
from bench.results import load

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS / "benchmarks.json"
PAGE = DOCS / "benchmarks.md"
CHART = DOCS / "benchmarks.svg"
BEGIN = "<!-- measured: written by make bench -->"
END = "<!-- end of the measurements -->"


def render() -> None:
    """Rewrite page and chart."""
    results = load(RESULTS)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{page(results)}\n\n{END}{after}", encoding="utf-8")
    CHART.write_text(chart(results), encoding="utf-8")
    print("wrote docs/benchmarks.md and docs/benchmarks.svg")
