# The negative control: a torch pass under nsys on purpose.  It must notice that it is not alone, and measure nothing;
# only then does it say something that the clean passes noticed nobody.

from types import SimpleNamespace

PROBED = SimpleNamespace(**dict(zip(("workload", "case", "variant"), STUDY.control)))


rule collision_control:
    input:
        pass_sources("scripts/collision_control.py"),
        workload=lambda wildcards: workload_file(PROBED),
        extension=extension(PROBED),
        plan=expand(CASE_PLAN, **vars(PROBED)),
        numerics=ancient(expand(f"{CASE}/numerics.json", **vars(PROBED))),  # it fills the compile cache
    output:
        f"{STUDY.captures}/{CONTROL}",
    log:
        f"{LOGS}/collision_control.log",
    retries: 0
    threads: 1
    resources:
        gpu=gpus(PROBED),
        gpu_model=gpu_model(PROBED),
    params:
        library=library_option(PROBED),
        workload=PROBED.workload,
        case=PROBED.case,
        variant=PROBED.variant,
    message:
        "collision_control: a torch pass under nsys, which must notice it (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/collision_control.py" --plan {input.plan:q} --workload {params.workload:q} --case {params.case:q}'
        " --variant {params.variant:q} {params.library} --output {output:q} 2>&1 | tee {log:q}"
