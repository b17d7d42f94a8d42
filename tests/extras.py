"""Prints the requirements of one extra of pyproject.toml, one a line: what the Makefile installs beside the package."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
print("\n".join(project["optional-dependencies"][sys.argv[1]]))
