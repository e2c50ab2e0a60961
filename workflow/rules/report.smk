# The report for people, and the gate: a run whose verdict is not `verified` ends with exit status 1.

from glob import glob


rule report:
    input:
        f"{STUDY.output}/results.csv",
        f"{STUDY.output}/verdict.json",
        f"{STUDY.output}/claims.csv",
        [f"{STUDY.output}/{name}.csv" for name in ("fusion", "fusion_achieved", "roofline", "kernels")],
        STUDY.evidence(),  # the page shows samples, numerics and a timeline of both books
        script_sources("scripts/report.py"),
        sorted(glob(at("src/kernel_ledger/report/page/templates/*"))),
    output:
        report(
            f"{STUDY.output}/summary.md",
            caption="../report/summary.rst",
            category="Summary",
            labels={"what": "summary for a pull request (Markdown)"},
        ),
        report(
            f"{STUDY.output}/report.html",
            caption="../report/page.rst",
            category="Summary",
            labels={"what": "the whole run on one page (HTML)"},
        ),
    log:
        f"{LOGS}/report.log",
    localrule: True
    params:
        captures=lambda wildcards: STUDY.captures,
        folder=lambda wildcards: STUDY.output,
    message:
        "report: {output} (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/report.py" --run {params.folder:q} --captures {params.captures:q} 2> {log:q}'


rule gate:
    input:
        f"{STUDY.output}/summary.md",
        verdict=f"{STUDY.output}/verdict.json",
    output:
        f"{LOGS}/gate.ok",
    log:
        f"{LOGS}/gate.log",
    localrule: True
    message:
        "gate: {input.verdict} must be verified"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/gate.py" --verdict {input.verdict:q} --output {output:q} 2> {log:q}'
