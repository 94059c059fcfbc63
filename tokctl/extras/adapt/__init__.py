"""Adaptation of a trained model to other texts, with the embeddings of its language model.

Example:
    from tokctl import Tokenizer, adapt

    tok = Tokenizer.load("gpt2.tokenizer.json")
    found = adapt(tok, prune=32_000, texts=["books.txt"], vocab_size=34_000, new_texts=["code.txt"])
    found.tokenizer.save("code.json", "huggingface")
    found.save_map("map.jsonl")
    found.carry_embeddings("model.safetensors", "new.safetensors")
"""

from tokctl.extras.adapt.adaptation import Adaptation, adapt
from tokctl.extras.adapt.embeddings import NEW_ROWS, CarriedMatrix
from tokctl.extras.adapt.moved import MovedToken, MovedTokens
from tokctl.extras.adapt.residues import Residue, Residues

__all__ = [
    "NEW_ROWS",
    "Adaptation",
    "CarriedMatrix",
    "MovedToken",
    "MovedTokens",
    "Residue",
    "Residues",
    "adapt",
]
