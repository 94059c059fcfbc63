"""One module per library. A task is a function of a `Job` that loads what is not timed
and returns a `Task`. It calls once what it times, with next to nothing, so that imports
put off until then are not timed; a training reads its text inside the timed part."""

#: The package behind each module, as it is installed.
PACKAGES = {
    "tokctl_": "tokctl",
    "memory_": "tokctl",
    "huggingface": "tokenizers",
    "tiktoken_": "tiktoken",
    "gigatoken_": "gigatoken",
    "rustbpe_": "rustbpe",
    "sentencepiece_": "sentencepiece",
    "fastokens_": "fastokens",
    "tokie_": "tokie",
    "splintr_": "splintr-rs",
    "bpeasy_": "bpeasy",
    "kitoken_": "kitoken",
    "quicktok_": "quicktok-v1",
    "iree_": "iree-tokenizer",
    "wordchipper_": "wordchipper",
}
