"""Definitions of the values that the suite measures, by part of the suite."""

from __future__ import annotations

from tokctl.analysis.health import RARE
from tokctl.analysis.health.embeddings import DEVIATIONS, SHARE
from tokctl.analysis.metrics import Definition

_JANG = "Jang et al. 2024, arXiv 2410.23684"
_SINGH = "Singh and Strouse 2024, arXiv 2402.14903"
_NEOX = "Black et al. 2022, arXiv 2204.06745"
_MISLEADS = (
    "Rare words count as much as frequent ones. Texts without spaces have no words to change."
)
_CHAI = "Chai et al. 2024, arXiv 2406.11687"
_LAND = "Land and Bartolo 2024, arXiv 2405.05417"
_SHARE = "share, 0 to 1"
_RECALL_MISLEADS = (
    "A model that cuts at every byte has 1. Where a word's morphemes begin is partly a "
    "convention, so the same cuts score differently on another list."
)
_ARNETT = "Arnett and Bergen 2025, arXiv 2411.14198"
_HUDSPETH = "Arnett et al. 2025, arXiv 2507.06378"

#: Values of `tokctl.extras.suite.splits`.
SPLITS = (
    Definition(
        "number_tokens",
        "tokens of a number",
        "numbers of d digits that are k tokens / numbers of d digits, from 1 to 9,999",
        "share, 0 to 1",
        "neither",
        _SINGH,
        "Fewer tokens are not better in themselves: a token for a whole number hides its digits. "
        "Numbers in real text are not evenly distributed: years and round numbers are frequent.",
    ),
    Definition(
        "number_groups",
        "groups of digits",
        "numbers of d digits that are cut in this way / numbers of d digits",
        "share, 0 to 1",
        "neither",
        _SINGH,
        "Which way is best depends on the task: in the paper, groups from the right helped "
        "addition, and a token for each digit is just as regular. With up to three digits, both "
        "directions give one token. Longer numbers, and those with commas, can be cut "
        "differently.",
    ),
    Definition(
        "number_places",
        "cuts by place",
        "numbers cut before their last p digits / numbers with more than p digits, from 1 to 9,999",
        "share, 0 to 1",
        "neither",
        _SINGH,
        "Nine numbers in ten have four digits, so they dominate. Regular cuts have shares near 0 "
        "or 1; a share of one half is the least regular, and neither end is better than the "
        "other.",
    ),
    Definition(
        "identifier_tokens",
        "tokens per identifier",
        "tokens of the names / names, each after a space",
        "tokens per name",
        "lower",
        "",
        "There are only forty names, of common English words. Unknown tokens lower the figure, "
        "and so does a vocabulary that learned these very names from code.",
    ),
    Definition(
        "identifier_whole",
        "identifiers that are one token",
        "names that are one token, and not the unknown one / names",
        "share, 0 to 1",
        "neither",
        "",
        "A token for a name is worth its place in the vocabulary only if the name is frequent.",
    ),
    Definition(
        "identifier_borders",
        "identifiers cut at their words",
        "names cut at each border of their words and nowhere else / names",
        "share, 0 to 1",
        "neither",
        "",
        "A name that is one token is not cut at its words, and is no worse for that. Whether cuts "
        "at words help a language model has not been shown.",
    ),
    Definition(
        "indentation_tokens",
        "tokens of an indentation",
        "T of a line with the run before it - T of the line without it",
        "tokens",
        "lower",
        _NEOX,
        "A model that does not keep white space has no figure. The run is followed by a letter: a "
        "pre-tokenizer that joins the last space to the next word can behave differently before "
        "a bracket.",
    ),
    Definition(
        "operator_tokens",
        "operators that are one token",
        "operators of several characters that are one token, with white space at most / operators",
        "share, 0 to 1",
        "higher",
        "",
        "Each operator counts once, however rare it is. An operator that is one token here can be "
        "cut if there are no spaces around it.",
    ),
    Definition(
        "characters_cut",
        "characters cut",
        "characters with a token boundary inside their UTF-8 form / characters that are not ASCII",
        "share, 0 to 1",
        "lower",
        _JANG,
        "A character model cuts none, but may have no token for half of them, so look at the UNK "
        "rate as well. A character is a code point: a letter and its accent can be two.",
    ),
)

#: Values of `tokctl.extras.suite.stability`.
STABILITY = (
    Definition(
        "changed",
        "words with another number of tokens",
        "words with n' ≠ n / words",
        "share, 0 to 1",
        "neither",
        _CHAI,
        "The number can stay the same while every token changes. A character model changes with "
        "each deletion, but is the most stable of all. " + _MISLEADS,
    ),
    Definition(
        "token_ratio",
        "tokens of the variant per token",
        "mean of n' / n over words",
        "ratio, 1 = the same number",
        "neither",
        _CHAI,
        "Long words of many tokens hardly affect it; words of one token do. A model to which the "
        "variant is unknown has few tokens. " + _MISLEADS,
    ),
    Definition(
        "kept",
        "boundaries kept",
        "2 |K∩K'| / (|K| + |K'|), over all words",
        "F1, 0 to 1",
        "neither",
        f"F1, van Rijsbergen 1979; {_CHAI}",
        "A model that cuts at every byte keeps all. A word that is one token has no boundary to "
        "keep, so each boundary of its variant counts against the model. " + _MISLEADS,
    ),
)

