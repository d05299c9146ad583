// The data as a heat map: rows in the order of the tree, columns in that of their own.

const MOST_SCORE = 3; // standard deviations at the ends of the colours
const FEW_CELLS = 40000; // that are drawn one by one in a picture made of shapes

class HeatMap {
  /** @param {TreeView} view */
  constructor(view) {
    this.view = view;
    this.small = document.createElement("canvas");
    this.arrange("likeness");
  }

  /** Put columns in an order. @param {"likeness"|"relevance"|"table"} order */
  arrange(order) {
    const { columns, columnTree, carrying } = this.view.report;
    this.hasTree = order === "likeness" && columnTree !== null;
    const given = Int32Array.from(columns, (_, d) => d);
    this.order = this.hasTree ? columnTree.order : order === "relevance" && carrying ? carrying : given;
    this.joins = this.hasTree ? this.measureJoins(columnTree) : [];
  }

  /** Where the lines of each join go: columns from and to, and the middles of its sides. */
  measureJoins({ order, joins, height }) {
    const n = order.length;
    const places = Array.from({ length: n }, () => null);
    order.forEach((d, k) => (places[d] = { from: k, to: k + 1, middle: k + 0.5, height: 0 }));
    const highest = height[height.length - 1] || 1;
    return Array.from(height, (tall, k) => {
      const sides = [joins[2 * k], joins[2 * k + 1]].map((j) => places[j]).sort((a, b) => a.from - b.from);
      const join = {
        sides, from: sides[0].from, to: sides[1].to, height: tall / highest,
        middle: (sides[0].middle + sides[1].middle) / 2,
      };
      places.push(join);
      return join;
    });
  }

  get columnWidth() {
    const { place, columns } = this.view;
    return place.heatWidth / (columns.last - columns.first);
  }

  x(column) {
    return this.view.place.heat + (column - this.view.columns.first) * this.columnWidth;
  }

  /** The place of the column at x among those in order, or −1. */
  columnAt(x) {
    const { place, columns } = this.view;
    if (!place.heatWidth || x < place.heat || x >= place.heat + place.heatWidth) return -1;
    return Math.min(this.order.length - 1, Math.floor(columns.first + (x - place.heat) / this.columnWidth));
  }

  /** The lowest join of columns under a point above the map, or null. */
  joinAt(x, y) {
    const { place } = this.view;
    if (!this.hasTree || y > COLUMN_TREE || this.columnAt(x) < 0) return null;
    const at = this.view.columns.first + (x - place.heat) / this.columnWidth;
    const high = (COLUMN_TREE - 3 - y) / (COLUMN_TREE - 6);
    return this.joins.find((join) => at >= join.from && at < join.to && join.height >= high - 0.05) ?? null;
  }

  /** Lines of the map: a row each, or as many rows as a pixel has. */
  lines() {
    const { view } = this;
    const { nRows } = view.report;
    const { head, bottom } = view.place;
    const [top, end] = [Math.max(0, view.window.top), Math.min(nRows, view.window.bottom)];
    if (view.rowHeight >= 1) {
      const first = Math.floor(top);
      const count = Math.ceil(end) - first;
      return { count, y: view.y(first), step: view.rowHeight, rows: (k) => [first + k, first + k + 1] };
    }
    const count = Math.max(1, Math.round(bottom - head));
    const step = (bottom - head) / count;
    const rows = (k) => {
      const a = Math.min(nRows - 1, Math.floor(top + (k * step) / view.rowHeight));
      return [a, Math.min(nRows, Math.max(a + 1, Math.floor(top + ((k + 1) * step) / view.rowHeight)))];
    };
    return { count, y: head, step, rows };
  }

  /** The colour of some rows of a column. @returns {Rgb} */
  cell(column, start, end) {
    if (column.categories) {
      const code = column.stored[(start + end - 1) >> 1];
      return Number.isNaN(code) ? ramp(GONE) : slotColour(column.slots[code]);
    }
    const score = column.score(start, end);
    return Number.isNaN(score) ? ramp(GONE) : along(ramp(DIVERGING), (score / MOST_SCORE + 1) / 2);
  }

  draw() {
    const { view } = this;
    const { place } = view;
    if (!place.heatWidth) return;
    const { report, context, columns } = view;
    const first = Math.floor(columns.first);
    const last = Math.min(this.order.length, Math.ceil(columns.last));
    const shown = Array.from(this.order.subarray(first, last), (d) => report.columns[d]);
    for (const column of shown) column.prepareScores();
    const lines = this.lines();
    context.save();
    context.beginPath();
    context.rect(place.heat, place.head, place.heatWidth, place.bottom - place.head);
    context.clip();
    const left = this.x(first);
    if (context.ofShapes && shown.length * lines.count <= FEW_CELLS) {
      // A path of all cells of one colour: a shape for each would take four times the room.
      const cells = new Map();
      shown.forEach((column, c) => {
        for (let k = 0; k < lines.count; k++) {
          const colour = css(this.cell(column, ...lines.rows(k)));
          if (!cells.has(colour)) cells.set(colour, []);
          cells.get(colour).push([c, k]);
        }
      });
      for (const [colour, places] of cells) {
        context.fillStyle = colour;
        context.beginPath();
        for (const [c, k] of places) {
          context.rect(left + c * this.columnWidth, lines.y + k * lines.step, this.columnWidth + 0.2, lines.step + 0.2);
        }
        context.fill();
      }
    } else {
      this.drawSmall(shown, lines);
      context.imageSmoothingEnabled = this.columnWidth < 1;
      context.drawImage(this.small, left, lines.y, shown.length * this.columnWidth, lines.count * lines.step);
    }
    context.restore();
  }

