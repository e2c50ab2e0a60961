# Two runs, row by row: snakemake --cores 1 compare --config compare='{base: reports/a, new: reports/b}'
#
# Only the mark of a good end is an output: Snakemake would delete the comparison of a failed job, which is the one
# that somebody has to read.

from kernel_ledger.errors import ConfigError

NEW_RUN = STUDY.config.compare.new or STUDY.output
PAIR = [Path(run).resolve().name for run in (STUDY.config.compare.base or "none", NEW_RUN)]
COMPARISON = f"reports/compare-{PAIR[0]}-{PAIR[1]}"


def compared_runs(wildcards):
    """What the comparison reads; a new run that is this study's own is made first."""
    if not STUDY.config.compare.base:
        problem = ConfigError(
            "nothing to compare with",
            where="compare.base",
            expected="the folder of a run that is known to be good",
            next_step="snakemake --cores 1 compare --config compare='{base: reports/a, new: reports/b}'",
        )
        stop(problem)
    return [
        f"{run}/{name}"
        for run in (STUDY.config.compare.base, NEW_RUN)
        for name in ("results.csv", "verdict.json")
    ]


rule compare:
    input:
        compared_runs,
        script_sources("scripts/compare.py"),
    output:
        touch(f"logs/compare/{PAIR[0]}-{PAIR[1]}.ok"),
    log:
        f"logs/compare/{PAIR[0]}-{PAIR[1]}.log",
    params:
        base=lambda wildcards: STUDY.config.compare.base,
        new=lambda wildcards: NEW_RUN,
        folder=COMPARISON,
        threshold=STUDY.config.compare.threshold_pct,
        force="--force" if STUDY.config.compare.force else "",
    message:
        "compare: {params.new} against {params.base} -> {params.folder}/comparison.md (log: {log})"
    shell:
        "{PYTHON} scripts/compare.py {params.base:q} {params.new:q} --output {params.folder:q}"
        " --threshold-pct {params.threshold} {params.force} 2>&1 | tee {log:q}"
