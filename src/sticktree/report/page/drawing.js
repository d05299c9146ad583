// The tree on a canvas. Only what is at least half a pixel high is visited, however large it is.

const LEAST = 0.5; // pixels
const AXIS = 26; // pixels below the tree, for the levels
const STRIP = 9; // width of the strips of clusters and classes
const NAME_SPACE = 150;
const ROW_FOR_NAME = 12; // pixels a row needs for its name to be written
const FONT = "12px system-ui, sans-serif";

/** Make a canvas as sharp as the screen. @returns {CanvasRenderingContext2D} */
function prepareCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
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

class TreeView {
  /** @param {HTMLElement} box @param {Report} report @param {Geometry} geometry @param {State} state */
  constructor(box, report, geometry, state) {
    Object.assign(this, { box, report, geometry, state });
    this.canvas = byId("tree-canvas");
    this.marks = new TreeMarks(this, byId("tree-marks"));
    this.window = geometry.windowOf(0);
    this.scheme = new Scheme();
    this.frame = 0;
    this.nameSpace = 0;
    this.resize();
  }

  resize() {
    this.width = Math.max(this.box.clientWidth, 1);
    this.height = Math.max(this.box.clientHeight, AXIS + 1);
    this.context = prepareCanvas(this.canvas, this.width, this.height);
    this.marks.resize();
    this.ask(true);
  }

  /**
   * Draw at the next frame, once.
   * @param {boolean} all the tree too, not only the marks over it
   */
  ask(all) {
    this.stale ||= all;
    this.frame ||= requestAnimationFrame(() => this.draw(this.stale));
  }

  // ---- places ----

  get nStrips() {
    return this.report.class ? 2 : 1;
  }

  get rowHeight() {
    return (this.height - AXIS) / (this.window.bottom - this.window.top);
  }

  /** Whether rows are high enough for their names. */
  get named() {
    return this.rowHeight >= ROW_FOR_NAME;
  }

  /** Width of the tree proper. */
  get plotWidth() {
    return this.width - 8 - this.nStrips * (STRIP + 3) - this.nameSpace;
  }

  /** Leave as much room for names as those in view take. */
  measureNames() {
    this.nameSpace = 0;
    if (!this.named) return;
    const most = Math.min(NAME_SPACE, 0.3 * this.width);
    const first = Math.max(0, Math.floor(this.window.top));
    const last = Math.min(this.report.nRows, Math.ceil(this.window.bottom));
    for (let i = first; i < last && this.nameSpace < most; i++) {
      const wide = this.context.measureText(this.report.rowName(i).slice(0, 60)).width + 8;
      this.nameSpace = Math.min(most, Math.max(this.nameSpace, wide));
    }
  }

  x(time) {
    const { left, right } = this.window;
    return ((time - left) / (right - left)) * this.plotWidth;
  }

  y(row) {
    return (row - this.window.top) * this.rowHeight;
  }

  /** The node under a point of the canvas, or −1. */
  nodeAt(x, y) {
    const { top, left, right } = this.window;
    const row = Math.floor(top + y / this.rowHeight);
    if (y < 0 || y > this.height - AXIS || row < 0 || row >= this.report.nRows) return -1;
    const time = left + (Math.min(x, this.plotWidth) / this.plotWidth) * (right - left);
    return this.geometry.nodeAt(row, time, this.state.folded);
  }

  // ---- drawing ----

