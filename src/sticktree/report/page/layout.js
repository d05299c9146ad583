// Where everything stands: tree, tracks, heat map and names side by side, names of columns above.

const AXIS = 26; // pixels below the tree, for the levels
const TRACK = 10; // width of a track
const TRACK_GAP = 3;
const NAME_SPACE = 150;
const ROW_FOR_NAME = 12; // pixels a row needs for its name to be written
const COLUMN_FOR_NAME = 10; // pixels a column needs for its
const WIDEST_COLUMN = 44;
const HEAT_SHARE = 0.6; // of the width without tracks and names, at most
const COLUMN_TREE = 34; // height of the tree of columns
const LONGEST_HEAD = 110; // pixels of a column's name
const FONT = "12px system-ui, sans-serif";
const SMALL_FONT = "11px system-ui, sans-serif";

/** Make a canvas as sharp as the screen. @returns {CanvasRenderingContext2D} */
function prepareCanvas(canvas, width, height, ratio = window.devicePixelRatio || 1) {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = FONT;
  return context;
}

/** Shorten text to a width. */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let short = Array.from(text).slice(0, 40);
  while (short.length > 1 && context.measureText(`${short.join("")}…`).width > width) short.pop();
  return short.length > 1 ? `${short.join("")}…` : "";
}

/**
 * Lay out what is in view.
 * @typedef {Object} Layout
 * @property {number} head where rows begin
 * @property {number} bottom where they end
 * @property {number} tree width of the tree
 * @property {number} tracks left of the tracks
 * @property {number} heat left of the heat map
 * @property {number} heatWidth 0 without one
 * @property {number} names left of the names of rows
 * @property {boolean} upright whether the names of columns are written, bottom to top
 * @property {boolean} named whether those of rows are
 */

/** @param {TreeView} view @returns {Layout} */
function layOut(view) {
  const { context, width, height, state, report } = view;
  const { first, last } = view.columns;
  const tracks = view.tracks;
  const beside = tracks.length * (TRACK + TRACK_GAP) + 6;
  const widest = (texts, most, font = FONT) => {
    context.font = font;
    let wide = 0;
    for (const text of texts) {
      wide = Math.max(wide, context.measureText(text.slice(0, 60)).width);
      if (wide >= most) break;
    }
    context.font = FONT;
    return Math.min(wide, most);
  };
  const rows = view.window.bottom - view.window.top;
  // Rows are as high as they would be with the names of columns above them.
  const roughly = (height - AXIS - 60) / rows;
  const named = roughly >= ROW_FOR_NAME;
  let names = 0;
  if (named) {
    const from = Math.max(0, Math.floor(view.window.top));
    const to = Math.min(report.nRows, Math.ceil(view.window.bottom));
    const texts = Array.from({ length: to - from }, (_, i) => report.rowName(from + i));
    names = widest(texts, Math.min(NAME_SPACE, 0.25 * width)) + 8;
  }
  const room = width - 8 - beside - names;
  const nColumns = last - first;
  const heatWidth = state.heat ? Math.min(HEAT_SHARE * room, nColumns * WIDEST_COLUMN) : 0;
  const upright = heatWidth / nColumns >= COLUMN_FOR_NAME;
  const longest = Math.min(LONGEST_HEAD, 0.24 * height);
  const above = tracks.map((track) => track.title);
  if (heatWidth && upright) {
    const shown = view.heat.order.slice(Math.floor(first), Math.ceil(last));
    for (const d of shown) above.push(report.columns[d].name);
  }
  const joins = heatWidth && view.heat.hasTree ? COLUMN_TREE : 0;
  const head = 10 + joins + widest(above, longest, SMALL_FONT);
  const tree = room - heatWidth - (heatWidth ? 6 : 0);
  const left = tree + 5;
  return {
    head, tree, named, upright, heatWidth,
    bottom: height - AXIS,
    tracks: left,
    heat: left + beside,
    names: left + beside + heatWidth + (heatWidth ? 6 : 0),
  };
}
