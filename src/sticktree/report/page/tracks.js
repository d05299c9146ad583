// Tracks beside the tree: the cluster of every row, its annotations, its confidence.

/** @param {TreeView} view */
function drawTracks(view) {
  const { context, report, place } = view;
  const bottom = Math.min(place.bottom, view.y(report.nRows));
  const from = Math.max(place.head, view.y(0));
  const step = view.rowHeight;
  view.tracks.forEach((track, k) => {
    const left = place.tracks + k * (TRACK + TRACK_GAP);
    // Neighbours of one colour are drawn at once.
    let y = from;
    let [begun, colour, wide] = [from, "", TRACK];
    const flush = (end) => {
      if (!colour) return;
      context.fillStyle = colour;
      context.fillRect(left, begun, wide, end - begun + (end < bottom ? 0.3 : 0));
    };
    while (y < bottom - 1e-6) {
      const row = Math.min(report.nRows - 1, Math.floor(view.window.top + (y - place.head + 0.01) / step));
      const next = step > 1 ? view.y(row + 1) : y + 1;
      const stray = track.by === "label" && report.stray[row];
      const now = css(track.ofRow(row));
      const width = stray ? TRACK / 2 : TRACK;
      if (now !== colour || width !== wide) {
        flush(y);
        [begun, colour, wide] = [y, now, width];
      }
      y = Math.max(next, y + 0.5);
    }
    flush(bottom);
  });
}

/** The names of tracks, above them, bottom to top. @param {TreeView} view */
function drawTrackNames(view) {
  const { context, place } = view;
  context.font = SMALL_FONT;
  context.fillStyle = view.scheme.quiet;
  context.textBaseline = "middle";
  view.tracks.forEach((track, k) => {
    context.save();
    context.translate(place.tracks + k * (TRACK + TRACK_GAP) + TRACK / 2, place.head - 4);
    context.rotate(-Math.PI / 2);
    context.fillText(fitted(context, track.title.slice(0, 60), place.head - 8), 0, 0);
    context.restore();
  });
  context.font = FONT;
}
