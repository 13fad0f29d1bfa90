"""``torch.utils.benchmark``: timing of statements. NB: the times are those of the model, in Python."""

from __future__ import annotations

from dispatchviz.torch.utils.benchmark.compare import Compare as Compare
from dispatchviz.torch.utils.benchmark.measurement import Measurement as Measurement
from dispatchviz.torch.utils.benchmark.measurement import TaskSpec as TaskSpec
from dispatchviz.torch.utils.benchmark.measurement import select_unit as select_unit
from dispatchviz.torch.utils.benchmark.measurement import trim_sigfig as trim_sigfig
from dispatchviz.torch.utils.benchmark.measurement import unit_to_english as unit_to_english
from dispatchviz.torch.utils.benchmark.timer import Language as Language
from dispatchviz.torch.utils.benchmark.timer import Timer as Timer
from dispatchviz.torch.utils.benchmark.timer import timer as timer
