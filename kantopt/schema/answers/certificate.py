"""The ``Certificate`` document: how good a plan is, and what anyone can check that by."""

from typing import Annotated, Literal

from pydantic import Field

from kantopt.schema.answers.history import History
from kantopt.schema.answers.plan import Amount, Plan, Standing, Tiered
from kantopt.schema.base import Count, Document, Metadata, Part, PositiveCount
from kantopt.schema.model import Model

Positive = Annotated[int, Field(ge=1)]
Judgement = Literal["OPTIMAL", "BETTER", "OPEN", "ILLEGAL"]
ProvedBy = Literal["arithmetic", "relaxation-search", "column-generation", "cp-sat", "none"]
Formula = Literal[
    "combinatorial",
    "combinatorial on merged pods",
    "multipliers",
    "shares",
    "contents",
    "changes",
    "domains",
]
JudgedAs = Literal["plan", "later snapshot", "snapshot as it stands"]


class CertificateMetadata(Metadata):
    """Identity of a certificate."""

    certificate_id: str = Field(description="sha256 of the rest of the certificate")
    kantopt_version: str = Field(description="version that made the certificate")


class Subject(Part):
    """What the certificate speaks of, by digest."""

    snapshot: str = Field(description="sha256 of the snapshot's canonical form")
    jobs: str = Field(description="sha256 of the pending jobs, in the order of their names")
    model: str = Field(description="sha256 of the model")
    plan: str = Field(description="sha256 of the plan judged")
    judged: JudgedAs = Field(
        description="what was given to be judged; of a snapshot the plan states what it changed"
    )


class Multiplier(Part):
    """What one row of a relaxation counts for, in parts of the witness's denominator."""

    row: str = Field(min_length=1, description="name of the row; docs/certificates.md lists them")
    value: Positive = Field(description="multiplier, above 0")


class RegionView(Part):
    """Which nodes a bound counts together, and by what it measures their room."""

    level: str = Field(min_length=1, description="topology level; nodes: each node by itself")
    resource: str = Field(min_length=1, description="resource by which room is measured")
    step: Positive = Field(default=1, description="base units of the resource that count as one")


class Witness(Part):
    """The numbers by which a bound by arithmetic is worked out again."""

    formula: Formula = Field(
        description="combinatorial: the formula of the metric, which needs no numbers but those of "
        "the question; on merged pods: the same, pods that nothing tells apart counted together; "
        "multipliers: a sum of rows that hold for every legal plan, each so many times; shares: "
        "the same for nodes or devices cut into shares; contents: the same for what each node "
        "could hold, where free slots are counted; changes: the same for what a change of each "
        "node could gain, where nobody is evicted; domains: the same for what each topology domain "
        "could hold"
    )
    says: str = Field(default="", description="how the bound follows, in words")
    view: RegionView | None = Field(
        default=None, description="of the formula domains: which domains, and which room in them"
    )
    denominator: Positive = Field(default=1, description="what multipliers are divided by")
    multipliers: tuple[Multiplier, ...] = Field(
        default=(), description="multipliers of the rows that count; all others are 0"
    )


class Assumed(Part):
    """What all that a certificate says takes for granted."""

    modelled: tuple[str, ...] = Field(
        default=(), description="rules that are looked at; models/README.md says what they mean"
    )
    left_out: tuple[str, ...] = Field(default=(), description="what is not looked at")
    notes: tuple[str, ...] = Field(
        default=(), description="how the input was read, and what of it was left out"
    )
    annotations: tuple[str, ...] = Field(
        default=(), description="annotations of pods that were taken at their word, with how many"
    )


class SecondOpinion(Part):
    """What another solver, that shares no code with the first, found of a tier."""

    solver: str = Field(description="name of the solver")
    version: str = Field(description="version of the package that holds it")
    outcome: Literal["agrees", "contradicts", "undecided"] = Field(
        description="agrees: its optimum under the same locks is this bound; it computes in "
        "floating point, so that this is agreement and no proof"
    )
    value: Amount | None = Field(default=None, description="optimum that it claims")


class CertifiedTier(Tiered):
    """One objective: its value, how low it could be, and why no lower."""

    value: Amount = Field(description="value of the plan judged")
    bound: Amount | None = Field(description="no plan has less, given the tiers it depends on")
    gap: Amount | None = Field(description="value less bound")
    status: Literal["OPTIMAL", "FEASIBLE", "UNKNOWN"] = Field(
        description="OPTIMAL: value equals bound; UNKNOWN: no bound"
    )
    proved_by: ProvedBy = Field(description="source of the bound")
    given: tuple[str, ...] = Field(
        default=(),
        description="tiers above: the bound holds for plans no worse than the one judged in them",
    )
    witness: Witness | None = Field(
        default=None, description="how to work a bound by arithmetic out again"
    )
    second_opinion: SecondOpinion | None = Field(
        default=None, description="what --cross-check found of a tier proved by search"
    )


class Search(Part):
    """The search behind bounds that are not arithmetic."""

    ortools_version: str = Field(default="", description="version of OR-Tools, if it was used")
    seed: int = Field(description="seed of every random choice")
    workers: PositiveCount = Field(description="workers that the search might use")
    deterministic: bool = Field(description="limits were in work, not in seconds")
    parameters: tuple[str, ...] = Field(
        default=(),
        description="parameters that CP-SAT had for the question or parts of it, where they differ "
        "from its own defaults; each value in turn of those that have several",
    )
    log_digest: str | None = Field(
        default=None, description="sha256 of CP-SAT's log, if --log has kept it"
    )


class CounterExample(Part):
    """A better plan: legal at every step, and less in the first tier in which it differs."""

    tier: str = Field(
        description="first tier in which it differs; required: it places more required jobs"
    )
    values: tuple[Amount, ...] = Field(description="its values in all tiers, in their order")
    optimal: bool = Field(description="whether it was proved that no plan is better still")
    spared: tuple[str, ...] = Field(
        default=(), description="preempted pods, NAMESPACE/NAME, that it leaves running"
    )
    plan: Plan = Field(description="the plan")


class Certificate(Document):
    """A judgement of a plan that can be checked without the program that made it."""

    kind: Literal["Certificate"] = Field(description="Certificate")
    metadata: CertificateMetadata = Field(description="identity")
    subject: Subject = Field(description="what it speaks of")
    verdict: Judgement = Field(
        description="OPTIMAL: no plan is better; BETTER: the counter-example is; OPEN: neither was "
        "found in the time; ILLEGAL: a rule is broken, or the plan says what is not so"
    )
    tiers: tuple[CertifiedTier, ...] = Field(default=(), description="most important first")
    findings: tuple[Standing, ...] = Field(default=(), description="what is wrong with the plan")
    assumed: Assumed = Field(
        default_factory=Assumed, description="what all of it takes for granted"
    )
    history: History | None = Field(
        default=None, description="of two dumps: what became of the pods and nodes of the first"
    )
    apart: tuple[Standing, ...] = Field(
        default=(), description="what a scheduler may do and an executor of a plan may not"
    )
    counter_example: CounterExample | None = Field(default=None, description="a better plan")
    search: Search = Field(description="the search behind bounds that are not arithmetic")
    warnings: tuple[str, ...] = Field(default=(), description="what the reader should know")
    required_impossible: bool = Field(
        default=False, description="a required job provably has no place"
    )
    steps: Count = Field(default=0, description="waves of the plan that were judged one by one")
    model: Model = Field(description="the model, with all that it extends")
    plan: Plan = Field(description="the plan that was judged")
