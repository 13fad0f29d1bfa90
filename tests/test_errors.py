"""The package's own errors share one base class, and the command line shows each of them as one line."""

from __future__ import annotations

import pytest

from dispatchviz import cli
from dispatchviz.cli import doctor
from dispatchviz.core.codegen.entries import SpecError
from dispatchviz.core.device.array_library import DeviceUnavailable
from dispatchviz.core.record.trace_file import TraceError
from dispatchviz.core.table.pytorch_registrations import BuildError
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.picture.graphviz_wasm import LayoutError
from dispatchviz.outputs.picture.svg import RenderError

OWN = (TraceError, DeviceUnavailable, RenderError, BuildError, SpecError, LayoutError)


@pytest.mark.parametrize("kind", OWN)
def test_the_command_line_shows_an_error_of_ours_as_one_line(
    kind: type[DispatchvizError], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise kind("it is\nmissing")

    monkeypatch.setattr(doctor, "examine", fail)
    assert cli.main(["doctor"]) == 2
    assert capsys.readouterr().err == "dispatchviz: it is missing\n"
