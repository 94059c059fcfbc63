"""What a release changes in the checkout before it is built; the workflow `wheels` runs it.

    python packaging/prepare.py [--free-threaded]

The README's links are relative, so that they lead somewhere in every copy of the repository. PyPI
shows the README without the repository: there they must be whole addresses, which only the place of
the release knows. They are read from the variables that GitHub sets for a workflow; elsewhere the
links stay.

orjson can't be installed on Python without a GIL, and no environment marker can say so: the wheel
for it (--free-threaded) does not ask for orjson. `tokctl.core.orjson` does without it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from urllib.parse import urljoin

ROOT = Path(__file__).parents[1]

#: Up to the address. A picture is looked for first: it ends as a link does.
_PICTURE = re.compile(r"(!\[[^]]*\]\()([^)\s]+)")
_LINK = re.compile(r"(\]\()([^)\s]+)")


def with_addresses(page: str, repository: str, commit: str) -> str:
    """The page with whole addresses of files and pictures, as they are at that commit.

    Args:
        page: Markdown whose links are relative to the top of the repository.
        repository: its address, such as `https://github.com/owner/name`.
        commit: what the links lead to, such as a hash or a tag.
    """

    for form, kind in ((_PICTURE, "raw"), (_LINK, "blob")):
        base = f"{repository}/{kind}/{commit}/"
        # What has a scheme stays as it is, and so does a place on the page itself.
        page = form.sub(
            lambda link, base=base: (
                link[0] if link[2].startswith("#") else link[1] + urljoin(base, link[2])
            ),
            page,
        )
    return page


def with_urls(project: str, repository: str) -> str:
    """A pyproject.toml with links for the side of PyPI's page."""
    urls = {
        "Repository": repository,
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
    lines = "".join(f'{name} = "{address}"\n' for name, address in urls.items())
    return project.replace("[project.scripts]\n", f"[project.urls]\n{lines}\n[project.scripts]\n")


def without_orjson(project: str) -> str:
    """A pyproject.toml that does not ask for orjson."""
    return re.sub(r'^    "orjson[^"]*",\n', "", project, flags=re.MULTILINE)


def main() -> None:
    readme, pyproject = ROOT / "README.md", ROOT / "pyproject.toml"
    page, project = readme.read_text(encoding="utf-8"), pyproject.read_text(encoding="utf-8")
    if "GITHUB_REPOSITORY" in os.environ:
        repository = f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}"
        page = with_addresses(page, repository, os.environ["GITHUB_SHA"])
        # It may run twice in one checkout.
        if "[project.urls]" not in project:
            project = with_urls(project, repository)
    if "--free-threaded" in sys.argv:
        project = without_orjson(project)
    readme.write_text(page, encoding="utf-8", newline="\n")
    pyproject.write_text(project, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
