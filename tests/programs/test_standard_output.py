"""What goes to standard output is told once, whichever way it takes, and the stream is as it was afterwards."""

from __future__ import annotations

import io
import random

import pytest

from dispatchviz.running.process.standard_output import told_of_writes


def _stream(line_buffering: bool = False) -> tuple[io.BytesIO, io.TextIOWrapper]:
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", line_buffering=line_buffering)  # type: ignore[type-var]


@pytest.mark.parametrize("line_buffering", [True, False])
def test_text_and_bytes_in_any_order_are_told_as_they_were_written(line_buffering: bool) -> None:
    rng = random.Random(3)
    raw, stream = _stream(line_buffering)
    told: list[str] = []
    written: list[str] = []
    with told_of_writes(stream, told.append):
        for number in range(300):
            text = f"{number} \u20ac" * rng.choice((1, 3, 4000)) + rng.choice(("", "\n"))
            written.append(text)
            way = rng.randrange(4)
            if way == 0:
                print(text, end="", file=stream)
            elif way == 1:
                stream.writelines([text])
            elif way == 2:
                stream.flush()
                stream.buffer.write(text.encode())
            else:
                stream.write(text)
    stream.flush()
    assert "".join(told) == "".join(written)
    assert raw.getvalue().decode() == "".join(written)
    assert not {"write"} & (set(vars(stream)) | set(vars(stream.buffer)))


def test_what_cannot_be_written_is_not_told() -> None:
    _, stream = _stream()
    told: list[str] = []
    with told_of_writes(stream, told.append):
        with pytest.raises(UnicodeEncodeError):
            stream.write("\ud800")
        with pytest.raises(TypeError):
            stream.write(b"bytes")  # type: ignore[arg-type]
        stream.write("good")
    assert told == ["good"]


def test_a_stream_that_is_detached_or_closed_is_no_trouble() -> None:
    for end in (io.TextIOWrapper.detach, io.TextIOWrapper.close):
        _, stream = _stream()
        with told_of_writes(stream, print):
            end(stream)
