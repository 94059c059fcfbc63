"""The fields of SentencePiece's model file that tokctl reads and writes, as a protobuf message.

From `src/sentencepiece_model.proto` of SentencePiece (proto2); all other fields are passed
over. Texts are taken as bytes, so that one that is not UTF-8 can be named.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tokctl.errors import TokctlError

#: Message: field: number, type, label, default. Enumerations are numbers on the wire.
_SCHEMA = {
    "SentencePiece": {
        "piece": (1, "TYPE_BYTES", None),
        "score": (2, "TYPE_FLOAT", None),
        "type": (3, "TYPE_INT32", "1"),
    },
    "TrainerSpec": {
        "model_type": (3, "TYPE_INT32", "1"),
        "vocab_size": (4, "TYPE_INT32", "8000"),
        "treat_whitespace_as_suffix": (24, "TYPE_BOOL", "false"),
        "byte_fallback": (35, "TYPE_BOOL", "false"),
        "unk_id": (40, "TYPE_INT32", "0"),
        "bos_id": (41, "TYPE_INT32", "1"),
        "eos_id": (42, "TYPE_INT32", "2"),
        "pad_id": (43, "TYPE_INT32", "-1"),
        "unk_surface": (44, "TYPE_BYTES", None),
        "unk_piece": (45, "TYPE_BYTES", None),
        "bos_piece": (46, "TYPE_BYTES", None),
        "eos_piece": (47, "TYPE_BYTES", None),
        "pad_piece": (48, "TYPE_BYTES", None),
    },
    "NormalizerSpec": {
        "name": (1, "TYPE_BYTES", None),
        "precompiled_charsmap": (2, "TYPE_BYTES", None),
        "add_dummy_prefix": (3, "TYPE_BOOL", "true"),
        "remove_extra_whitespaces": (4, "TYPE_BOOL", "true"),
        "escape_whitespaces": (5, "TYPE_BOOL", "true"),
    },
    "ModelProto": {
        "pieces": (1, "SentencePiece", "repeated"),
        "trainer_spec": (2, "TrainerSpec", None),
        "normalizer_spec": (3, "NormalizerSpec", None),
        "denormalizer_spec": (5, "NormalizerSpec", None),
    },
}


def parse(data: bytes) -> Any:
    """The `ModelProto` in `data`.

    Raises:
        TokctlError: the package protobuf is missing.
        ValueError: the data is no such message.
    """
    message = _message()
    from google.protobuf.message import DecodeError

    proto = message()
    try:
        proto.ParseFromString(data)
    except (DecodeError, RuntimeError) as error:
        raise ValueError(f"it is no protobuf message ({error})") from None
    return proto


def new() -> Any:
    """A `ModelProto` to fill in; TokctlError where the package protobuf is missing."""
    return _message()()


def serialized(proto: Any) -> bytes:
    """The bytes of a file: the same for the same message."""
    return bytes(proto.SerializeToString(deterministic=True))


@lru_cache(maxsize=1)
def _message() -> Any:
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise TokctlError(
            "a SentencePiece model needs the package protobuf",
            "install it: pip install 'tokctl[sentencepiece]'",
        ) from None
    package = "tokctl.sentencepiece"
    file = descriptor_pb2.FileDescriptorProto(
        name="tokctl_sentencepiece.proto", package=package, syntax="proto2"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, default) in fields.items():
            repeated = default == "repeated"
            entry = message.field.add(
                name=field,
                number=number,
                label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL,
            )
            if kind in _SCHEMA:
                entry.type = kinds.TYPE_MESSAGE
                entry.type_name = f".{package}.{kind}"
            else:
                entry.type = getattr(kinds, kind)
                if default is not None:
                    entry.default_value = default
    # A pool of its own: SentencePiece's package registers its messages in the common one.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.ModelProto"))
