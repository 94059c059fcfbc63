"""What happens to the tokens of a text, or of two, before a model gets them.

They are cut to a length (`truncation`), special tokens are put around them (`templates`),
offsets lose spaces (`trimming`), and a batch is filled up to one length (`padding`).
"""

from tokctl.model.parts import bert_template as bert
from tokctl.model.parts import roberta_template as roberta
from tokctl.tokenizer.postprocess.batches import finish_ids
from tokctl.tokenizer.postprocess.padding import Padding, pad_batch
from tokctl.tokenizer.postprocess.processor import PostProcessor, postprocess
from tokctl.tokenizer.postprocess.templates import Template
from tokctl.tokenizer.postprocess.truncation import Truncation

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
