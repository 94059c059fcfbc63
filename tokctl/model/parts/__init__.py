"""The parts that a recipe is made of, as plain data: what each kind is and what it takes.

The native core does what they say; `tokctl.formats` translates them.
"""

from tokctl.model.parts.added_tokens import AddedToken, check_added
from tokctl.model.parts.decoders import DECODERS
from tokctl.model.parts.native import native_parts
from tokctl.model.parts.normalizers import NORMALIZERS
from tokctl.model.parts.part import Family, Kind, Option, Part, Steps, text_of
from tokctl.model.parts.post_processors import POST_PROCESSORS
from tokctl.model.parts.pre_tokenizers import BEHAVIOURS, PRE_TOKENIZERS, is_lossless

__all__ = [
    "BEHAVIOURS",
    "DECODERS",
    "NORMALIZERS",
    "POST_PROCESSORS",
    "PRE_TOKENIZERS",
    "AddedToken",
    "Family",
    "Kind",
    "Option",
    "Part",
    "Steps",
    "check_added",
    "is_lossless",
    "native_parts",
    "text_of",
]
