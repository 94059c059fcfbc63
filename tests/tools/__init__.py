"""Programs for the developers of tokctl: benchmarks, fuzzers, comparisons, document generators."""
