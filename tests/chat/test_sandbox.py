# ruff: noqa: E501  (templates have the lines that they have)
"""Templates that do harm, or never end, are errors that name their line."""

from __future__ import annotations

import pytest

from tests.chat.forms import tokenizer, user
from tests.errors import raises_code
from tokctl import TokctlError, encode_chat
from tokctl.extras.chat import sandbox

FAULTS = {
    "{% if %}": "line 3: Expected an expression",
    "{% nonsense %}": "line 3: Encountered unknown tag",
    "{{ raise_exception('no system') }}": "line 3 refuses the conversation: no system",
    "{{ messages[9].content.x }}": "line 3 fails: list object has no element 9",
    "{{ 1 / 0 }}": "line 3 fails: ZeroDivisionError",
    "{{ ''.__class__.__mro__ }}": "line 3 does what templates may not do",
    "{{ cycler.__init__.__globals__.os }}": "line 3 does what templates may not do",
    "{{ namespace(__class__=1) }}": "line 3 does what templates may not do",
    "{{ messages.append(1) }}": "line 3 does what templates may not do",
    "{{ '{0.__class__.__mro__}'.format(1) }}": "line 3 does what templates may not do",
    "{% include 'other' %}": "line 3 fails: .*no loader",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}": "not end",
    "{% for i in range(999999) %}{% endfor %}": "Range too big",
    "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}": "not end",
    "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}": "RecursionError",
    "{{ 'a' * 10**9 }}": "longer than",
    "{{ 10 ** (10 ** 9) }}": "a number longer than",
    "{{ 2 ** 9000 * 2 ** 9000 }}": "a number longer than",
    "{{ [1] * 10**9 }}": "longer than",
    "{{ 'x'.ljust(10**10) }}": "longer than",
    "{{ 'x' | center(10**10) }}": "longer than",
    "{{ 'x' | indent(10**10, true) }}": "longer than",
    "{{ '%9999999999d' % 1 }}": "longer than",
    "{{ '%*d' % (10**10, 1) }}": "longer than",
    "{{ '{:>9999999999}'.format(1) }}": "longer than",
    "{{ ('a' * 9000).replace('', 'b' * 9000) }}": "longer than",
    "{{ ('a' * 9000) | replace('a', 'b' * 9000) }}": "longer than",
    "{{ ('a' * 9000).translate({97: 'b' * 9000}) }}": "longer than",
    "{{ lipsum(n=10**9) }}": "read more",
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}": "longer than",
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}": "longer than",
    "{% for i in range(9999) %}{{ 'a' * 9999 }}{% endfor %}": "longer than",
}


@pytest.mark.parametrize("template", FAULTS)
def test_a_fault(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MOST_STEPS", 20_000)
    with pytest.raises(TokctlError, match=FAULTS[template]) as raised:
        encode_chat(tokenizer(), [user("x")], template="a\nb\n" + template)
    assert raised.value.hint


_NESTED = "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}"
#: Few steps, each of which takes long, or makes much.
MUCH = [
    *(
        "{{ n.x }}",
        "{{ n.x | tojson }}",
        "{{ n.x | string }}",
        "{{ n.x ~ '' }}",
        "{{ n.x == n.y }}",
    ),
    *("{{ '%s' % n.x }}", "{{ '{}'.format(n.x) }}", "{{ dict(a=n.x) }}", "{{ n.x in [n.y] }}"),
    "{% set t = 'a' * 99999 %}{% for i in range(999) %}{% set u = t[1:] %}{% endfor %}",
    "{% set t = 'a' * 99999 %}{% for i in range(999) %}{% set u = t.count('b') %}{% endfor %}",
    "{% set t = [1] * 9999 %}{% for i in range(999) %}{% if 2 in t %}{% endif %}{% endfor %}",
    "{% set t = [1] * 9999 %}{% for i in range(999) %}{% set u = t | sort %}{% endfor %}",
    "{% for i in range(999) %}{% set u = range(9999) | join %}{% endfor %}",
    "{{ ('a ' * 99999) | wordwrap(1) }}",
]


@pytest.mark.parametrize("template", MUCH)
def test_much_at_once(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MOST_STEPS", 20_000)
    monkeypatch.setattr(sandbox, "MOST_WORK", 1 << 20)
    with raises_code("too-large") as raised:
        encode_chat(tokenizer(), [user("x")], template=_NESTED + template)
    assert raised.value.hint


def test_large_numbers_are_no_lengths() -> None:
    template = "{{ 'n' ~ 17000000000 }}{{ '%d' % 17000000000 }}{{ [17000000000] | join('') }}"
    text = encode_chat(tokenizer(), [user("x")], template=template).text
    assert text == "n" + 2 * "17000000000" + "17000000000"


def test_a_loop_knows_its_length() -> None:
    template = (
        "{% for m in messages %}{{ loop.index }}/{{ loop.length }}{{ loop.last }}{% endfor %}"
    )
    two = [user("x"), user("y")]
    assert encode_chat(tokenizer(), two, template=template).text == "1/2False2/2True"
