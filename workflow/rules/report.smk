# The report for people, and the gate: a run whose verdict is not `verified` ends with exit status 1.

from glob import glob


rule report:
    input:
        f"{STUDY.output}/results.csv",
        f"{STUDY.output}/verdict.json",
        STUDY.evidence(),  # the page shows samples, numerics and a timeline of both books
        script_sources("scripts/report.py"),
        sorted(glob("src/kernel_ledger/report/page/templates/*")),
    output:
        f"{STUDY.output}/summary.md",
        f"{STUDY.output}/report.html",
    log:
        f"{LOGS}/report.log",
    params:
        captures=lambda wildcards: STUDY.captures,
        folder=lambda wildcards: STUDY.output,
    message:
        "report: {output} (log: {log})"
    shell:
        "{PYTHON} scripts/report.py --run {params.folder:q} --captures {params.captures:q} 2> {log:q}"


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