  draw(all = true) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (all) this.drawTree();
    this.marks.draw();
  }

  drawTree() {
    const { context } = this;
    this.stale = false;
    this.measureNames();
    context.clearRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(0, 0, this.width, this.height - AXIS);
    context.clip();
    if (this.state.mode === "icicle") this.visit((w, a, b) => this.drawBox(w, a, b));
    else this.visit((w, a, b) => this.drawLines(w, a, b));
    this.drawStrips();
    context.restore();
    this.drawAxis();
  }

  /** Call back with every node in view, parents first, and its top and bottom in pixels. */
  visit(callback) {
    const { start, count } = this.report;
    const stack = [0];
    this.visited = 0;
    while (stack.length) {
      const w = stack.pop();
      const top = this.y(start[w]);
      const bottom = this.y(start[w] + count[w]);
      if (bottom < 0 || top > this.height) continue;
      this.visited++;
      callback(w, top, bottom);
      if (bottom - top < LEAST || this.state.folded.has(w)) continue;
      const children = this.geometry.children(w);
      for (let k = children.length - 1; k >= 0; k--) stack.push(children[k]);
    }
  }

  /** Colour of a node, paler the less support it has. */
  colour(w) {
    const colour = this.state.colouring.ofNode(w, this.scheme);
    const support = this.report.supportOf(w);
    const leaf = !this.report.hasChildren[w];
    if (leaf && this.report.count[w] === 1) return mix(this.scheme.paper, colour, 0.55);
    return mix(this.scheme.paper, colour, Number.isNaN(support) ? 0.9 : 0.22 + 0.73 * support);
  }

  leftOf(w) {
    const up = this.geometry.up[w];
    return up < 0 ? Math.max(this.x(this.window.left), 0) : Math.max(this.x(this.report.time[up]), 0);
  }

  drawBox(w, top, bottom) {
    const { context, report } = this;
    const folded = this.state.folded.has(w);
    const tiny = bottom - top < LEAST;
    const left = this.leftOf(w);
    const ends = folded || tiny || !report.hasChildren[w];
    const right = ends ? this.plotWidth : this.x(report.time[w]);
    if (right - left < 0.3) return;
    const colour = this.colour(w);
    context.fillStyle = css(colour);
    const gap = bottom - top > 3 ? 1 : 0;
    const y = gap ? top : Math.floor(top);
    context.fillRect(left, y, right - left - (right - left > 3 ? 1 : 0),
      gap ? bottom - top - gap : Math.max(Math.ceil(bottom) - y, 1));
    if (folded) this.drawHatch(left, top, right, bottom - gap, readableOn(colour));
    const from = Math.max(top, 0);
    const to = Math.min(bottom, this.height - AXIS);
    if (to - from < 14 || right - left < 26) return;
    context.fillStyle = readableOn(colour);
    context.textBaseline = "middle";
    const single = report.count[w] === 1 && !report.hasChildren[w];
    const text = single ? "" : this.boxText(w, folded, right - left - 8);
    context.fillText(text, left + 4, (from + to) / 2);
  }

  /** The size of a node and, if it is of one kind, which; as much of it as there is room for. */
  boxText(w, folded, room) {
    const { colouring } = this.state;
    const size = WHOLE.format(this.report.total[w]);
    const chief = colouring.chiefOf(w);
    const alike = colouring.share[w] > 0.999 && chief >= 0;
    const said = folded ? "folded" : alike ? colouring.nameOf(chief) : "";
    const fits = (text) => this.context.measureText(text).width <= room;
    if (said && fits(`${size} · ${said}`)) return `${size} · ${said}`;
    return fits(size) ? size : "";
  }

  drawHatch(left, top, right, bottom, colour) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    context.strokeStyle = colour;
    context.globalAlpha = 0.35;
    context.lineWidth = 1;
    context.beginPath();
    const height = Math.min(bottom, this.height) - Math.max(top, 0);
    const base = Math.max(top, 0);
    for (let x = left - height; x < right; x += 8) {
      context.moveTo(x, base + height);
      context.lineTo(x + height, base);
    }
    context.stroke();
    context.restore();
  }

  drawLines(w, top, bottom) {
    const { context, report, geometry } = this;
    const support = report.supportOf(w);
    const sure = Number.isNaN(support) ? 1 : support;
    const single = report.count[w] === 1 && !report.hasChildren[w];
    const thick = single ? 1 : 1 + 1.4 * sure;
    const folded = this.state.folded.has(w);
    const tiny = bottom - top < LEAST;
    const left = this.leftOf(w);
    const ends = tiny || !report.hasChildren[w];
    const right = ends ? this.plotWidth : this.x(report.time[w]);
    const y = this.y(geometry.middle[w]);
    context.fillStyle = css(this.lineColour(w));
    if (right > 0) context.fillRect(left, y - thick / 2, Math.max(right - left, 0), thick);
    if (folded && !tiny) {
      context.beginPath();
      context.moveTo(right, y);
      context.lineTo(this.plotWidth, top + 1);
      context.lineTo(this.plotWidth, bottom - 1);
      context.fill();
    } else if (!ends && right >= 0) {
      const children = geometry.children(w);
      const from = this.y(geometry.middle[children[0]]);
      const to = this.y(geometry.middle[children[children.length - 1]]);
      context.fillRect(right - thick / 2, from, thick, Math.max(to - from, 1));
      const room = Math.min(bottom, this.height - AXIS) - Math.max(top, 0);
      if (room > 30 && !Number.isNaN(support) && w && right - left > 34 && y > 14) {
        context.fillStyle = this.scheme.quiet;
        context.textBaseline = "alphabetic";
        context.textAlign = "right";
        context.fillText(support.toFixed(2), right - 5, y - 4);
        context.textAlign = "left";
      }
    }
  }

  lineColour(w) {
    const colour = this.state.colouring.ofNode(w, this.scheme);
    const support = this.report.supportOf(w);
    if (this.report.count[w] === 1) return mix(this.scheme.paper, colour, 0.6);
    return mix(this.scheme.paper, colour, Number.isNaN(support) ? 1 : 0.45 + 0.55 * support);
  }

  /** A strip for clusters, one for classes, and the names of rows where there is room. */
  drawStrips() {
    const { context, report } = this;
    const strips = report.class ? [report.label, report.class] : [report.label];
    const bottom = Math.min(this.height - AXIS, this.y(report.nRows));
    const from = Math.max(0, this.y(0));
    const step = Math.max(1, this.rowHeight);
    strips.forEach((codes, k) => {
      const left = this.plotWidth + 5 + k * (STRIP + 3);
      let y = from;
      while (y < bottom) {
        const row = Math.min(report.nRows - 1, Math.floor(this.window.top + (y + 0.01) / this.rowHeight));
        const next = step > 1 ? this.y(row + 1) : y + 1;
        context.fillStyle = css(categoryColour(codes[row]));
        context.fillRect(left, y, STRIP, next - y + 0.5);
        y = Math.max(next, y + 0.5);
      }
    });
    if (!this.named) return;
    const left = this.plotWidth + 10 + this.nStrips * (STRIP + 3);
    const first = Math.max(0, Math.floor(this.window.top));
    const last = Math.min(report.nRows, Math.ceil(this.window.bottom));
    context.textBaseline = "middle";
    context.fillStyle = this.scheme.ink;
    for (let i = first; i < last; i++) {
      const name = fitted(context, report.rowName(i).slice(0, 60), this.width - left - 2);
      context.fillText(name, left, this.y(i + 0.5));
    }
  }

  drawAxis() {
    const { context } = this;
    const { left, right } = this.window;
    const step = niceStep(right - left, Math.max(2, this.plotWidth / 90));
    const y = this.height - AXIS + 4;
    context.fillStyle = this.scheme.quiet;
    context.textBaseline = "top";
    let free = context.measureText("level").width + 12;
    context.fillText("level", 0, y + 5);
    for (let t = Math.ceil(Math.max(left, 0) / step) * step; t <= right + 1e-9; t += step) {
      const x = this.x(t);
      context.fillRect(x - 0.5, y - 3, 1, 5);
      const text = formatNumber(t, 3);
      const wide = context.measureText(text).width;
      const at = Math.min(Math.max(x - wide / 2, 0), this.plotWidth - wide);
      if (at < free) continue;
      context.fillText(text, at, y + 5);
      free = at + wide + 8;
    }
  }
}

/** A round step that divides a range into about this many parts. */
function niceStep(range, parts) {
  const rough = range / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((k) => k * power >= rough * 0.999);
}
