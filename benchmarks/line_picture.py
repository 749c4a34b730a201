"""Functions along a line of scores as an SVG picture, one panel each, on one scale."""

from __future__ import annotations

from itertools import pairwise

WIDTH, HEIGHT, LEFT, TOP, BETWEEN, BOTTOM = 600, 150, 56, 26, 34, 40
COLOURS = ("#d9730d", "#2a7fc9")
JUMP = 0.015  # a larger change between two points, relative to the height, is a jump
FLAT = 0.05  # points within so many pixels of the line between their neighbours are dropped


def line_picture(curves: list[tuple[str, list[float]]], length: float) -> str:
    """Panels, from the top, of curves (name, values at equal steps from 0 to `length`)."""
    low = min(min(values) for _, values in curves)
    high = max(max(values) for _, values in curves)
    panels = [
        f'<g transform="translate({LEFT} {TOP + at * (HEIGHT + BETWEEN)})">'
        f"{_panel(name, values, low, high, COLOURS[at % 2])}</g>"
        for at, (name, values) in enumerate(curves)
    ]
    right, bottom = LEFT + WIDTH + 14, TOP + len(curves) * (HEIGHT + BETWEEN) - BETWEEN
    ticks = [
        f'<text x="{LEFT + WIDTH * k / 5:g}" y="{bottom + 16}" text-anchor="middle">'
        f"{length * k / 5:g}</text>"
        for k in range(6)
    ]
    label = f'<text x="{LEFT + WIDTH / 2:g}" y="{bottom + 34}" text-anchor="middle">t</text>'
    style = (
        ".sparsewood-alone{color:#1a1a1a}"
        "@media(prefers-color-scheme:dark){.sparsewood-alone{color:#e8e8e8}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sparsewood-alone" role="img" '
        f'width="{right}" height="{bottom + BOTTOM}" viewBox="0 0 {right} {bottom + BOTTOM}">'
        f"<title>E[v(h)] along a line of scores</title><style>{style}</style>"
        f'<g fill="currentColor" font-family="Helvetica, Arial, sans-serif" font-size="12">'
        f"{''.join(panels)}{''.join(ticks)}{label}</g></svg>\n"
    )


def _panel(name: str, values: list[float], low: float, high: float, colour: str) -> str:
    span, last = (high - low) or 1.0, len(values) - 1
    dots = [(WIDTH * i / last, HEIGHT * (high - v) / span) for i, v in enumerate(values)]
    runs = _runs(dots)
    curve = "".join("M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in _thin(run)) for run in runs)
    jumps = "".join(f"M{b[0][0]:.2f} {a[-1][1]:.2f}V{b[0][1]:.2f}" for a, b in pairwise(runs))
    ticks = "".join(
        f'<text x="-8" y="{HEIGHT * k + 4:g}" text-anchor="end">{high - k * span:.2f}</text>'
        for k in (0, 0.5, 1)
    )
    return (
        f'<path d="M0 0H{WIDTH}V{HEIGHT}H0z" fill="none" stroke="currentColor" opacity=".25"/>'
        f'<text y="-8">E[v(h)], weights="{name}"</text>{ticks}'
        f'<path d="{jumps}" fill="none" stroke="{colour}" opacity=".35"/>'
        f'<path d="{curve}" fill="none" stroke="{colour}" stroke-width="1.5" '
        f'stroke-linecap="round" stroke-linejoin="round"/>'
    )


Dot = tuple[float, float]


def _runs(dots: list[Dot]) -> list[list[Dot]]:
    """The dots, cut where the curve jumps."""
    runs = [[dots[0]]]
    for before, dot in pairwise(dots):
        if abs(dot[1] - before[1]) > JUMP * HEIGHT:
            runs.append([])
        runs[-1].append(dot)
    return runs


def _thin(run: list[Dot]) -> list[Dot]:
    """A run without the dots on the line between their neighbours."""
    if len(run) < 3:
        return run
    (x0, y0), (x1, y1) = run[0], run[-1]
    misses = [abs(y0 + (y1 - y0) * (x - x0) / (x1 - x0) - y) for x, y in run[1:-1]]
    worst = max(range(len(misses)), key=misses.__getitem__)
    if misses[worst] <= FLAT:
        return [run[0], run[-1]]
    return _thin(run[: worst + 2])[:-1] + _thin(run[worst + 1 :])
