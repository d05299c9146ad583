// What is in view as a picture to be taken along: title, tree and heat map, and what colours mean.

const FIGURE = { width: 1000, height: 640, title: 34, line: 20, swatch: 11, most: 24 };

/** What colours mean, entry by entry: the colouring in use, then tracks that are others. */
function keyEntries(view) {
  const lines = [];
  const colourings = [view.colouring, ...view.tracks.filter((track) => track !== view.colouring)];
  for (const one of colourings) {
    if (one instanceof Numbers) {
      const [low, high] = one.ends.map((v) => one.column.written(v, 3));
      lines.push([{ text: `${one.title}:` }, { text: low, ramp: SEQUENTIAL, after: high }]);
      continue;
    }
    const seen = new Set(one.codes);
    const shown = one.names.map((name, k) => ({ text: name, colour: one.colourOf(k), k })).filter(({ k }) => seen.has(k));
    const line = [{ text: `${one.title}:` }, ...shown.slice(0, FIGURE.most)];
    if (shown.length > FIGURE.most) line.push({ text: `and ${shown.length - FIGURE.most} more` });
    if (seen.has(-1)) line.push({ text: one.nameOf(-1), colour: NO_COLOUR });
    lines.push(line);
  }
  if (view.state.heat) {
    const cells = [{ text: "cells:" }, { text: `−${MOST_SCORE} sd`, ramp: DIVERGING, after: `+${MOST_SCORE} sd` }];
    lines.push([...cells, { text: "missing", colour: ramp(GONE) }]);
  }
  return lines;
}

/** Draw the key, or only measure it. @returns {number} its height */
function drawKey(view, context, width, top, dry) {
  let y = top + 6;
  context.textBaseline = "middle";
  context.font = FONT;
  for (const line of keyEntries(view)) {
    let x = 8;
    for (const entry of line) {
      const text = entry.text.slice(0, 80);
      const bar = entry.ramp ? 100 + context.measureText(entry.after).width + 6 : 0;
      const wide = (entry.colour ? FIGURE.swatch + 5 : 0) + context.measureText(text).width + bar + 14;
      if (x + wide > width && x > 8) {
        x = 24;
        y += FIGURE.line;
      }
      if (!dry) drawEntry(view, context, entry, text, x, y + FIGURE.line / 2);
      x += wide;
    }
    y += FIGURE.line;
  }
  return y - top + 6;
}

function drawEntry(view, context, entry, text, left, y) {
  let x = left;
  if (entry.colour) {
    context.fillStyle = css(entry.colour);
    context.fillRect(x, y - FIGURE.swatch / 2, FIGURE.swatch, FIGURE.swatch);
    x += FIGURE.swatch + 5;
  }
  context.fillStyle = view.scheme.ink;
  context.fillText(text, x, y);
  if (!entry.ramp) return;
  x += context.measureText(text).width + 6;
  for (let k = 0; k < 44; k++) {
    context.fillStyle = css(along(ramp(entry.ramp), k / 43));
    context.fillRect(x + 2 * k, y - 5, 2.2, 10);
  }
  context.fillStyle = view.scheme.ink;
  context.fillText(entry.after, x + 94, y);
}

/**
 * Draw what is in view, as on paper.
 * @param {TreeView} view
 * @param {(width: number, height: number) => *} start makes the context for a size
 */
function drawFigure(view, start) {
  const figure = Object.create(view);
  figure.scheme = Scheme.printed();
  figure.width = Math.max(view.width, FIGURE.width);
  figure.height = Math.max(view.height, FIGURE.height);
  figure.heat = Object.assign(Object.create(view.heat), { view: figure });
  const scratch = document.createElement("canvas").getContext("2d");
  const key = drawKey(figure, scratch, figure.width, 0, true);
  const context = start(figure.width, FIGURE.title + figure.height + key);
  figure.context = context;
  context.font = "bold 15px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = figure.scheme.ink;
  context.fillText(fitted(context, view.report.title.slice(0, 160), figure.width - 16), 8, FIGURE.title / 2);
  context.font = FONT;
  context.save();
  context.translate(0, FIGURE.title);
  figure.drawTree();
  context.restore();
  drawKey(figure, context, figure.width, FIGURE.title + figure.height, false);
  view.scheme.use();
  return context;
}

/** Draw it on a canvas, twice as sharp as a screen. @param {TreeView} view @param {HTMLCanvasElement} canvas */
function drawFigureOn(view, canvas) {
  drawFigure(view, (width, height) => {
    const context = prepareCanvas(canvas, width, height, 2);
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
    return context;
  });
}
