"""How CP-SAT sees the problem; the only package that imports OR-Tools."""

import sys
from types import ModuleType


def _load_without_pandas() -> None:
    """Load OR-Tools' model builder without pandas, which takes as long to load as all the rest.

    The builder names two of its types in signatures, and needs them only where variables come as
    series, which none does here. Whoever wants pandas afterwards gets the real one.
    """
    if "pandas" in sys.modules or "ortools.sat.python.cp_model" in sys.modules:
        return
    stand_in = ModuleType("pandas")
    stand_in.Index = type("Index", (), {})  # type: ignore[attr-defined]
    stand_in.Series = type("Series", (), {})  # type: ignore[attr-defined]
    sys.modules["pandas"] = stand_in
    try:
        import ortools.sat.python.cp_model  # noqa: F401
    except AttributeError:  # a version that asks for more of it
        pass
    finally:
        del sys.modules["pandas"]


_load_without_pandas()
