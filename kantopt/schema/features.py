"""What pods may ask for that kantopt does not model, or that their input does not explain.

Such pods are left where they are, or left out, and counted in the verdict's own line: what is
proved without them holds only for what is modelled. A model may *assume* features by name: then
their pods are planned as if they did not ask for them.
"""

from typing import Literal, get_args

Feature = Literal[
    "claims", "constraints", "gpu-shares", "licenses", "namespaces", "resource-claims"
]
FEATURES: tuple[Feature, ...] = get_args(Feature)
"""Names of the features, as documents and the command line have them."""

WORDS: dict[Feature, str] = {
    "claims": "with persistent volume claims",
    "constraints": "of jobs whose nodes must be alike, contiguous, close or counted by feature",
    "gpu-shares": "that ask for part of a GPU",
    "licenses": "of jobs that ask for licences",
    "namespaces": "with pod affinity to namespaces that are not in the input",
    "resource-claims": "with resource claims",
}
"""What comes behind a number of pods in the verdict."""
