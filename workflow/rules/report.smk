# The report for people, and the gate: a run whose verdict is not `verified` ends with exit status 1.


rule report:
    input:
        f"{STUDY.output}/results.csv",
        f"{STUDY.output}/verdict.json",
        script_sources("scripts/report.py"),
    output:
        f"{STUDY.output}/summary.md",
    log:
        f"{LOGS}/report.log",
    params:
        folder=lambda wildcards: STUDY.output,
    message:
        "report: {output} (log: {log})"
    shell:
        "{PYTHON} scripts/report.py --run {params.folder:q} 2> {log:q}"


rule gate:
    input:
        f"{STUDY.output}/summary.md",
        verdict=f"{STUDY.output}/verdict.json",
    output:
        f"{LOGS}/gate.ok",
    log:
        f"{LOGS}/gate.log",
    message:
        "gate: {input.verdict} must be verified"
    shell:
        "{PYTHON} scripts/gate.py --verdict {input.verdict:q} --output {output:q} 2> {log:q}"
