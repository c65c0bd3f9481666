"""What ``kantopt verify --against`` shows: which steps stay, and the plan that is left."""

from typing import TYPE_CHECKING

from kantopt.cli.options import Form
from kantopt.cli.output import complain
from kantopt.cli.shown import Shown

if TYPE_CHECKING:
    from kantopt.planning.guard import Guarded


def show_guarded(rest: "Guarded", shown: Shown) -> None:
    """Write the steps as a table or by name, or the plan that is left as a document."""

    def laid_out(form: Form, to_file: bool) -> str:
        from kantopt.report.guarded import cut_lines, guarded_blocks

        if form == "name":
            return cut_lines(rest.cut)
        from kantopt.cli.screen import on_screen

        blocks = guarded_blocks(rest.given, rest.done, rest.cut)
        return on_screen(blocks, shown.color, to_file=to_file)

    shown.write(rest.plan, laid_out)
    if not shown.quiet:
        complain("warning", rest.plan.warnings if rest.plan is not rest.given else ())
