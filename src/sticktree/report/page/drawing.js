// The tree on a canvas. Only what is at least half a pixel high is visited, however large it is.

const LEAST = 0.5; // pixels

class TreeView {
  /** @param {HTMLElement} box @param {Report} report @param {Geometry} geometry @param {State} state */
  constructor(box, report, geometry, state) {
    Object.assign(this, { box, report, geometry, state });
    this.canvas = byId("tree-canvas");
    this.marks = new TreeMarks(this, byId("tree-marks"));
    this.window = geometry.windowOf(0);
    this.columns = { first: 0, last: report.columns.length };
    this.heat = new HeatMap(this);
    this.scheme = new Scheme();
    this.frame = 0;
    this.resize();
  }

  resize() {
    this.width = Math.max(this.box.clientWidth, 1);
    this.height = Math.max(this.box.clientHeight, AXIS + 1);
    this.context = prepareCanvas(this.canvas, this.width, this.height);
    this.marks.resize();
    this.place = layOut(this);
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

  get colouring() {
    return this.state.colouring;
  }

  /** What stands beside the tree, a track each. */
  get tracks() {
    return [...this.state.tracks].map((by) => this.report.colouring(by)).filter(Boolean);
  }

  get rowHeight() {
    return (this.place.bottom - this.place.head) / (this.window.bottom - this.window.top);
  }

  /** Width of the tree proper. */
  get plotWidth() {
    return this.place.tree;
  }

  x(time) {
    const { left, right } = this.window;
    return ((time - left) / (right - left)) * this.plotWidth;
  }

  y(row) {
    return this.place.head + (row - this.window.top) * this.rowHeight;
  }

  /** The row at a height of the canvas, or −1. */
  rowAt(y) {
    const row = Math.floor(this.window.top + (y - this.place.head) / this.rowHeight);
    return y < this.place.head || y > this.place.bottom || row < 0 || row >= this.report.nRows ? -1 : row;
  }

  /** The node under a point of the canvas, or −1. */
  nodeAt(x, y) {
    const row = this.rowAt(y);
    if (row < 0) return -1;
    const { left, right } = this.window;
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
    this.place = layOut(this);
    const { head, bottom, tracks, heat, heatWidth } = this.place;
    // Where things stand, for those who look from outside.
    if (context.canvas === this.canvas) this.canvas.dataset.place = [head, bottom, tracks, heat, heatWidth].map(short).join(" ");
    context.clearRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(0, head, this.width, bottom - head);
    context.clip();
    if (this.state.mode === "icicle") this.visit((w, a, b) => this.drawBox(w, a, b));
    else this.visit((w, a, b) => this.drawLines(w, a, b));
    this.drawCut();
    drawTracks(this);
    this.heat.draw();
    this.drawNames();
    context.restore();
    drawTrackNames(this);
    this.heat.drawHead();
    this.drawAxis();
  }

  /** Call back with every node in view, parents first, and its top and bottom in pixels. */
  visit(callback) {
    const { start, count } = this.report;
    const { head, bottom: end } = this.place;
    const stack = [0];
    this.visited = 0;
    while (stack.length) {
      const w = stack.pop();
      const top = this.y(start[w]);
      const bottom = this.y(start[w] + count[w]);
      if (bottom < head || top > end) continue;
      this.visited++;
      callback(w, top, bottom);
      if (bottom - top < LEAST || this.state.folded.has(w)) continue;
      const children = this.geometry.children(w);
      for (let k = children.length - 1; k >= 0; k--) stack.push(children[k]);
    }
  }

  /** Colour of a node, paler the less support it has. */
  colour(w) {
    const colour = this.colouring.ofNode(w, this.scheme);
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
    const from = Math.max(top, this.place.head);
    const to = Math.min(bottom, this.place.bottom);
    if (to - from < 14 || right - left < 26) return;
    context.fillStyle = readableOn(colour);
    context.textBaseline = "middle";
    const single = report.count[w] === 1 && !report.hasChildren[w];
    const text = single ? "" : this.boxText(w, folded, right - left - 8);
    if (text) context.fillText(text, left + 4, (from + to) / 2);
  }

  /** The size of a node and, if it is of one kind, which; as much of it as there is room for. */
  boxText(w, folded, room) {
    const size = WHOLE.format(this.report.total[w]);
    const said = folded ? "folded" : this.colouring.wholeName(w);
    const fits = (text) => this.context.measureText(text).width <= room;
    if (said && fits(`${size} · ${said}`)) return `${size} · ${said}`;
    return fits(size) ? size : "";
  }

  drawHatch(left, top, right, bottom, colour) {
    const { context } = this;
    const base = Math.max(top, this.place.head);
    const height = Math.min(bottom, this.place.bottom) - base;
    context.save();
    context.beginPath();
    context.rect(left, base, right - left, height);
    context.clip();
    context.strokeStyle = colour;
    context.globalAlpha = 0.35;
    context.lineWidth = 1;
    context.beginPath();
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
    const wedge = ends && !tiny && report.count[w] > 1; // a leaf of several rows spreads to them
    if ((folded && !tiny) || wedge) {
      const from = wedge ? left : right;
      context.beginPath();
      context.moveTo(wedge ? Math.max(from, this.plotWidth - 14) : from, y);
      context.lineTo(this.plotWidth, top + 0.5);
      context.lineTo(this.plotWidth, bottom - 0.5);
      context.fill();
    } else if (!ends && right >= 0) {
      const children = geometry.children(w);
      const from = this.y(geometry.middle[children[0]]);
      const to = this.y(geometry.middle[children[children.length - 1]]);
      context.fillRect(right - thick / 2, from, thick, Math.max(to - from, 1));
      const room = Math.min(bottom, this.place.bottom) - Math.max(top, this.place.head);
      if (room > 30 && !Number.isNaN(support) && w && right - left > 34 && y > this.place.head + 14) {
        context.fillStyle = this.scheme.quiet;
        context.textBaseline = "alphabetic";
        context.textAlign = "right";
        context.fillText(support.toFixed(2), right - 5, y - 4);
        context.textAlign = "left";
      }
    }
  }

  lineColour(w) {
    const colour = this.colouring.ofNode(w, this.scheme);
    const support = this.report.supportOf(w);
    if (this.report.count[w] === 1) return mix(this.scheme.paper, colour, 0.6);
    return mix(this.scheme.paper, colour, Number.isNaN(support) ? 1 : 0.45 + 0.55 * support);
  }

  /** Where the cluster tree is cut: a line before the branch of every cluster. */
  drawCut() {
    const { context, report } = this;
    if (report.nLabels < 2) return;
    context.fillStyle = this.scheme.ink;
    for (const w of report.tops) {
      const x = this.leftOf(w);
      const top = this.y(report.start[w]);
      const bottom = this.y(report.start[w] + report.count[w]);
      if (x <= 0 || bottom < this.place.head || top > this.place.bottom) continue;
      if (this.state.mode === "icicle") context.fillRect(x - 1.5, top, 3, Math.max(bottom - top - 1, 1));
      else context.fillRect(x + 3, this.y(this.geometry.middle[w]) - 7, 3, 14);
    }
  }

  /** The names of rows, where there is room. */
  drawNames() {
    const { context, report } = this;
    if (!this.place.named) return;
    const left = this.place.names;
    const first = Math.max(0, Math.floor(this.window.top));
    const last = Math.min(report.nRows, Math.ceil(this.window.bottom));
    context.textBaseline = "middle";
    context.fillStyle = this.scheme.ink;
    for (let i = first; i < last; i++) {
      const name = fitted(context, report.rowName(i).slice(0, 60), this.width - left - 2);
      context.fillText(name, left, this.y(i + 0.5));
    }
  }

  /** Where the axis has marks, and what is written there. */
  ticks(left, right) {
    const { report } = this;
    if (report.nGroups) {
      const numbers = [1, 2, 3, 5].flatMap((k) => [k, 10 * k, 100 * k, 1000 * k]).sort((a, b) => a - b);
      return numbers.filter((k) => k <= report.nGroups).map((k) => [report.timeOfPart(k), String(k)]);
    }
    const step = niceStep(right - left, Math.max(2, this.plotWidth / 90));
    const ticks = [];
    for (let t = Math.ceil(Math.max(left, 0) / step) * step; t <= right + 1e-9; t += step) ticks.push([t, formatLevel(t)]);
    return ticks;
  }

  drawAxis() {
    const { context } = this;
    const { left, right } = this.window;
    const y = this.place.bottom + 4;
    context.fillStyle = this.scheme.quiet;
    context.textBaseline = "top";
    const word = this.report.nGroups ? "order of parting" : "level";
    const narrow = this.plotWidth < 200;
    let free = narrow ? 0 : context.measureText(word).width + 12;
    if (!narrow) context.fillText(word, 0, y + 5);
    for (const [t, text] of this.ticks(left, right)) {
      const x = this.x(t);
      if (x < 0 || t > right + 1e-9) continue;
      context.fillRect(x - 0.5, y - 3, 1, 5);
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
