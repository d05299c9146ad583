"""Pictures of streams."""

import numpy as np
import pytest

from sticktree.inference.drift import Z_LIMIT, Batch, Stream
from sticktree.plotting import StreamDisplay, plot_stream

NAN = float("nan")
FIRST = Batch(0, 500, NAN, NAN, NAN, NAN, NAN, 4.0, 1.0)
STREAM = Stream(
    (
        FIRST,
        Batch(1, 500, -2.51, -2.5, 0.05, -0.2, 4.0, 4.0, 0.0),
        Batch(2, 500, -3.5, -2.5, 0.05, -20.0, 4.0, 5.0, 0.08),
        Batch(3, 500, -2.7, -2.7, 0.05, 0.0, 5.0, 5.0, 0.0),
    )
)


def test_each_batch_has_a_point_and_a_band():
    ax = plot_stream(STREAM)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[1, -2.51], [2, -3.5], [3, -2.7]])
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(-2.5 + Z_LIMIT * 0.05)
    assert band[:, 1].min() == pytest.approx(-2.7 - Z_LIMIT * 0.05)
    assert [text.get_text() for text in ax.texts] == ["8% in new leaves"]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["expected, ± 3.89 errors", "batch", "far from expected"]


def test_what_is_no_stream_is_refused():
    with pytest.raises(TypeError, match="stream must be a Stream, got list"):
        plot_stream([FIRST])
    with pytest.raises(ValueError, match=r"two batches or more.*got 1"):
        StreamDisplay(Stream((FIRST,)))
