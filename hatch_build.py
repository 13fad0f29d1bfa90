"""The build hook of hatchling: it writes the generated code for a wheel, an sdist and an editable install."""

from __future__ import annotations

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GeneratedCode(BuildHookInterface[Any]):
    """Runs the generator on the sources that are built. It needs PyYAML alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files."""
        sys.path.insert(0, self.root)
        try:
            from dispatchviz.core.codegen.__main__ import write
            from dispatchviz.core.codegen.entries import SpecError

            try:
                write()
            except SpecError as error:
                sys.exit(f"codegen: {error}")
        finally:
            sys.path.remove(self.root)
