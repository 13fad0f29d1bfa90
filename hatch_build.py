"""The hatchling build hook, which writes the generated code for a wheel, an sdist or an editable install."""

from __future__ import annotations

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GeneratedCode(BuildHookInterface[Any]):
    """A build hook that runs the code generator on the sources. It needs only PyYAML."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate the code. Hatchling calls this before it collects files."""
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
