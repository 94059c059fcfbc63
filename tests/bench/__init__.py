"""tokctl beside its peers, on the same data, in one run: `python -m tests.bench`.

Nothing here is a timed test: pytest runs `test_bench_suite.py` alone, which looks at the
machinery with a tiny text. How the figures are made stands in `docs/benchmarks.md`, which
`--write` writes.

    rows.py     what is measured: rows, and the contenders of each
    texts.py    the texts, and the models that encoding needs
    driver.py   one fresh process per contender and round, taking turns
    worker.py   that process
    peers/      one module per library: what it is asked to do
    judge.py    from samples to ratios, and is the result right at all?
    report.py   the table, in a terminal and as Markdown
"""
