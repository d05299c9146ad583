// The data beside the tree: density and histogram, scatter over density, or principal axes.

const PAD = { left: 46, right: 12, top: 10, bottom: 38 };
const SMALL = 2; // pixels of radius, under which a square will do for a dot
const MOST_NUMBERED = 40; // clusters whose numbers are written over their rows

class Cloud {
  /** @param {HTMLElement} box @param {TreeView} view */
  constructor(box, view) {
    Object.assign(this, { box, view, report: view.report, state: view.state });
    const { cloud } = this.report;
    this.kind = cloud.kind;
    this.axes = cloud.axes;
    this.density = cloud.density;
    if (this.density) {
      this.density.grid = unpack(this.density.values, this.kind === "line" ? Float32Array : Uint8Array);
    }
    if (this.kind === "line") this.histogram = new Histogram(this);
    this.canvas = box.querySelector("canvas");
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerleave", () => this.state.set({ hoveredRow: -1 }));
    this.canvas.addEventListener("click", (event) => {
      // A click is rounded to whole pixels: the row that is pointed at is meant.
      const { hoveredRow } = this.state;
      const row = hoveredRow >= 0 ? hoveredRow : this.rowAt(event);
      if (row >= 0) chooseRow(view, row);
    });
    byId("cloud-caption").textContent = this.caption();
    this.resize();
  }

  get places() {
    return this.report.places;
  }

  caption() {
    const [x, y] = this.axes;
    const gaps = this.places.reduce((sum, p) => sum + p.reduce((n, v) => n + Number.isNaN(v), 0), 0);
    const lost = gaps ? ` Missing values (${gaps}) are left out of the picture.` : "";
    if (this.kind === "line") {
      return `Histogram${this.density ? " and predictive density" : ""} of ${x.label}.${lost}`;
    }
    if (this.kind === "plane") {
      const over = this.density ? "; the shade behind is the predictive density" : "";
      return `${y.label} against ${x.label}${over}.${lost}`;
    }
    const shares = formatShare(x.share + y.share);
    const chief = (axis) => (axis.chief.length ? axis.chief.join(", ") : "nothing");
    return (
      `The first two principal axes of the standardised columns show ${shares} of the variance. ` +
      `Horizontally mostly ${chief(x)}; vertically mostly ${chief(y)}.`
    );
  }

  resize() {
    this.width = Math.max(this.box.clientWidth, 1);
    this.height = Math.max(this.box.clientHeight, 1);
    this.context = prepareCanvas(this.canvas, this.width, this.height);
    this.base = document.createElement("canvas");
    this.dots = document.createElement("canvas");
    this.drawBase();
    this.draw();
  }

  x(value) {
    const { low, high } = this.axes[0];
    return PAD.left + ((value - low) / (high - low)) * (this.width - PAD.left - PAD.right);
  }

  y(value) {
    const low = this.kind === "line" ? 0 : this.axes[1].low;
    const high = this.kind === "line" ? this.histogram.highest : this.axes[1].high;
    const room = this.height - PAD.top - PAD.bottom;
    return this.height - PAD.bottom - ((value - low) / (high - low)) * room;
  }

  // ---- what does not change with the pointer ----

  drawBase() {
    const context = prepareCanvas(this.base, this.width, this.height);
    this.scheme = Scheme.now();
    this.radius = Math.max(1.4, Math.min(3.4, 90 / Math.sqrt(this.report.nRows)));
    if (this.kind === "line") {
      this.histogram.drawBins(context, () => true, css(this.scheme.mixed), 0.9);
      this.histogram.drawCurve(context);
    } else {
      if (this.density) this.drawHeat(context);
      const over = prepareCanvas(this.dots, this.width, this.height);
      this.drawDots(over, () => true, this.radius, 0.8);
      this.ringStrays(over);
      this.numberClusters(over);
    }
    this.drawAxes(context);
  }

  /** Draw a dot for some rows, small ones as squares, a colour at a time: that is what is fast. */
  drawDots(context, has, radius, alpha) {
    const { of, colours } = this.state.colouring.groups();
    const rows = colours.map(() => []);
    for (let i = 0; i < this.report.nRows; i++) if (has(i)) rows[of(i)].push(i);
    context.globalAlpha = alpha;
    rows.forEach((some, k) => {
      if (!some.length) return;
      context.fillStyle = css(colours[k]);
      context.beginPath();
      for (const i of some) {
        const x = this.x(this.places[0][i]);
        const y = this.y(this.places[1][i]);
        if (Number.isNaN(x + y)) continue;
        if (radius < SMALL) context.rect(x - 0.9 * radius, y - 0.9 * radius, 1.8 * radius, 1.8 * radius);
        else {
          context.moveTo(x + radius, y);
          context.arc(x, y, radius, 0, 7);
        }
      }
      context.fill();
    });
    context.globalAlpha = 1;
    return rows.reduce((sum, some) => sum + some.length, 0);
  }

