# What the captures tell beyond the balance: fusion candidates, roofline, operators of both tools, kernels' code, stacks.

CODE = f"{STUDY.captures}/kernel_code.json"  # of a replay it is part of the evidence, or there is none
HAS_CODE = DEVICE == "cuda" and not STUDY.config.replay


# After all passes: the numerics pass and the compile caches decide which kernels there are.
if HAS_CODE:

    rule kernel_code:
        input:
            STUDY.evidence(),
            script_sources("scripts/kernel_code.py"),
            [EXTENSION]
            if any(STUDY.needs_extension(c["workload"], c["case"]) for c in STUDY.plan["cases"])
            else [],
            plan=f"{STUDY.captures}/plan.json",
        output:
            CODE,
        log:
            f"{LOGS}/kernel_code.log",
        localrule: True
        params:
            captures=lambda wildcards: STUDY.captures,
            build=lambda wildcards: f"build/{DEVICE}",
            sources=lambda wildcards: at("csrc"),
        message:
            "kernel_code: PTX and resources of custom kernels -> {output} (log: {log})"
        shell:
            '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/kernel_code.py" --plan {input.plan:q} --captures {params.captures:q}'
            " --build {params.build:q} --sources {params.sources:q} --output {output:q} 2> {log:q}"


rule insight:
    input:
        STUDY.evidence(),
        [CODE] if HAS_CODE else [],
        script_sources("scripts/insight.py"),
        plan=f"{STUDY.captures}/plan.json",
        results=f"{STUDY.output}/results.csv",
    output:
        [f"{STUDY.output}/{name}.csv" for name in ("fusion_achieved", "operators", "kernels", "stacks")],
        directory(f"{STUDY.output}/kernels"),
        directory(f"{STUDY.output}/stacks"),
        report(
            f"{STUDY.output}/fusion.csv",
            caption="../report/fusion.rst",
            category="Results",
            labels={"what": "fusion candidates (CSV)"},
        ),
        report(
            f"{STUDY.output}/roofline.csv",
            caption="../report/roofline.rst",
            category="Results",
            labels={"what": "roofline (CSV)"},
        ),
        report(
            f"{STUDY.output}/roofline.svg",
            caption="../report/roofline.rst",
            category="Results",
            labels={"what": "roofline (SVG)"},
        ),
    log:
        f"{LOGS}/insight.log",
    localrule: True
    params:
        captures=lambda wildcards: STUDY.captures,
        folder=lambda wildcards: STUDY.output,
    message:
        "insight: {params.captures} -> {params.folder}/fusion.csv, roofline.csv, … (log: {log})"
    shell:
        '"$LEDGER_PYTHON" "$LEDGER_SCRIPTS/insight.py" --plan {input.plan:q} --captures {params.captures:q}'
        " --run {params.folder:q} 2> {log:q}"
