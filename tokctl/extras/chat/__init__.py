"""Conversations, rendered by a model's chat template and encoded.

`template.py` finds the template of a model, `sandbox.py` runs it, and `bounds.py` limits its
operations. `mask.py` finds the spans that the assistant wrote. `lines.py` reads conversations from
JSON Lines and tables.
"""

from __future__ import annotations

from tokctl.extras.chat.template import (
    ChatEncoding,
    Conversation,
    RenderedChat,
    TokenizerChat,
    encode_chat,
)

__all__ = ["ChatEncoding", "Conversation", "RenderedChat", "TokenizerChat", "encode_chat"]
