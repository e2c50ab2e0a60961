"""The checks of a verdict, in the order in which they are read: each looks at one case and gives an Outcome."""

from . import (
    agreement,
    clocks,
    conservation,
    export,
    freshness,
    identity,
    numerics,
    ruler,
    sameness,
    structure,
    subscriber,
)

CHECKS = {
    "subscriber": subscriber.check,
    "conservation": conservation.check,
    "identity": identity.check,
    "agreement": agreement.check,
    "structure": structure.check,
    "export": export.check,
    "sameness": sameness.check,
    "numerics": numerics.check,
    "ruler": ruler.check,
    "clocks": clocks.check,
    "freshness": freshness.check,
}
