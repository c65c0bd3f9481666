"""The command line: parse, call, show, exit code. Nothing heavy is loaded before it is needed.

Command modules do not postpone their annotations: Typer would evaluate them one by one, again and
again, which took a third of the time that ``--help`` may take.
"""
