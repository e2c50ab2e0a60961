# What nsys recorded, as CSV and SQLite: by the version of nsys that recorded it, always into fresh files.


rule export:
    input:
        f"{CASE}/nsys/report.nsys-rep",
        f"{CASE}/nsys/run.json",
        script_sources("scripts/export.py"),
        plan=CASE_PLAN,
    output:
        expand("{case}/{name}", case=CASE, name=FILES["export"]),
    log:
        f"{LOGS}/export/{{workload}}/{{case}}.log",
    params:
        folder=case_folder,
    message:
        "export: {wildcards.workload}/{wildcards.case}: nsys stats, nsys export (log: {log})"
    shell:
        "{PYTHON} scripts/export.py --plan {input.plan:q} --capture {params.folder:q} 2>&1 | tee {log:q}"
