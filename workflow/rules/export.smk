# What nsys recorded, as CSV and SQLite: by the version of nsys that recorded it, always into fresh files.


rule export:
    input:
        f"{REPEAT}nsys/report.nsys-rep",
        f"{REPEAT}nsys/run.json",
        script_sources("scripts/export.py"),
        plan=CASE_PLAN,
    output:
        [f"{REPEAT}{name}" for name in FILES["export"]],
    log:
        f"{LOGS}/export/{{workload}}/{{case}}/{{repeat}}export.log",
    params:
        folder=lambda wildcards: f"{case_folder(wildcards)}/{wildcards.repeat}",
    message:
        "export: {wildcards.workload}/{wildcards.case}: nsys stats, nsys export (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/export.py" --plan {input.plan:q} --capture {params.folder:q} 2>&1 | tee {log:q}'
