"""kernel-ledger: the same PyTorch work in two books, which must balance.

A table of contents.  Data flows in the order of the includes; the settings are in config.yaml.
"""

from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"


if not STUDY.config.replay:

    include: "workflow/rules/build.smk"
    include: "workflow/rules/measure.smk"
    include: "workflow/rules/export.smk"

    if STUDY.plan["collision_control"]:

        include: "workflow/rules/control.smk"


include: "workflow/rules/reconcile.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/insight.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/compare.smk"


rule all:
    default_target: True
    input:
        STUDY.evidence(),  # so that a capture which someone deletes is made again
        f"{STUDY.output}/results.csv",
        f"{STUDY.output}/verdict.json",
        f"{STUDY.output}/claims.csv",
        [f"{STUDY.output}/timeline/{case['workload']}/{case['case']}.pftrace" for case in STUDY.plan["cases"]],
        f"{STUDY.output}/summary.md",
        f"{STUDY.output}/report.html",
        f"{LOGS}/gate.ok",
    localrule: True


onstart:
    refuse_second_run()
    refuse_without_machine()
