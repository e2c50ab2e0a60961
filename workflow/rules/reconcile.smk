# Both books, and every figure of the program's own, into one table and one verdict.


rule reconcile:
    input:
        STUDY.evidence(),
        script_sources("scripts/reconcile.py"),
        plan=f"{STUDY.captures}/plan.json",
    output:
        f"{STUDY.output}/results.csv",
        f"{STUDY.output}/results.schema.json",
        f"{STUDY.output}/verdict.json",
    log:
        f"{LOGS}/reconcile.log",
    params:
        captures=lambda wildcards: STUDY.captures,
        folder=lambda wildcards: STUDY.output,
    message:
        "reconcile: {params.captures} -> {params.folder}/results.csv (log: {log})"
    shell:
        "{PYTHON} scripts/reconcile.py --plan {input.plan:q} --captures {params.captures:q}"
        " --output {params.folder:q} 2> {log:q}"
