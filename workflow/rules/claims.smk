# What a run says of what was expected of it, and both books of each case on one time axis.

import mimetypes

for ending in (".pftrace", ".parquet"):
    mimetypes.add_type(
        "application/octet-stream", ending
    )  # so that a report of Snakemake offers it as a file


PARTS = {"claims": True, "workloads": {"__all__": {"file", "claims"}}}
DECLARED = STUDY.config.model_dump_json(include=PARTS)


rule claims:
    input:
        STUDY.evidence(),
        script_sources("scripts/claims.py"),
        plan=f"{STUDY.captures}/plan.json",
        results=f"{STUDY.output}/results.csv",
    output:
        report(
            f"{STUDY.output}/claims.csv",
            caption="../report/claims.rst",
            category="Results",
            labels={"what": "claims: held, refuted or not tested (CSV)"},
        ),
    log:
        f"{LOGS}/claims.log",
    localrule: True
    params:
        captures=lambda wildcards: STUDY.captures,
        settings=SETTINGS,
        declared=DECLARED,  # they are tried where the plan holds none
    message:
        "claims: {input.results} -> {output} (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/claims.py" --plan {input.plan:q} --captures {params.captures:q} --results {input.results:q}'
        ' --config "$(printenv {params.settings})" --output {output:q} 2> {log:q}'


rule timeline:
    input:
        books,
        script_sources("scripts/timeline.py"),
        plan=f"{STUDY.captures}/plan.json",
    output:
        report(
            f"{STUDY.output}/timeline/{{workload}}/{{case}}.pftrace",
            caption="../report/timeline.rst",
            category="Timelines",
            labels={"case": "{workload}/{case}"},
        ),
    log:
        f"{LOGS}/timeline/{{workload}}/{{case}}.log",
    localrule: True
    params:
        captures=lambda wildcards: STUDY.captures,
    message:
        "timeline: {wildcards.workload}/{wildcards.case}: both books -> {output} (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/timeline.py" --plan {input.plan:q} --captures {params.captures:q}'
        " --workload {wildcards.workload:q} --case {wildcards.case:q} --output {output:q} 2> {log:q}"
