"""``python -m tests.pages``: write the generated pages; with ``--check`` say which no longer fit, in a few seconds."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .page import COMMAND, LOSSES, PAGES, with_losses_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the generated pages that are named, or all; the exit code of ``--check`` is 1 where one is out of date."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=main.__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"of {', '.join(PAGES)}; all, if none is named")
    parser.add_argument("--check", action="store_true", help="write nothing, and search for no losses")
    parser.add_argument("--losses-of", metavar="NAME", help="search for the losses of this constructor alone")
    options = parser.parse_args(arguments)
    unknown = set(options.pages) - set(PAGES)
    if unknown:
        parser.error(f"there is no generated page {', '.join(sorted(unknown))}")
    chosen = [PAGES[path] for path in options.pages or PAGES]
    if options.check:
        old = [page.path for page in chosen if not page.fits(page.read())]
        print("\n".join(f"{path} is out of date: {COMMAND} {path}" for path in old) or "every page fits")
        return 1 if old else 0
    for page in chosen:
        if options.losses_of and page.path == LOSSES:
            page = replace(page, made=partial(with_losses_of, options.losses_of))
        print(f"{page.path}: {'written' if page.write() else 'as it was'}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