  /** A pixel for each cell. */
  drawSmall(shown, lines) {
    const { small } = this;
    small.width = shown.length;
    small.height = lines.count;
    const paint = small.getContext("2d");
    const image = paint.createImageData(shown.length, lines.count);
    const { data } = image;
    const steps = 255;
    const colours = Array.from({ length: steps + 1 }, (_, k) => along(ramp(DIVERGING), k / steps));
    const gone = ramp(GONE);
    for (let k = 0; k < lines.count; k++) {
      const [start, end] = lines.rows(k);
      for (let c = 0; c < shown.length; c++) {
        const column = shown[c];
        let colour;
        if (column.categories) colour = this.cell(column, start, end);
        else {
          const score = column.score(start, end);
          const part = Math.min(Math.max((score / MOST_SCORE + 1) / 2, 0), 1);
          colour = Number.isNaN(score) ? gone : colours[Math.round(part * steps)];
        }
        const at = 4 * (k * shown.length + c);
        data[at] = colour[0];
        data[at + 1] = colour[1];
        data[at + 2] = colour[2];
        data[at + 3] = 255;
      }
    }
    paint.putImageData(image, 0, 0);
  }

  /** The tree of columns, and their names or their number. */
  drawHead() {
    const { view } = this;
    const { context, place, columns, report, scheme, state } = view;
    if (!place.heatWidth) return;
    context.save();
    context.beginPath();
    context.rect(place.heat, 0, place.heatWidth, place.head);
    context.clip();
    context.strokeStyle = scheme.quiet;
    context.lineWidth = 1;
    context.beginPath();
    const y = (height) => COLUMN_TREE - 3 - height * (COLUMN_TREE - 6);
    for (const { sides, height, from, to } of this.joins) {
      if (to <= columns.first || from >= columns.last) continue;
      const [a, b] = sides.map((side) => this.x(side.middle));
      context.moveTo(a, y(sides[0].height));
      context.lineTo(a, y(height));
      context.lineTo(b, y(height));
      context.lineTo(b, y(sides[1].height));
    }
    context.stroke();
    context.font = SMALL_FONT;
    context.textBaseline = "middle";
    const chosen = state.colour[0] === "c" ? Number(state.colour.slice(1)) : -1;
    if (place.upright) {
      const last = Math.min(this.order.length, Math.ceil(columns.last));
      const room = place.head - (this.hasTree ? COLUMN_TREE : 0) - 8;
      for (let k = Math.floor(columns.first); k < last; k++) {
        const d = this.order[k];
        context.fillStyle = d === chosen ? scheme.accent : scheme.ink;
        context.save();
        context.translate(this.x(k + 0.5), place.head - 4);
        context.rotate(-Math.PI / 2);
        context.fillText(fitted(context, report.columns[d].name.slice(0, 60), room), 0, 0);
        context.restore();
      }
    } else {
      context.fillStyle = scheme.quiet;
      const n = Math.round(columns.last - columns.first);
      const all = report.columns.length;
      context.fillText(n < all ? `${n} of ${many(all, "column")}` : many(all, "column"), place.heat + 2, place.head - 9);
    }
    context.font = FONT;
    context.restore();
  }

  // ---- which columns are in view ----

  /** Show some columns, at least two, within those there are. */
  show(first, last) {
    const n = this.order.length;
    const size = Math.min(Math.max(last - first, Math.min(2, n)), n);
    const from = Math.min(Math.max((first + last - size) / 2, 0), n - size);
    // Rounded as the address of the view has them.
    this.view.columns = { first: Number(short(from)), last: Number(short(from + size)) };
    this.view.state.set({ columnMoves: this.view.state.columnMoves + 1 });
    this.view.ask(true);
  }

  /** Make columns wider or narrower around a place. */
  magnify(factor, at = (this.view.columns.first + this.view.columns.last) / 2) {
    const { first, last } = this.view.columns;
    this.show(at - (at - first) / factor, at + (last - at) / factor);
  }

  /** Show the columns of a join, or of all if they are in view already. */
  zoomOn(join) {
    const { first, last } = this.view.columns;
    const there = Math.abs(first - join.from) < 1e-6 && Math.abs(last - join.to) < 1e-6;
    if (there) this.show(0, this.order.length);
    else this.show(join.from, join.to);
  }
}
