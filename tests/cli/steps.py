"""`--show-steps` shows what the documents print, step by step."""

from __future__ import annotations

BPE_STEPS = """before the first merge
  5   l o w _
  2   l o w e r _
  6   n e w e s t _
  3   w i d e s t _
  1   l o n g e r _
step 1: e + s → es  (count 9)
  5   l o w _
  2   l o w e r _
  6 * n e w es t _
  3 * w i d es t _
  1   l o n g e r _
step 2: es + t → est  (count 9)
  5   l o w _
  2   l o w e r _
  6 * n e w est _
  3 * w i d est _
  1   l o n g e r _

"""

WORDPIECE_STEPS = """before the first merge
  5   l _o _w
  2   l _o _w _e _r
  6   n _e _w _e _s _t
  3   w _i _d _e _s _t
  1   l _o _n _g _e _r
step 1: _n + _g → _ng  (score 1 / (1 * 1) = 1)
  5   l _o _w
  2   l _o _w _e _r
  6   n _e _w _e _s _t
  3   w _i _d _e _s _t
  1 * l _o _ng _e _r
step 2: w + _i → wi  (score 3 / (3 * 3) = 0.3333)
  5   l _o _w
  2   l _o _w _e _r
  6   n _e _w _e _s _t
  1   l _o _ng _e _r
  3 * wi _d _e _s _t

"""


def golden_steps() -> list[tuple[list[str], str]]:
    """Options, and what stderr holds then."""
    bpe = ["--chars", "--pretokenize", "whitespace", "--marker", "end:_", "--show-steps", "2"]
    # The second notebook's dictionary: a word that was rewritten moves to the end.
    wordpiece = ["--preset", "notebook-wordpiece", "--marker", "continuation:_"]
    return [(bpe, BPE_STEPS), ([*wordpiece, "--show-steps", "2"], WORDPIECE_STEPS)]
