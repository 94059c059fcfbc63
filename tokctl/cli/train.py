"""`tokctl train`: a model file from texts."""

from __future__ import annotations

import os
from dataclasses import replace

import typer

from tokctl.cli import options, recipes, source_options, streams, train_output, train_report
from tokctl.cli import recipe_options as described
from tokctl.cli import train_checks as checks
from tokctl.cli import train_options as given
from tokctl.cli.world import World, visible
from tokctl.errors import TokctlError

EXAMPLES = """Examples:

  tokctl train book.txt
  tokctl train --algo wordpiece --vocab 20000 book.txt
  tokctl train --preset gpt2 --vocab 50257 corpus/
  tokctl train --text-field body corpus.jsonl.zst
  cat book.txt | tokctl train --vocab 5000 -
  tokctl train --vocab 300 --show-steps 5 book.txt
  tokctl train -a unigram --coverage 0.9995 book.txt
  tokctl train --normalize nfc --pretokenize digits,gpt2 a
  tokctl train --special '<s>' --template '<s> $A' a.txt
  tokctl train --weight small=3 --sample 0.5 small large
  tokctl train --memory 2G --min-count 2 huge.txt.zst
  tokctl train --save-counts words.tsv.gz large.txt
  tokctl train --counts words.tsv.gz --algo unigram
  tokctl train --extend a.bpe.json --vocab 12000 b.txt
  M=$(tokctl train -q book.txt)

The path of the file that was written goes to stdout,
alone on a line; everything else goes to stderr. Ctrl-C
stops it, and no model is written. The same texts and
options give the same file, on any number of threads
and with any --memory."""


SHORT = "Train a tokenizer on texts and write its model file."


def register(app: typer.Typer) -> None:
    app.command("train", epilog=EXAMPLES, short_help=SHORT)(options.with_globals(train))


def train(
    world: World,
    files: given.Files = None,
    algo: described.Algo = None,
    vocab: given.Vocab = 10_000,
    output: given.Output = None,
    preset: described.Preset = None,
    list_presets: given.ListPresets = False,
    special: described.Special = None,
    show_steps: given.ShowSteps = 0,
    threads: given.Threads = None,
    memory: given.Memory = None,
    json: given.Json = False,
    counts: given.Counts = False,
    save_counts: given.SaveCounts = None,
    weight: given.Weight = None,
    sample: given.Sample = None,
    seed: given.Seed = None,
    extend: given.Extend = None,
    errors: given.Errors = "strict",
    normalize: described.Normalize = None,
    pretokenize: described.Pretokenize = None,
    characters: described.Characters = None,
    graphemes: described.Graphemes = False,
    marker: described.Marker = None,
    min_count: given.MinCount = 1,
    min_frequency: given.MinFrequency = 1,
    max_token_length: given.MaxTokenLength = None,
    coverage: given.Coverage = None,
    alphabet_limit: given.AlphabetLimit = None,
    initial_alphabet: given.InitialAlphabet = "",
    score: described.Score = None,
    tie_break: described.TieBreak = None,
    unk_token: described.UnkToken = None,
    byte_fallback: described.ByteFallback = None,
    fuse_unknown: described.FuseUnknown = None,
    segment: described.Segment = None,
    unknown: described.Unknown = None,
    max_input_chars: described.MaxInputChars = None,
    template: described.Template = None,
    decoder: described.Decoder = None,
    sources: source_options.Sources = source_options.NONE,
) -> None:
    """Train a tokenizer on texts and write its model file: a tokenizer.json that Hugging Face
    libraries load, where that format can hold the recipe.
    """
    if list_presets:
        train_report.list_presets(world, json=json)
        return
    asked_recipe = {
        "algo": algo,
        "preset": preset,
        "special": special or [],
        "normalize": normalize,
        "pretokenize": pretokenize,
        "characters": characters,
        "graphemes": graphemes,
        "marker": marker,
        "unk_token": unk_token,
        "byte_fallback": byte_fallback,
        "fuse_unknown": fuse_unknown,
        "score": score,
        "tie_break": tie_break,
        "segment": segment,
        "unknown": unknown,
        "max_input_chars": max_input_chars,
        "template": template,
        "decoder": decoder,
        "show_steps": show_steps,
        "min_frequency": min_frequency,
    }
    from tokctl import training

    old = None if extend is None else streams.load_model(world, extend).model
    notes: list[str] = []
    recipe = recipes.recipe_of(asked_recipe, old.recipe if old else None, notes.append)
    options.choose("--errors", errors, ("strict", "replace"))
    if seed is not None and sample is None:
        raise TokctlError("--seed is for --sample", "add --sample SHARE, or leave --seed out")
    asked = training.Options(
        memory=checks.memory(memory),
        vocab_size=vocab,
        min_count=min_count,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        threads=threads,
        errors=errors,
        coverage=checks.share("--coverage", coverage),
        alphabet_limit=alphabet_limit,
        initial_alphabet=initial_alphabet,
        weights=checks.weights(weight or []),
        sample=checks.share("--sample", sample),
        seed=seed or 0,
        extend=old,
    )
    checks.check_before(recipe, asked, counts, files, sources)
    # Lines of counts would pass for a table of texts.
    lines = streams.documents(world, files) if counts else []
    texts = lines or sources.open(world, files)
    path = train_output.model_path(output, files or [], texts, recipe)
    read = [*(files or ["-"]), *(source.name for source in texts)]
    streams.check_output(world, path, read, extend)
    if save_counts is not None:
        checks.check_save_counts(world, save_counts, path, texts, asked, read, extend)
    if asked.memory is not None:
        asked = replace(asked, temporary=train_output.temporary_folder(world, path))
    for note in notes:
        world.say(f"note: {visible(note)}")

    from tokctl.cli.progress import Bars
    from tokctl.tokenizer import Tokenizer

    timing = training.Timing()
    with Bars(world, rounds=recipe.traits.has_scores) as bars:
        # In two steps: --show-steps needs the counts, and stdin can't be read again.
        if counts:
            counted, text = training.count_lines(lines[0], recipe, asked, bars)
        else:
            counted, text = training.count(texts, recipe, asked, bars)
        if save_counts is not None:
            from tokctl.training.counts import save

            # Before the training: whatever becomes of it, the counts are there.
            save(save_counts, counted)
        timing.lap("count")
        model = training.fill(counted, text, recipe, asked, bars, timing)
    if why := checks.more_than_memory(counted, asked):
        world.say(f"note: {why}")
    tokenizer = Tokenizer(model)
    tokenizer.save(path)
    timing.lap("write")
    train_report.report(world, tokenizer, timing, counted if show_steps else None, show_steps)
    from tokctl import formats

    if why := formats.obstacle(tokenizer.model):
        world.say(f"note: Hugging Face refuses this file: {visible(why)}")
    if json:
        import orjson

        facts = train_report.facts(tokenizer, path, timing)
        world.stdout.write(orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
    elif not streams.is_same_file(world.stdout, path):  # else the model itself went there
        world.stdout.write(os.fsencode(path) + b"\n")
