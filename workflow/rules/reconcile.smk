# Both books, and every figure of the program's own, into one table and one verdict.


rule reconcile:
    input:
        STUDY.evidence(),
        script_sources("scripts/reconcile.py"),
        plan=f"{STUDY.captures}/plan.json",
    output:
        report(
            f"{STUDY.output}/results.csv",
            caption="../report/results.rst",
            category="Results",
            labels={"what": "both books, row by row (CSV)"},
        ),
        report(
            f"{STUDY.output}/results.parquet",
            caption="../report/results.rst",
            category="Results",
            labels={"what": "both books, row by row (Parquet)"},
        ),
        report(
            f"{STUDY.output}/results.schema.json",
            caption="../report/schema.rst",
            category="Results",
            labels={"what": "what the columns mean (JSON)"},
        ),
        report(
            f"{STUDY.output}/verdict.json",
            caption="../report/verdict.rst",
            category="Results",
            labels={"what": "the verdict and its checks (JSON)"},
        ),
    log:
        f"{LOGS}/reconcile.log",
    localrule: True
    params:
        captures=lambda wildcards: STUDY.captures,
        folder=lambda wildcards: STUDY.output,
    message:
        "reconcile: {params.captures} -> {params.folder}/results.csv (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/reconcile.py" --plan {input.plan:q} --captures {params.captures:q}'
        " --output {params.folder:q} 2> {log:q}"
