"""What happens to the tokens of a text, or of two, before a model gets them.

They are cut to a length (`truncation`), special tokens are put around them (`templates`),
offsets lose spaces (`trimming`), and a batch is filled up to one length (`padding`).
"""

from tokctl.postprocess.batches import finish_ids
from tokctl.postprocess.padding import Padding, pad_batch
from tokctl.postprocess.processor import PostProcessor, postprocess
from tokctl.postprocess.templates import Template, bert, roberta
from tokctl.postprocess.truncation import Truncation

__all__ = [
    "Padding",
    "PostProcessor",
    "Template",
    "Truncation",
    "bert",
    "finish_ids",
    "pad_batch",
    "postprocess",
    "roberta",
]
