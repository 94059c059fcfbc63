"""`tokctl train`: a model file from texts."""

import os
from dataclasses import replace

import typer

from tokctl.cli import options, recipes, streams, train_output, train_report
from tokctl.cli import train_checks as checks
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
    app.command("train", cls=options.Command, epilog=EXAMPLES, short_help=SHORT)(train)


def train(
    context: typer.Context,
    files: options.TrainFiles = None,
    algo: options.Algo = None,
    vocab: options.Vocab = 10_000,
    output: options.TrainOutput = None,
    preset: options.Preset = None,
    list_presets: options.ListPresets = False,
    special: options.TrainSpecial = None,
    show_steps: options.ShowSteps = 0,
    threads: options.TrainThreads = None,
    memory: options.Memory = None,
    json: options.TrainJson = False,
    counts: options.TrainCounts = False,
    save_counts: options.SaveCounts = None,
    weight: options.Weight = None,
    sample: options.TrainSample = None,
    seed: options.TrainSeed = None,
    extend: options.Extend = None,
    errors: options.TrainErrors = "strict",
    normalize: options.Normalize = None,
    pretokenize: options.Pretokenize = None,
    characters: options.Characters = None,
    graphemes: options.Graphemes = False,
    marker: options.Marker = None,
    min_count: options.MinCount = 1,
    min_frequency: options.MinFrequency = 1,
    max_token_length: options.MaxTokenLength = None,
    coverage: options.Coverage = None,
    alphabet_limit: options.AlphabetLimit = None,
    initial_alphabet: options.InitialAlphabet = "",
    score: options.Score = None,
    tie_break: options.TieBreak = None,
    unk_token: options.UnkToken = None,
    byte_fallback: options.ByteFallback = None,
    fuse_unknown: options.FuseUnknown = None,
    segment: options.Segment = None,
    unknown: options.Unknown = None,
    max_input_chars: options.MaxInputChars = None,
    template: options.Template = None,
    decoder: options.Decoder = None,
    format: options.Format = "auto",  # noqa: A002
    text_field: options.TextField = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    files_from: options.FilesFrom = None,
    files0_from: options.Files0From = None,
) -> None:
    """Train a tokenizer on texts and write its model file: a tokenizer.json that Hugging Face
    libraries load, where that format can hold the recipe.
    """
    world: World = context.obj
    sources = streams.Sources(format, text_field, include, exclude, files_from, files0_from)
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
