# Two runs, row by row: snakemake --cores 1 compare --config compare='{base: reports/a, new: reports/b}'
#
# Only the mark of a good end is an output: Snakemake would delete the comparison of a failed job, which is the one
# that somebody has to read.

PAIR = [Path(run).resolve().name for run in (STUDY.config.compare.base or "none", NEW_RUN)]
COMPARISON = f"reports/compare-{PAIR[0]}-{PAIR[1]}"


rule compare:
    input:
        compared_runs,
        script_sources("scripts/compare.py"),
    output:
        touch(f"logs/compare/{PAIR[0]}-{PAIR[1]}.ok"),
    log:
        text=f"logs/compare/{PAIR[0]}-{PAIR[1]}.log",
        comparison=f"{COMPARISON}/comparison.md",  # Snakemake's error block names logs, not a rule's message
    localrule: True
    params:
        base=lambda wildcards: STUDY.config.compare.base,
        new=lambda wildcards: NEW_RUN,
        folder=COMPARISON,
        threshold=STUDY.config.compare.threshold_pct,
        force="--force" if STUDY.config.compare.force else "",
    message:
        "compare: {params.new} against {params.base} -> {params.folder}/comparison.md (log: {log.text})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/compare.py" {params.base:q} {params.new:q} --output {params.folder:q}'
        " --threshold-pct {params.threshold} {params.force} 2>&1 | tee {log.text:q}"
