"""What a claim is in config.yaml, and the claims that the defaults make."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Sentence = Annotated[str, Field(min_length=1, max_length=500)]
Expression = Annotated[str, Field(min_length=1, max_length=1000)]


class Claim(BaseModel):
    """One hypothesis.  The language of ``expression`` and ``requires`` is in docs/claims.md."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=60)] = Field(
        description="its short name"
    )
    sentence: Sentence = Field(description="what is expected, for people")
    expression: Expression = Field(
        description="the same over the run's table; docs/claims.md has the language"
    )
    refuted_by: Sentence = Field(description="what would refute it")
    requires: Expression | None = Field(
        None,
        description="it is tested only where this holds",
        examples=["not root()"],
    )


EVERY_RUN = (
    Claim(
        id="wrapper-self-time",
        sentence="In torch.profiler's table, rows that wrap kernels carry no self CUDA time",
        expression="wrapper_self_ns() == 0",
        refuted_by="self CUDA time in a row that is no GPU operation; torch 2.13 has the GEMM's also under"
        " aten::addmm and in part under a row that nothing launched, Activity Buffer Request",
    ),
    Claim(
        id="without-privileges",
        sentence="Both passes work without root and without permission to read GPU counters",
        expression="launches('torch') > 0 and launches('torch') == launches('nsys')",
        refuted_by="a pass without these rights that records no GPU operation, or fewer than the other pass",
        requires="not root() and not counter_permission()",
    ),
)
LINEAR_CHAIN = (
    Claim(
        id="gemm-first",
        sentence="The GEMM takes more GPU time than any other kernel of the block, in both books",
        expression="rank('eager', 'aten::addmm', 'torch') == 1 and rank('eager', 'aten::addmm', 'nsys') == 1",
        refuted_by="another kernel or copy with a greater sum in either book",
    ),
    Claim(
        id="chain-by-bytes",
        sentence="Fusing speeds the chain up by its byte ratio, within 10 %; the whole block by less than half of that",
        expression="0.9 < chain('eager') / chain('fused') / (bytes('eager') / bytes('fused')) < 1.1"
        " and block('eager') / block('fused') < chain('eager') / chain('fused') / 2",
        refuted_by="a chain that gains more or less than the bytes it saves, or a block that gains as the chain does",
    ),
)
