"""Build the site of the documentation: all texts, and references of documents and commands.

    python scripts/build_docs.py                    # to build/site
    python scripts/build_docs.py --output FOLDER

Fields are taken from the published schemas, commands from what they say with `--help`. mkdocs
builds strictly: a link to a page or heading that is not there ends it. What is built needs no
network to be read; open index.html.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kantopt.cli.app import COMMANDS
from kantopt.schema.published import PUBLISHED
from scripts.pages import commands, fields
from scripts.pages.texts import ROOT, copy_texts, files_of_the_checkout

NAVIGATION = {
    "Use": ("with-*", "kubernetes", "batch-systems", "cron", "report-page", "python"),
    "Questions": ("preemption", "defrag", "explain", "capacity", "certificates", "simulate"),
    "How it works": (
        *("search", "techniques", "ablation", "order", "disturbance"),
        *("kant", "traces", "metrics-over-time"),
    ),
}
"""Pages of ``docs`` by section; those that are in none come to the last one."""
STYLE = ".wy-table-responsive table td, .wy-table-responsive table th { white-space: normal; }\n"
"""The theme would not break lines in tables."""
MARK = "search/search_index.json"
"""A folder that has this is one that mkdocs has built."""


def navigation() -> list[dict[str, Any]]:
    """Say what stands where in the menu."""
    left = [name for name in files_of_the_checkout() if name.startswith("docs/")]
    left = [name for name in left if name.endswith(".md")]
    sections: list[dict[str, Any]] = [{"kantopt": "README.md"}]
    for title, names in NAVIGATION.items():
        found = [path for name in names for path in left if Path(path).match(f"docs/{name}.md")]
        left = [path for path in left if path not in found]
        sections.append({title: found})
    sections[-1]["How it works"] += ["models/README.md", *left]
    for title, folder, pages in (
        ("Documents", fields.FOLDER, PUBLISHED),
        ("Commands", commands.FOLDER, COMMANDS),
    ):
        sections.append({title: [f"{folder}/{page}.md" for page in ("index", *pages)]})
    return [*sections, {"Project": ["CONTRIBUTING.md", "CHANGELOG.md", "instances/README.md"]}]


def settings(pages: Path) -> dict[str, Any]:
    """Return what mkdocs reads, as it would stand in mkdocs.yml."""
    return {
        "site_name": "kantopt",
        "docs_dir": str(pages),
        "use_directory_urls": False,  # so that it can be read without a server
        "theme": {"name": "readthedocs", "highlightjs": False, "navigation_depth": 3},
        "extra_css": ["style.css"],
        "markdown_extensions": ["sane_lists"],
        "plugins": ["search"],
        "nav": navigation(),
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn", "absolute_links": "warn"},
            "links": {
                "not_found": "warn",
                "anchors": "warn",
                "absolute_links": "warn",
                "unrecognized_links": "warn",
            },
        },
    }


def build(output: Path) -> int:
    """Write the pages to a temporary folder, let mkdocs build them, and put the site in its place.

    Returns
    -------
    int
        Exit code of mkdocs.
    """
    with tempfile.TemporaryDirectory() as folder:
        pages, site, config = (Path(folder) / name for name in ("pages", "site", "mkdocs.yml"))
        copy_texts(pages)
        for path, text in (*fields.field_pages(), *commands.command_pages()):
            target = pages / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        (pages / "style.css").write_text(STYLE, encoding="utf-8")
        config.write_text(json.dumps(settings(pages)), encoding="utf-8")  # YAML reads JSON
        # Not --quiet: what is not logged does not count as a warning either.
        asked = ["build", "--strict", "-f", str(config), "-d", str(site)]
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", *asked], stderr=subprocess.PIPE, text=True, check=False
        )
        told = [line for line in done.stderr.splitlines() if not line.startswith("INFO ")]
        print(*told, sep="\n", end="\n" if told else "", file=sys.stderr)
        if done.returncode == 0:
            if output.exists():
                shutil.rmtree(output)
            shutil.copytree(site, output)
        return done.returncode


def main() -> int:
    """Build it; a folder that holds anything but a site built before is left alone."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site", metavar="FOLDER")
    output: Path = parser.parse_args().output
    if (
        output.exists()
        and not (output / MARK).is_file()
        and (output.is_file() or any(output.iterdir()))
    ):
        parser.error(
            f"{output}: found other files, expected no folder or one with a site built before"
        )
    return build(output)


if __name__ == "__main__":
    sys.exit(main())
