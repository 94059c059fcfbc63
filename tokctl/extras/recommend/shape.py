"""The shape of the language model that a tokenizer is for, and the cost of its embeddings."""

from __future__ import annotations

from dataclasses import dataclass

from tokctl.core.errors import BadOption

#: Width over depth: the Llama models of 7 and 13 billion parameters and GPT-3 have 128. Losses
#: differ little from 50 to 200 (Kaplan et al. 2020, arXiv 2001.08361, figure 5).
ASPECT = 128
#: Fit of Tao et al. 2024 (arXiv 2407.13623), second approach: the vocabulary parameters at 33
#: million other parameters, and the exponent.
TAO_VOCABULARY, TAO_OTHERS, TAO_EXPONENT = 3_145_728, 33_000_000, 0.8354


@dataclass(frozen=True)
class ModelShape:
    """A decoder-only Transformer, given the number of its parameters without embeddings.

    N = 12 · layers · width² (Kaplan et al. 2020), with width = 128 · layers.

    Attributes:
        parameters: N, without embeddings.
        width: Width of the residual stream, a multiple of 64.
        layers: Number of layers, so that 12 · layers · width² is about N.
    """

    parameters: int
    width: int
    layers: int

    @classmethod
    def of(cls, parameters: int) -> ModelShape:
        """Return the shape for N parameters; raise TokctlError if N is out of range."""
        if type(parameters) is not int or not 1000 <= parameters <= 10**15:
            raise BadOption(
                f"invalid value {parameters!r} for parameters",
                "give a number from a thousand (1K) to a thousand billion and more: 125M, 7B"
                if isinstance(parameters, int)
                else "give a whole number: 1_000_000_000",
                "bad-value",
            )
        width = max(64, 64 * round((ASPECT * parameters / 12) ** (1 / 3) / 64))
        return cls(parameters, width, max(1, round(parameters / (12 * width**2))))

    def embedding(self, vocabulary: int) -> int:
        """Return the number of parameters of one embedding matrix: vocabulary · width."""
        return vocabulary * self.width

    def share(self, vocabulary: int, *, tied: bool = True) -> float:
        """Return the embeddings' share of all parameters; untied embeddings are two matrices."""
        parameters = self.embedding(vocabulary) * (1 if tied else 2)
        return parameters / (self.parameters + parameters)

    def flops_per_byte(self, vocabulary: int, bytes_per_token: float) -> float:
        """Return the training compute in FLOPs per byte of text.

        6 · (N + vocabulary · width) / bytes per token.

        The output layer multiplies by its matrix; the input embedding is a look-up. Attention over
        the context is left out, because its cost per token does not depend on the vocabulary.
        """
        return 6 * (self.parameters + self.embedding(vocabulary)) / bytes_per_token

    @property
    def by_scaling_law(self) -> int:
        """Return the vocabulary size that Tao et al. 2024 predict at this width."""
        law: float = TAO_VOCABULARY * (self.parameters / TAO_OTHERS) ** TAO_EXPONENT
        return round(law / self.width)
