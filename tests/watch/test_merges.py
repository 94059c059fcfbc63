"""Watching a training by merges: the keys, and what they bring to the screen."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.explain import models
from tests.metrics.models import document
from tests.watch.screens import app_of, screen, seen
from tokctl import Tokenizer
from tokctl.extras.watch.app import Words
from tokctl.extras.watch.drawing import named
from tokctl.report.visible import BACKGROUNDS

#: The background colours of tokens: those of their places, and that of a new one.
TOKEN_COLOURS = {*BACKGROUNDS, "#f2c14e"}


def toy_bpe(size: int = 21) -> Tokenizer:
    return models.toy(models.NOTEBOOK_BPE, size)


def test_the_first_screen_and_the_first_step() -> None:
    before, after = seen(app_of(toy_bpe(), models.TOY), "right")
    assert before.splitlines()[:10] == [
        " BPE model.json on text.txt",
        " step 0 of 9 ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ vocabulary 12",
        " Before the first merge: words are initial symbols.",
        " 5 words, 102 tokens",
        " Words after step 0  changed first, by count, 1-5 of 5",
        "   6 n│e│w│e│s│t│_",
        "   5 l│o│w│_",
        "   3 w│i│d│e│s│t│_",
        "   2 l│o│w│e│r│_",
        "   1 l│o│n│g│e│r│_",
    ]
    assert after.splitlines()[:10] == [
        " BPE model.json on text.txt",
        " step 1 of 9 ████░░░░░░░░░░░░░░░░░░░░░░░░░░░░ vocabulary 13",
        " e + s → ┃es┃  count 9",
        " changes 2 of 5 words, 9 times; 93 tokens",
        " Words after step 1  changed first, by count, 1-5 of 5",
        " * 6 n│e│w┃es┃t│_",
        " * 3 w│i│d┃es┃t│_",
        "   5 l│o│w│_",
        "   2 l│o│w│e│r│_",
        "   1 l│o│n│g│e│r│_",
    ]
    for shown in (before, after):
        assert " Pairs before step 1  best of 17 pairs\n" in shown
        assert "3 pairs share the highest count" in shown
        assert " ▸1 e + s  9\n  2 s + t  9\n  3 t + _  9\n  4 l + o  8\n" in shown
    assert after.splitlines()[-1].startswith("→ next ← back g go / find f follow a play")


def test_initial_tokens_and_cut_characters_are_named() -> None:
    text = "aé aè aê"
    tokenizer = Tokenizer.train(
        [document(text)], vocab_size=300, whole_characters=True, initial_tokens=["zz"]
    )
    first, second = seen(app_of(tokenizer, text), "right", "right")[1:]
    assert "Step 1 is one of those that make the initial tokens." in first
    assert "cuts a character" in second and "marked ! may not be merged" in " ".join(second.split())


def test_the_score_of_wordpiece_is_shown_with_its_numbers() -> None:
    tokenizer = models.toy(models.NOTEBOOK_WORDPIECE, 100)
    _, first, fourth = seen(app_of(tokenizer, models.TOY), "n", "g 4 enter")
    assert "_n + _g → ┃_ng┃  score 1 / (1 * 1) = 1\n" in first
    assert "The highest score: no other pair has it." in first
    assert "w + _i  3 / (3 * 3) = 1/3 ≈ 0.333" in first
    assert "l + _o → ┃lo┃  score 8 / (8 * 8) = 1/8 ≈ 0.125\n" in fourth
    assert "share the highest score" in fourth


def step(shown: str) -> int:
    return int(shown.splitlines()[1].split()[1].replace(",", ""))


def test_keys_move() -> None:
    tokenizer = models.model("end")
    total = len(tokenizer.merges)
    assert total > 20
    moves = {
        "right": 1, "n": 2, "space": 3, "left": 2, "p": 1, "p p": 0, "left left": 0,
        "pagedown": 10, "pageup pageup": 0, "]": total, "right ": total, "[": 0,
        "end": total, "home": 0, "g 7 enter": 7, "g escape": 7, "g enter": 7, "g 0 enter": 0,
    }  # fmt: skip
    app = app_of(tokenizer, models.TEXT)
    shown = seen(app, *moves)
    assert [step(each) for each in shown[1:]] == list(moves.values())
    assert " this is the first step\n" in shown[7]
    assert " this is the last step\n" in shown[11]


def test_a_step_that_is_not_there_says_so() -> None:
    app = app_of(toy_bpe(), models.TOY)
    _, far, word, huge = seen(
        app, "g 99 enter", "g x1 enter", f"g {'9' * 30} enter", size=(100, 24)
    )
    assert "there is no step 99: this model has 9 steps; choose one from 0 to 9\n" in far
    assert "'x1' is not a number; type a number, for example 120\n" in word
    assert "is not a number" in huge
    assert step(far) == step(word) == step(huge) == 0


def test_the_step_that_makes_a_token_is_found() -> None:
    app = app_of(toy_bpe(), models.TOY)
    _, found, missing, letter = seen(
        app, "slash low enter", "slash lowest enter", "slash e enter", size=(100, 24)
    )
    assert "lo + w → ┃low┃  count 7\n" in found
    assert " low is made by step 5\n" in found
    assert "no step makes 'lowest': the model has no such token" in missing
    assert "no step makes 'e': it was there before the first step" in letter
    bytes_model = Tokenizer.train([document(models.TEXT)], vocab_size=300, recipe=models.BYTES)
    token = next(token for token in reversed(bytes_model.tokens) if token.startswith("Ġ"))
    app = app_of(bytes_model, models.TEXT)
    _, spaced = seen(app, f"slash space {token[1:]} enter")
    assert f"→ ┃{token}┃" in spaced


def test_a_word_is_followed() -> None:
    app = app_of(toy_bpe(), models.TOY)
    start, there, first, last, back, none = seen(app, "f lower enter", "N", "N N", "P", "f enter")
    assert "Following" not in start
    assert "Following lower (2)  next change at 4\n" in there
    assert "▸0 l│o│w│e│r│_\n  4 lo│w│e│r│_\n" in there
    assert "▸2 l│o│w│e│r│_\n" in there  # among the words
    bar = there.splitlines()[1].split("of 9 ")[1].split(" voc")[0]
    assert [at for at, cell in enumerate(bar) if cell == "●"] == [
        int(step / 9 * len(bar)) for step in (4, 5)
    ]
    assert step(first) == 4
    assert "this step changes it\n" in first and "▸4 ┃lo┃w│e│r│_\n" in first
    assert step(last) == 5
    assert "no later step changes this word" in last
    assert step(back) == 4
    assert "Following" not in none


def test_what_can_not_be_followed_or_found() -> None:
    app = app_of(toy_bpe(), models.TOY)
    _, unknown, nothing = seen(app, "f zebra enter", "N")
    assert "no word of this text contains 'zebra'" in unknown
    assert "follow a word first: f" in nothing


def test_a_click_follows_a_word_and_the_bar_leads_to_a_step() -> None:
    app = app_of(toy_bpe(), models.TOY)

    async def go() -> None:
        async with app.run_test(size=(60, 24)) as pilot:
            await pilot.click(Words, offset=(8, 4))
            await pilot.pause()
            assert app.followed == 1
            assert "Following lower (2)" in screen(app)
            await pilot.click("Top", offset=(44, 1))
            await pilot.pause()
            assert app.frame.step == 9
            await pilot.click("Top", offset=(14, 1))
            assert app.frame.step == 0
            await pilot.click("Top", offset=(2, 1))
            await pilot.click("Top", offset=(2, 0))
            await pilot.click(Words, offset=(8, 0))
            assert app.frame.step == 0 and app.followed == 1

    asyncio.run(go())


def words(shown: str) -> list[str]:
    lines = shown.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(" Words after")) + 1
    end = next(at for at, line in enumerate(lines) if line.startswith("──"))
    return [
        line.split()[-1].replace("┃", "│").replace("│", "") for line in lines[start:end] if line
    ]


def test_words_scroll_and_are_arranged() -> None:
    text = " ".join(f"w{letter}" * (1 + at % 3) for at, letter in enumerate("abcdefghijklmnop"))
    tokenizer = Tokenizer.train({"wa": 1}, vocab_size=4, recipe=replace(models.CHARACTERS))
    app = app_of(tokenizer, text)
    _, first, down, up, page, back, changed, orders, end = seen(
        app, "o", "down j", "k", "J", "K K", "end c", "o", "J J J J"
    )
    assert words(first)[:3] == ["wa", "wbwb", "wcwcwc"]
    assert words(down) == [*words(first)[2:], *words(down)[-2:]]
    assert words(up)[0] == words(first)[1]
    assert len(words(page)) == len(words(first))
    assert words(back) == words(first)
    assert words(changed)[0] == "wa" and "changed first" in changed
    assert "scan order" in orders
    assert words(end)[-1] == "wp"  # not further than the last


def test_changed_words_come_by_count() -> None:
    text = "aab ab " + "xab " * 9 + "yab " * 40 + "zz " * 50 + "zy " * 3
    app = app_of(Tokenizer.train([document("ab")], vocab_size=9, recipe=models.CHARACTERS), text)
    _, after, scan, by_count = seen(app, "right", "c", "c o o")
    assert "ab  count" in after.replace("┃", "")
    assert words(after) == ["yab", "xab", "aab", "ab", "zz", "zy"]
    assert words(scan) == ["aab", "ab", "xab", "yab", "zz", "zy"]
    assert words(by_count) == ["zz", "yab", "xab", "zy", "aab", "ab"]


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [(60, 24), (140, 24), (60, 15), (20, 6)])
def test_the_followed_word_is_always_in_view(size: tuple[int, int]) -> None:
    """Whatever is scrolled, in every order, after every step, and without hiding another."""
    text = " ".join(f"w{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(200))
    tokenizer = Tokenizer.train([document(text)], vocab_size=60, recipe=models.CHARACTERS)
    app = app_of(tokenizer, text)

    async def go() -> set[str]:
        listed = set()
        async with app.run_test(size=size) as pilot:
            await pilot.press("f", *"wdx", "enter")
            assert app.followed == 3 * 26 + 23
            for key in ("right", "J", "o", "J", "K", "o", "end", "c", "+", "home"):
                if key == "+":
                    app.action_scroll_words(len(app.replay.counts))
                else:
                    await pilot.press(key)
                # A panel that comes takes lines of the list, which is then drawn once more.
                for _ in range(100):
                    await pilot.pause()
                    lines = screen(app).splitlines()
                    rows = lines[lines.index(next(n for n in lines if " Words after" in n)) + 1 :]
                    room = app.query_one(Words).room
                    rows = [line[: size[0] // 2 if size[0] >= 90 else None] for line in rows[:room]]
                    marked = [line for line in rows if line[1:3] in (" ▸", "*▸")]
                    if marked:
                        break
                assert len(marked) == 1, (key, rows)
                tokens = [row.replace("┃", "").replace("│", "").split() for row in rows]
                assert marked[0].replace("┃", "").replace("│", "").split()[-1] == "wdx"
                listed |= {words[-1] for words in tokens if words}
        return listed

    listed = asyncio.run(go())
    assert "wdx" in listed
    assert text.split()[-1] in listed  # the end is reached


def test_the_room_is_used_after_a_resize() -> None:
    app = app_of(models.model("end"), models.TEXT)
    distinct = len(app.replay.counts)
    assert distinct == 17

    async def go() -> dict[tuple[int, int], str]:
        shown = {}
        async with app.run_test(size=(60, 24)) as pilot:
            await pilot.press("right", "right")
            for size in ((60, 24), (160, 50), (100, 30), (60, 40), (40, 12), (20, 6), (60, 24)):
                await pilot.resize_terminal(*size)
                for _ in range(10_000):
                    await pilot.pause(0.01)
                    shown[size] = screen(app)
                    words = min(distinct, app.query_one(Words).room)
                    if fits(shown[size], size) and len(app.frame.words) == words:
                        break
                assert len(app.frame.words) == words, size
        return shown

    shown = asyncio.run(go())
    assert all(fits(each, size) for size, each in shown.items())


def fits(shown: str, size: tuple[int, int]) -> bool:
    """Is all of the room used, and no more? The pairs stand beside the words where there is most,
    below them where there is some."""
    lines = shown.split("\n")
    titles = [line for line in lines if "Words after step 2" in line]
    titles += [line for line in lines if "Pairs before step 2" in line]
    return (
        len(lines) == size[1]
        and max(map(len, lines)) <= size[0]
        and (size[0] < 60 or len(titles) == 2)
        and (size[0] < 160 or titles[0] == titles[1])
    )


def test_it_goes_on_by_itself() -> None:
    app = app_of(toy_bpe(), models.TOY)

    async def go() -> None:
        async with app.run_test(size=(60, 24)) as pilot:
            await pilot.press("minus")
            assert "0.5 steps a second" in app.message
            await pilot.press("a")  # slow enough to be seen on a busy machine
            assert "playing" in app.message
            await pilot.press("a", *["plus"] * 9)
            assert "16 steps a second" in app.message
            await pilot.press("a")
            while app.message != "this is the last step":
                await pilot.pause(0.02)
            assert app.frame.step == 9
            await pilot.press("home", "a", "a")
            assert app._playing is None and app.message == ""

    asyncio.run(go())


def test_help_theme_and_leaving() -> None:
    app = app_of(toy_bpe(), models.TOY)

    async def go() -> None:
        async with app.run_test(size=(60, 24)) as pilot:
            assert app.current_theme.dark
            await pilot.press("t")
            assert not app.current_theme.dark
            await pilot.press("question_mark")
            await pilot.pause()
            assert "Keys" in screen(app) and "the next step" in screen(app)
            await pilot.press("down", "x")
            await pilot.pause()
            assert "Words after step 0" in screen(app)
            await pilot.press("q")
            await pilot.pause()
            assert app._exit

    asyncio.run(go())
    assert not app_of(toy_bpe(), models.TOY, light=True).current_theme.dark


def test_escape_goes_back_one_level_and_asks_before_it_leaves() -> None:
    app = app_of(toy_bpe(), models.TOY)

    async def go() -> None:
        async with app.run_test(size=(60, 24)) as pilot:

            async def escape() -> str:
                await pilot.press("escape")
                await pilot.pause()
                return screen(app)

            await pilot.press("f", *"lower", "enter", "a", "slash")
            assert "Enter answers" in screen(app)
            assert "Leave?" not in await escape()  # the prompt is closed
            assert app.followed == 1
            await pilot.press("question_mark")
            await pilot.pause()
            assert "Keys" in screen(app)
            assert "Keys" not in await escape()
            await pilot.press("a")
            assert app._playing
            assert "stopped" in await escape()
            assert app._playing is None and app.followed == 1
            assert "Following" not in await escape()
            assert "Leave? y or Enter leaves, Esc stays." in await escape()
            assert "Leave?" not in await escape()
            await escape()
            await pilot.press("right")  # any other key stays, and does nothing else
            await pilot.pause()
            assert "Leave?" not in screen(app) and app.frame.step == 0
            assert not app._exit
            await escape()
            await pilot.press("y")
            await pilot.pause()
            assert app._exit

    asyncio.run(go())


def test_colour_covers_tokens_and_nothing_else() -> None:
    """No space and no bar in it: those would look like characters of the token."""
    app = app_of(models.model("end"), models.TEXT + " a│b┃c")

    async def go() -> int:
        coloured = 0
        async with app.run_test(size=(140, 40)) as pilot:
            await pilot.press("f", *"newest", "enter", "right", "right")
            await pilot.pause()
            for strip in app.screen._compositor.render_strips():
                for segment in strip:
                    background = segment.style and segment.style.bgcolor
                    if background and background.get_truecolor().hex in TOKEN_COLOURS:
                        assert not set(segment.text) & set(" │┃"), segment
                        coloured += 1
        return coloured

    assert asyncio.run(go()) > 50
    assert named("a│b┃") == "a\\u2502b\\u2503"


@pytest.mark.parametrize("color", [True, False])
def test_the_new_token_is_told_without_colour(color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown = seen(app_of(toy_bpe(), models.TOY, color=color), "right")
    assert " * 6 n│e│w┃es┃t│_\n" in shown
