"""Chats: messages rendered by a model's chat template, and encoded.

`template.py` finds the template of a model, `sandbox.py` runs it, `mask.py` says which part of the
text an assistant wrote, `lines.py` reads conversations from JSON Lines.
"""

from __future__ import annotations

from tokctl.chat.template import (
    ChatEncoding,
    Conversation,
    RenderedChat,
    TokenizerChat,
    encode_chat,
)

__all__ = ["ChatEncoding", "Conversation", "RenderedChat", "TokenizerChat", "encode_chat"]
