"""The fragmentation map on a dark ground: the engine draws the light one, and only its colours differ."""
from __future__ import annotations

import re

from .chart import THEMES, Svg

# Colours of the light map beside those of THEMES. Blocks keep theirs, which have the same meaning in both.
_OTHERS = {"#5c6d77": "#a6b5be", "#e0e7e9": "#24323b", "#e9edef": "#1a242b", "#bccdc7": "#3a4a54", "#853f81": "#cf8bcb"}
_COLOUR = re.compile(r'\b(fill|stroke)="(#[0-9a-f]{6})"')


def dark_map(light: Svg) -> Svg:
    """The picture with the colours of the dark theme."""
    dark = {colour: THEMES["dark"][name] for name, colour in THEMES["light"].items()} | _OTHERS
    return Svg(_COLOUR.sub(lambda found: f'{found[1]}="{dark.get(found[2], found[2])}"', light.text))
