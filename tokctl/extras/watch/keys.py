"""The keys: one list for the bindings, the footer, the help and the documentation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """A key and its action.

    Attributes:
        keys: Textual's names of the keys, with commas between them.
        shown: the names of the keys in the help.
        action: the action of the application.
        what: the help text.
        short: the word in the footer; empty: the footer does not show the key.
    """

    keys: str
    shown: str
    action: str
    what: str
    short: str = ""


KEYS = (
    Key("right,n,space", "→ n Space", "go_by(1)", "the next step", "next"),
    Key("left,p", "← p", "go_by(-1)", "the previous step", "back"),
    Key("pagedown", "PgDn", "go_by(10)", "ten steps forward"),
    Key("pageup", "PgUp", "go_by(-10)", "ten steps back"),
    Key("right_square_bracket", "]", "go_by(100)", "a hundred steps forward"),
    Key("left_square_bracket", "[", "go_by(-100)", "a hundred steps back"),
    Key("home", "Home", "first_step", "the start"),
    Key("end", "End", "last_step", "the last step"),
    Key("g", "g", "ask_step", "go to a step by its number", "go"),
    Key("slash", "/", "ask_token", "find the step that makes a token", "find"),
    Key("f", "f", "ask_word", "follow a word (empty: stop following)", "follow"),
    Key("N", "N", "next_change", "the followed word's next change"),
    Key("P", "P", "previous_change", "the followed word's previous change"),
    Key("a", "a", "play", "play or stop", "play"),
    Key("plus,equals_sign", "+", "faster(1)", "faster"),
    Key("minus", "-", "faster(-1)", "slower"),
    Key("c", "c", "changed_first", "changed words first, or scan order"),
    Key("o", "o", "next_order", "another order of the words"),
    Key("down,j", "↓ j", "scroll_words(1)", "words: a line down (or the wheel)"),
    Key("up,k", "↑ k", "scroll_words(-1)", "words: a line up"),
    Key("J,shift+down", "J", "page_words(1)", "words: a page down"),
    Key("K,shift+up", "K", "page_words(-1)", "words: a page up"),
    Key("t", "t", "toggle_light", "light or dark"),
    Key("question_mark", "?", "show_help", "this help", "help"),
    Key("escape", "Esc", "back_out", "close what is open, else ask whether to leave"),
    Key("q,ctrl+c", "q", "quit", "leave at once", "quit"),
)