  drawHeat(context) {
    const { points, grid } = this.density;
    const small = document.createElement("canvas");
    small.width = points;
    small.height = points;
    const paint = small.getContext("2d");
    const image = paint.createImageData(points, points);
    for (let j = 0; j < points; j++) {
      for (let i = 0; i < points; i++) {
        const part = grid[j * points + i] / 255;
        const at = 4 * ((points - 1 - j) * points + i);
        const colour = mix(this.scheme.paper, this.scheme.heat, part * 0.75);
        for (let k = 0; k < 3; k++) image.data[at + k] = colour[k];
        image.data[at + 3] = 255;
      }
    }
    paint.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    const wide = this.width - PAD.left - PAD.right;
    context.drawImage(small, PAD.left, PAD.top, wide, this.height - PAD.top - PAD.bottom);
  }

  /** A thin ring around rows that are apart from their cluster. */
  ringStrays(context) {
    context.strokeStyle = this.scheme.ink;
    context.lineWidth = 1;
    context.beginPath();
    this.report.stray.forEach((stray, i) => {
      const x = this.x(this.places[0][i]);
      const y = this.y(this.places[1][i]);
      if (!stray || Number.isNaN(x + y)) return;
      context.moveTo(x + this.radius + 2, y);
      context.arc(x, y, this.radius + 2, 0, 7);
    });
    context.stroke();
  }

  /** Write the number of each cluster at the middle of its rows, so that colour is not all. */
  numberClusters(context) {
    const { report } = this;
    const { colouring } = this.state;
    if (!colouring.codes || colouring.size > MOST_NUMBERED || colouring.size < 2) return;
    const sums = Array.from({ length: colouring.size }, () => [0, 0, 0]);
    for (let i = 0; i < report.nRows; i++) {
      const sum = sums[colouring.codes[i]];
      const x = this.places[0][i];
      const y = this.places[1][i];
      if (!sum || Number.isNaN(x + y)) continue;
      sum[0] += x;
      sum[1] += y;
      sum[2]++;
    }
    context.font = "bold 12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const placed = [];
    const order = sums.map((_, k) => k).sort((a, b) => sums[b][2] - sums[a][2]);
    for (const k of order) {
      const n = sums[k][2];
      if (n < Math.max(2, 0.005 * report.nRows)) break;
      const text = colouring.by === "label" ? String(k) : fitted(context, colouring.nameOf(k), 100);
      const half = context.measureText(text).width / 2;
      const at = { x: this.x(sums[k][0] / n), y: this.y(sums[k][1] / n), half };
      // What would cover the number of a larger cluster is left to the colours.
      if (placed.some((b) => Math.abs(at.x - b.x) < at.half + b.half && Math.abs(at.y - b.y) < 12)) continue;
      placed.push(at);
      context.lineWidth = 4;
      context.strokeStyle = css(this.scheme.paper);
      context.strokeText(text, at.x, at.y);
      context.fillStyle = this.scheme.ink;
      context.fillText(text, at.x, at.y);
    }
    context.font = FONT;
    context.textAlign = "left";
  }

  // ---- axes ----

  ticks(axis, most) {
    if (axis.categories) return axis.categories.slice(0, 40).map((text, k) => [k, text]);
    const step = niceStep(axis.high - axis.low, most);
    const ticks = [];
    for (let k = Math.ceil(axis.low / step); k * step <= axis.high && ticks.length < 50; k++) {
      const value = Number((k * step).toPrecision(12));
      ticks.push([value, axis.log ? formatNumber(10 ** value, 3) : formatNumber(value, 5)]);
    }
    return ticks;
  }

