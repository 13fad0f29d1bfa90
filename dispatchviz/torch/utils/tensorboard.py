"""``torch.utils.tensorboard``: scalars, histograms and texts for TensorBoard. It needs TensorBoard's package, as in
PyTorch.

The other kinds of data (images, graphs, embeddings, ...) are not supported.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import tensorboard  # noqa: F401  # the error of a missing package names this one
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.summary.writer.record_writer import RecordWriter as RecordWriter

import dispatchviz.torch as torch
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch.missing_names import INSTALLED, LACKS

Summary = summary_pb2.Summary


class FileWriter:
    """A writer of events to a file in a folder."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> Any:
        """Return the folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Add an ``Event``."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a ``Summary``."""
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write buffered events."""
        self.event_writer.flush()

    def close(self) -> None:
        """Flush and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Open another file, if this one is closed."""
        self.event_writer.reopen()


class SummaryWriter:
    """A writer of training data to files in ``log_dir``."""

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[Any, FileWriter] | None = None
        self._get_file_writer()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"torch.utils.tensorboard.SummaryWriter.{name} {LACKS}; {INSTALLED}", name=name, obj=self)

    def _get_file_writer(self) -> FileWriter:
        """Return the file writer of ``log_dir``, or a new one if that is closed."""
        if self.file_writer is None:
            self.file_writer = self._file_writer(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                begins = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
                self.file_writer.add_event(event_pb2.Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(event_pb2.Event(step=self.purge_step, session_log=begins))
                self.purge_step = None
        return self.file_writer

    def _file_writer(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def get_logdir(self) -> Any:
        """Return the folder of the files."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a number; with ``new_style``, as a tensor."""
        summary = _scalar(tag, scalar_value, new_style, double_precision)
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add several numbers for one chart, each to a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            own = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if own not in self.all_writers:
                self.all_writers[own] = self._file_writer(own)
            self.all_writers[own].add_summary(_scalar(main_tag, value), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of values."""
        chosen = _default_bins() if isinstance(bins, str) and bins == "tensorflow" else bins
        histogram = _histogram(_array(values).astype(float), chosen, max_bins)
        summary = Summary(value=[Summary.Value(tag=tag, histo=histogram)])
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a text."""
        plugin = summary_pb2.SummaryMetadata.PluginData(
            plugin_name="text", content=TextPluginData(version=0).SerializeToString()
        )
        shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
        text = tensor_pb2.TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=shape)
        metadata = summary_pb2.SummaryMetadata(plugin_data=plugin)
        summary = Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=text)])
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def flush(self) -> None:
        """Write buffered events."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Close all files. A second call does nothing."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _array(value: Any) -> Any:
    """Return the value as a NumPy array, with the calls that PyTorch makes."""
    if isinstance(value, np.ndarray):
        return value
    if np.isscalar(value):
        return np.array([value])
    if not isinstance(value, Tensor):
        raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")
    tensor: Any = value
    if tensor.device.type == "meta":
        return np.random.randn(1)
    return (tensor.to(torch.float16) if tensor.dtype == torch.bfloat16 else tensor).detach().cpu().numpy()


def _scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> Any:
    number = _array(value).squeeze()
    if number.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions).             "
            f"Was given size: {number.size} and {number.ndim} dimensions."
        )
    if not new_style:
        return Summary(value=[Summary.Value(tag=tag, simple_value=float(number))])
    values = {"double_val": [float(number)], "dtype": "DT_DOUBLE"}
    if not double_precision:
        values = {"float_val": [float(number)], "dtype": "DT_FLOAT"}
    plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="scalars")
    metadata = summary_pb2.SummaryMetadata(plugin_data=plugin)
    return Summary(value=[Summary.Value(tag=tag, tensor=tensor_pb2.TensorProto(**values), metadata=metadata)])


def _default_bins() -> list[float]:
    above = [1e-12]
    while (edge := above[-1] * 1.1) < 1e20:
        above.append(edge)
    return [*(-one for one in reversed(above)), 0.0, *above]


def _histogram(values: Any, bins: Any, max_bins: int | None) -> Any:
    """Return the bins between the first and the last nonempty one, with an empty one before them: only right edges are
    written.
    """
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, edges = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        together = len(counts) // max_bins
        counts = np.pad(counts, (0, -len(counts) % together)).reshape(-1, together).sum(axis=-1)
        edges = np.append(edges[:-1:together], edges[-1])
    filled = np.flatnonzero(counts)
    first, last = int(filled[0]), int(filled[-1]) + 1
    counts = counts[first - 1 : last] if first > 0 else np.concatenate([[0], counts[:last]])
    return summary_pb2.HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=edges[first : last + 1].tolist(),
        bucket=counts.tolist(),
    )
