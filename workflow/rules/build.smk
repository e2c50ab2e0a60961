# What has to be there before anything is measured: a fit machine, the frozen plan, and the compiled kernels.


# What this machine has and lacks, as `make doctor` tells it; a job like a pass, since it looks at the pass's machine.
rule preflight:
    output:
        DOCTOR,
    log:
        f"{LOGS}/preflight.log",
    resources:
        gpu=GPUS,
    params:
        device=DEVICE,
        nsys=STUDY.config.nsys.path or "",
    message:
        "preflight: {output}"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/preflight.py" --device {params.device:q} --nsys={params.nsys:q} --output {output:q} 2> {log:q}'


rule plan:
    input:
        [case["file"] for case in STUDY.plan["cases"]],
        script_sources("scripts/plan.py"),
    output:
        f"{STUDY.captures}/plan.json",
    log:
        f"{LOGS}/plan.log",
    localrule: True
    params:
        digest=STUDY.digest,
        passes=STUDY.plan["passes"],
        settings=SETTINGS,
    message:
        "plan: {output}"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/plan.py" --config "$(printenv {params.settings})" --passes {params.passes:q} --output {output:q} 2> {log:q}'


# The plan as the passes of one case read it.  It is written again only when something that they are told changes,
# so that another tolerance or another case measures nothing twice.  (`ancient` on one plan for all would not do:
# Snakemake does not look at the parameters of jobs below one that it runs.)
rule plan_case:
    output:
        CASE_PLAN,
    log:
        f"{LOGS}/plan/{{workload}}/{{case}}.log",
    localrule: True
    params:
        told=told,
        passes=STUDY.plan["passes"],
        settings=SETTINGS,
    message:
        "plan_case: {wildcards.workload}/{wildcards.case}"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/plan.py" --config "$(printenv {params.settings})" --passes {params.passes:q} --output {output:q} 2> {log:q}'


rule build:
    input:
        sorted(str(path) for path in Path(at("csrc")).iterdir() if path.suffix in (".cu", ".cpp", ".h")),
        script_sources("scripts/build.py"),
    output:
        library=EXTENSION,
        record=f"build/{DEVICE}/build.json",
    log:
        f"logs/build-{DEVICE}.log",
    threads: 2  # nvcc and the C++ compiler side by side
    resources:
        gpu=0 if STUDY.config.build.architectures else GPUS,  # without a list, the GPU present is asked
    params:
        device=DEVICE,
        architectures=" ".join(STUDY.config.build.architectures),
    message:
        "build: csrc -> {output.library} (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/build.py" --device {params.device:q} --architectures={params.architectures:q}'
        " --output {output.library:q} 2>&1 | tee {log:q}"