  drawAxes(context) {
    const bottom = this.height - PAD.bottom;
    context.strokeStyle = this.scheme.line;
    context.lineWidth = 1;
    context.strokeRect(PAD.left, PAD.top, this.width - PAD.left - PAD.right, bottom - PAD.top);
    context.fillStyle = this.scheme.quiet;
    context.textAlign = "center";
    context.textBaseline = "top";
    let free = 0;
    const line = this.kind === "line" && this.axes[0].categories;
    const shift = line ? (this.axes[0].high - this.axes[0].low) / this.histogram.nBins : 0;
    for (const [value, text] of this.ticks(this.axes[0], this.width / 90)) {
      const x = line ? this.x(this.axes[0].low + (value + 0.5) * shift) : this.x(value);
      const short = fitted(context, text, 80);
      const half = context.measureText(short).width / 2;
      if (x - half < free || x + half > this.width) continue;
      context.fillText(short, x, bottom + 4);
      free = x + half + 6;
    }
    const labels = this.axes.map((axis) => {
      if (axis.share !== undefined) return `${axis.label} (${formatShare(axis.share)})`;
      return axis.log ? `${axis.label} (log scale)` : axis.label;
    });
    context.fillStyle = this.scheme.ink;
    const middle = (PAD.left + this.width - PAD.right) / 2;
    context.fillText(fitted(context, labels[0], this.width - 60), middle, bottom + 20);
    context.textBaseline = "middle";
    context.textAlign = "right";
    const upright = this.kind === "line" ? { low: 0, high: this.histogram.highest } : this.axes[1];
    context.fillStyle = this.scheme.quiet;
    for (const [value, text] of this.ticks(upright, this.height / 60)) {
      if (this.y(value) < PAD.top + 4 || this.y(value) > bottom + 1) continue;
      context.fillText(fitted(context, text, PAD.left - 20), PAD.left - 4, this.y(value));
    }
    context.save();
    context.translate(8, (PAD.top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillStyle = this.scheme.ink;
    context.fillText(fitted(context, this.kind === "line" ? "rows" : labels[1], bottom - PAD.top), 0, 0);
    context.restore();
    context.textAlign = "left";
  }

  // ---- what follows the pointer ----

  /** The rows to be seen before all others, as a test, or null. */
  marked() {
    const { report, state } = this;
    const codes = state.group && report.colouring(state.group.by)?.codes;
    if (codes && state.hovered < 0) return (i) => codes[i] === state.group.k;
    const w = state.hovered >= 0 ? state.hovered : state.selected;
    if (w === 0) return null;
    const end = report.start[w] + report.count[w];
    return (i) => i >= report.start[w] && i < end;
  }

  /** Draw at the next frame, once. */
  ask() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { context, state } = this;
    context.clearRect(0, 0, this.width, this.height);
    const marked = this.marked();
    context.drawImage(this.base, 0, 0, this.width, this.height);
    context.globalAlpha = marked ? 0.25 : 1;
    if (this.kind !== "line") context.drawImage(this.dots, 0, 0, this.width, this.height);
    context.globalAlpha = 1;
    let nMarked = 0;
    if (marked && this.kind === "line") {
      nMarked = this.histogram.drawBins(context, marked, this.scheme.accent, 0.75);
    } else if (marked) nMarked = this.drawDots(context, marked, this.radius * 1.25, 1);
    this.canvas.dataset.marked = nMarked;
    const row = state.hoveredRow >= 0 ? state.hoveredRow : state.row;
    if (row >= 0) this.ring(row);
  }

  ring(i) {
    const { context } = this;
    const x = this.x(this.places[0][i]);
    const y = this.kind === "line" ? this.y(0) : this.y(this.places[1][i]);
    if (Number.isNaN(x + y)) return;
    context.strokeStyle = this.scheme.accent;
    context.lineWidth = 3;
    context.beginPath();
    if (this.kind === "line") {
      context.moveTo(x, this.y(0));
      context.lineTo(x, PAD.top);
    } else {
      this.drawDots(context, (j) => j === i, this.radius + 1, 1);
      context.beginPath();
      context.arc(x, y, this.radius + 5, 0, 7);
    }
    context.stroke();
  }

  /** The row nearest to the pointer, if one is near. */
  rowAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    let best = -1;
    let nearest = 14 ** 2;
    for (let i = 0; i < this.report.nRows; i++) {
      const dx = this.x(this.places[0][i]) - x;
      const dy = this.kind === "line" ? 0 : this.y(this.places[1][i]) - y;
      const distance = dx * dx + dy * dy;
      if (distance < nearest) {
        nearest = distance;
        best = i;
      }
    }
    return best;
  }

  move(event) {
    if (event.pointerType !== "touch") this.state.set({ hoveredRow: this.rowAt(event) });
  }
}
