"""``kantopt show``."""

from dataclasses import replace
from typing import Annotated

import typer

from kantopt.cli import options as opt
from kantopt.cli.groups import with_groups
from kantopt.cli.shown import Look


@with_groups
def show(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="An answer in YAML or JSON: of plan, defrag, drain, certify, explain, capacity "
            "or simulate; - is standard input.",
            show_default=False,
        ),
    ],
    look: Look,
    output: Annotated[
        opt.Form | None, opt.output_as("wide: all that there is; name: lines for scripts.")
    ] = None,
    output_file: Annotated[str | None, opt.document_to("the answer again")] = None,
) -> int:
    """Show an answer that was written to a file again.

    Reads the document alone; what the cluster had beside it is not known here.
    """
    from kantopt.errors import BadDataError, Problem
    from kantopt.report.layouts import LAYOUTS
    from kantopt.report.words import words_for
    from kantopt.schema.consistency import check_documents
    from kantopt.schema.files import load_raw
    from kantopt.schema.published import PUBLISHED
    from kantopt.schema.validation import document_class, validate

    shown = look.shown(output, output_file, [file])
    raws = load_raw([file])
    if len(raws) != 1:
        raise BadDataError([Problem(raws[0].file, "", f"{len(raws)} documents", "one document")])
    kinds = {kind: PUBLISHED[kind] for kind in LAYOUTS}
    document = validate(raws[0], document_class(raws[0], kinds))
    if problems := check_documents([(raws[0], document)]):
        raise BadDataError(problems)
    replace(shown, words=words_for(document)).answer(document)
    return 0