#: Values of `tokctl.extras.suite.undertrained`. Symbols: V tokens that text can give, without byte
#: tokens; E tokens of V that are whole characters and reachable.
UNDERTRAINED = (
    Definition(
        "unreachable",
        "unreachable tokens",
        "tokens that no trial with their own text gives / V",
        _SHARE,
        "neither",
        _LAND,
        "Trials can't prove that no text gives a token. Tokens that only serve to build others "
        "are still needed for merging.",
    ),
    Definition(
        "never_used",
        "never used",
        "tokens with n = 0 on the text / V",
        _SHARE,
        "neither",
        "",
        "It depends on the text as much as on the model: a short text uses few tokens, and a text "
        "in another language even fewer.",
    ),
    Definition(
        "rarely_used",
        "rarely used",
        f"tokens with 0 < n < {RARE} on the text / V",
        _SHARE,
        "neither",
        "",
        "As for never used. The limit is a convention, and a language model is trained on other "
        "texts.",
    ),
    Definition(
        "candidates",
        "candidates by embeddings",
        f"tokens with an indicator up to that of the lowest {SHARE:.0%} / E",
        _SHARE,
        "neither",
        _LAND,
        f"It is {SHARE:.0%} by definition, even in a model whose tokens are all well trained: "
        "these are the tokens to try in prompts. The number of outliers shows whether any are "
        "under-trained.",
    ),
    Definition(
        "apart",
        "outlying tokens",
        f"tokens with an indicator under median - {DEVIATIONS} · 1.4826 · MAD / E",
        _SHARE,
        "neither",
        f"{_LAND}; MAD as spread, Hampel 1974",
        "In a model with many under-trained tokens, the spread is wide, and mild cases are not "
        "outliers. A row can be short for reasons other than little training.",
    ),
)

#: Values of `tokctl.extras.suite.morphology`.
MORPHOLOGY = (
    Definition(
        "precision",
        "boundary precision",
        "|G∩P| / |P|, over all words",
        _SHARE,
        "neither",
        "",
        "A model that cuts nothing has no figure. Cuts in words of one morpheme, such as names "
        "and loan words, count against the model.",
    ),
    Definition(
        "recall",
        "boundary recall",
        "|G∩P| / |G|, over all words",
        _SHARE,
        "neither",
        "",
        _RECALL_MISLEADS + " A word that is one token has recall 0, although that does a language "
        "model no harm.",
    ),
    Definition(
        "f1",
        "boundary F1",
        "2 |G∩P| / (|G| + |P|), over all words",
        _SHARE,
        "neither",
        "F1, van Rijsbergen 1979",
        "As for precision and recall. A large vocabulary with many whole words has a low F1.",
    ),
    Definition(
        "macro_precision",
        "boundary precision per word",
        "mean of |G∩P| / |P| over words that are cut",
        _SHARE,
        "neither",
        "",
        "Words that are not cut are left out, and these differ from model to model.",
    ),
    Definition(
        "macro_recall",
        "boundary recall per word",
        "mean of |G∩P| / |G| over words of two morphemes or more",
        _SHARE,
        "neither",
        "",
        _RECALL_MISLEADS,
    ),
    Definition(
        "macro_f1",
        "boundary F1 per word",
        "mean of 2 |G∩P| / (|G| + |P|) over words that are cut or have two morphemes or more",
        _SHARE,
        "neither",
        "F1, van Rijsbergen 1979",
        "As for precision and recall per word.",
    ),
    Definition(
        "all_cut",
        "words with all boundaries cut",
        "words with G ⊆ P / words of two morphemes or more",
        _SHARE,
        "neither",
        "",
        "Additional cuts do not lower it: a model that cuts at every byte has 1.",
    ),
    Definition(
        "morphscore_recall",
        "MorphScore recall",
        "mean of |G∩P| / |G| over words of two morphemes or more that are two tokens or more",
        _SHARE,
        "neither",
        f"{_ARNETT}; {_HUDSPETH}",
        "Words of one token are left out, and these differ from model to model: a large "
        "vocabulary is measured only on its rare words. " + _RECALL_MISLEADS,
    ),
    Definition(
        "morphscore_precision",
        "MorphScore precision",
        "mean of |G∩P| / |P| over words of two morphemes or more that are two tokens or more",
        _SHARE,
        "neither",
        _HUDSPETH,
        "Words of one token are left out, as for its recall. A rare stem of three tokens lowers "
        "it, although no morpheme boundary is missed.",
    ),
    Definition(
        "morphscore_recall_all",
        "MorphScore recall, one-token words 0",
        "mean of |G∩P| / |G| over words of two morphemes or more; 0 for a word of one token",
        _SHARE,
        "neither",
        _HUDSPETH,
        "A model is penalized for words that are one token, so larger vocabularies have lower "
        "figures.",
    ),
    Definition(
        "morphscore_precision_all",
        "MorphScore precision, one-token words 0",
        "mean of |G∩P| / |P| over words of two morphemes or more; 0 for a word of one token",
        _SHARE,
        "neither",
        _HUDSPETH,
        "As for its recall with one-token words as 0.",
    ),
)

#: All values of the suite, by name.
DEFINITIONS = {
    definition.name: definition
    for part in (SPLITS, STABILITY, UNDERTRAINED, MORPHOLOGY)
    for definition in part
}
