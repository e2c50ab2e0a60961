# The four passes of a case, each a process of its own with the GPU to itself.
#
# numerics comes first and fills the compile cache, so that no other pass measures a compiler.  One thread each,
# because Snakemake hands the number on as OMP_NUM_THREADS.  No retries: a pass that failed once and went well the
# second time is not evidence.  Through tee, progress is seen and kept; pipefail, which Snakemake sets, keeps the status.
#
# A case that has begun goes before one that has not: with several GPUs each case keeps to one (kernel_ledger.gpu_choice),
# and so no two of them wait for the same.
#
# With measure.repeats, each pass but numerics runs again for the folders repeat-2/, repeat-3/, …  A chain of inputs
# gives the order of a case's processes (kernel_ledger.repeats); they are `ancient`, since a pass that is measured
# again makes none of its successors stale.


rule numerics:
    input:
        sources=pass_sources("scripts/numerics.py"),
        workload=workload_file,
        extension=extension,
        plan=CASE_PLAN,
        preflight=ancient(DOCTOR),  # before anything is measured; a new one makes nothing stale
    output:
        f"{CASE}/numerics.json",
        f"{CASE}/dataflow.json",
    log:
        f"{LOGS}/numerics/{{workload}}/{{case}}.log",
    retries: 0
    threads: 1
    resources:
        gpu=gpus,
        gpu_model=gpu_model,
    params:
        folder=case_folder,
        library=library_option,
    message:
        "numerics: {wildcards.workload}/{wildcards.case}: every variant against float64 (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/numerics.py" --plan {input.plan:q} --workload {wildcards.workload:q}'
        " --case {wildcards.case:q} {params.library} --output {params.folder:q} 2>&1 | tee {log:q}"


rule timing:
    input:
        sources=pass_sources("scripts/timing.py"),
        workload=workload_file,
        extension=extension,
        plan=CASE_PLAN,
        numerics=f"{CASE}/numerics.json",
        before=ancient(before("timing")),
    output:
        f"{REPEAT}timing.json",
        f"{REPEAT}run.json",
    log:
        f"{LOGS}/timing/{{workload}}/{{case}}/{{repeat}}timing.log",
    priority: 1
    retries: 0
    threads: 1
    resources:
        gpu=gpus,
        gpu_model=gpu_model,
    params:
        folder=case_folder,
        library=library_option,
        repeat=repeat,
    message:
        "timing: {wildcards.workload}/{wildcards.case}: CUDA events, no profiler (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/timing.py" --plan {input.plan:q} --workload {wildcards.workload:q}'
        " --case {wildcards.case:q} --repeat {params.repeat} {params.library} --output {params.folder:q} 2>&1 | tee {log:q}"


rule torch_pass:
    input:
        sources=pass_sources("scripts/torch_pass.py"),
        workload=workload_file,
        extension=extension,
        plan=CASE_PLAN,
        numerics=f"{CASE}/numerics.json",
        before=ancient(before("torch")),
    output:
        f"{REPEAT}torch/{{variant}}/trace.json.gz",
        f"{REPEAT}torch/{{variant}}/key_averages.txt",
        f"{REPEAT}torch/{{variant}}/key_averages.csv",
        f"{REPEAT}torch/{{variant}}/run.json",
    log:
        f"{LOGS}/torch_pass/{{workload}}/{{case}}/{{repeat}}{{variant}}.log",
    priority: 1
    retries: 0
    threads: 1
    resources:
        gpu=gpus,
        gpu_model=gpu_model,
    params:
        folder=case_folder,
        library=library_option,
        repeat=repeat,
    message:
        "torch_pass: {wildcards.workload}/{wildcards.case}/{wildcards.variant}: torch.profiler, one variant (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/torch_pass.py" --plan {input.plan:q} --workload {wildcards.workload:q} --case {wildcards.case:q}'
        " --variant {wildcards.variant:q} --repeat {params.repeat} {params.library} --output {params.folder:q} 2>&1 | tee {log:q}"


rule nsys_pass:
    input:
        sources=pass_sources("scripts/nsys_pass.py"),
        workload=workload_file,
        extension=extension,
        plan=CASE_PLAN,
        numerics=f"{CASE}/numerics.json",
        before=ancient(before("nsys")),
    output:
        f"{REPEAT}nsys/report.nsys-rep",
        f"{REPEAT}nsys/run.json",
    log:
        f"{LOGS}/nsys_pass/{{workload}}/{{case}}/{{repeat}}nsys.log",
    priority: 1
    retries: 0
    threads: 1
    resources:
        gpu=gpus,
        gpu_model=gpu_model,
    params:
        folder=case_folder,
        library=library_option,
        repeat=repeat,
    message:
        "nsys_pass: {wildcards.workload}/{wildcards.case}: Nsight Systems, all variants (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/nsys_pass.py" --plan {input.plan:q} --workload {wildcards.workload:q}'
        " --case {wildcards.case:q} --repeat {params.repeat} {params.library} --output {params.folder:q} 2>&1 | tee {log:q}"
