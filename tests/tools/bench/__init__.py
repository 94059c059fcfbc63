"""tokctl beside its peers, on the same data, in one run: `python -m tests.tools.bench`.

Nothing here is a timed test: pytest runs `test_bench_suite.py`, which looks at the machinery
with a tiny text, and `test_bench_report.py`, which makes up its figures. How the real ones are
made stands in `docs/benchmarks.md`, which `--write` writes.

    rows.py        what a row and a contender are, and the sizes
    work/          the rows: what is measured
    texts.py       the texts, and the models that encoding needs; made.py makes some of them
    driver.py      one fresh process per contender and round, taking turns
    worker.py      that process
    peers/         one module per library: what it is asked to do
    judge.py       from samples to ratios, and is the result right at all?
    likelihood.py  one scorer for the Unigram models of all
    results.py     the file that rows are added to while a run lasts
    targets.py     the targets, and whether the run reached them
    curves.py      how time grows, as tables; chart.py draws it
    report.py      the tables, in a terminal and as Markdown; page.py has the page's words
"""
