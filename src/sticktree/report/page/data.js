// The numbers of the page: rows in the tree's order, so that those of a node are one range.

/**
 * Undo base64.
 * @param {string} text
 * @param {Function} Type a typed array
 */
function unpack(text, Type) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Type(bytes.buffer);
}

/** A column: its values, and sums over the first rows, by which means of ranges cost nothing. */
class Column {
  constructor(packed) {
    this.name = packed.name;
    this.kind = packed.kind;
    this.categories = packed.categories;
    this.centre = packed.centre;
    this.scale = packed.scale;
    this.stored = unpack(packed.values, Float32Array);
    this.sums = null;
  }

  /** @param {number} i a row @returns {number} NaN where missing */
  value(i) {
    return this.centre + this.scale * this.stored[i];
  }

  /** @param {number} i a row @returns {string} */
  text(i) {
    if (Number.isNaN(this.stored[i])) return "missing";
    return this.categories ? this.categories[this.stored[i]] : this.written(this.value(i), 6);
  }

  /** Write a value; what is centred and scaled is rounded to what single precision knows of it. */
  written(value, digits) {
    if (this.scale === 1 && this.centre === 0) return formatNumber(value, digits);
    const known = Math.ceil(Math.log10((Math.abs(value) || 1) / this.scale)) + 6;
    return formatNumber(value, Math.min(15, Math.max(digits, known)));
  }

  prepare() {
    if (this.sums) return;
    const n = this.stored.length;
    this.sums = new Float64Array(n + 1);
    this.seen = new Uint32Array(n + 1);
    let squares = 0;
    for (let i = 0; i < n; i++) {
      const v = this.stored[i];
      const missing = Number.isNaN(v);
      this.sums[i + 1] = this.sums[i] + (missing ? 0 : v);
      this.seen[i + 1] = this.seen[i] + (missing ? 0 : 1);
    }
    this.mean = this.sums[n] / this.seen[n];
    for (const v of this.stored) if (!Number.isNaN(v)) squares += (v - this.mean) ** 2;
    this.sd = Math.sqrt(squares / this.seen[n]);
    // What is constant up to rounding has no spread.
    if (!(this.sd > 1e-6 * Math.abs(this.mean))) this.sd = 0;
  }

  /** How often each category occurs in a range of rows. */
  counts(start, end) {
    const counts = new Float64Array(this.categories.length);
    for (let i = start; i < end; i++) if (!Number.isNaN(this.stored[i])) counts[this.stored[i]]++;
    return counts;
  }

  /**
   * What a range of rows looks like in this column.
   * @returns {{column: Column, text: string, note: string, sds: number}} sds is NaN if all missing
   */
  described(start, end) {
    this.prepare();
    const seen = this.seen[end] - this.seen[start];
    const line = { column: this, text: "missing", note: "", sds: NaN };
    if (!seen) return line;
    if (this.categories) return this.describedCategory(line, start, end, seen);
    const mean = (this.sums[end] - this.sums[start]) / seen;
    line.text = this.written(this.centre + this.scale * mean, 4);
    line.sds = this.sd ? (mean - this.mean) / this.sd : 0;
    line.note = formatSds(line.sds);
    return line;
  }

  describedCategory(line, start, end, seen) {
    const here = this.counts(start, end);
    this.overall ??= this.counts(0, this.stored.length);
    const total = this.seen[this.stored.length];
    let chief = 0;
    let sds = 0;
    for (let c = 0; c < here.length; c++) {
      if (here[c] > here[chief]) chief = c;
      const p = this.overall[c] / total;
      if (p > 0 && p < 1) sds = Math.max(sds, (here[c] / seen - p) / Math.sqrt(p * (1 - p)));
    }
    line.text = `${this.categories[chief]} ${formatShare(here[chief] / seen)}`;
    line.sds = sds;
    line.note = `of all ${formatShare(this.overall[chief] / total)}`;
    return line;
  }
}

const MEANING = {
  exact: "the share of draws with exactly these rows",
  transfer: "1 − the share of rows that would have to move to match a draw",
};

/** Everything the script knows. */
class Report {
  constructor(packed) {
    const { tree, rows } = packed;
    this.parent = unpack(tree.parent, Int32Array);
    this.start = unpack(tree.start, Int32Array);
    this.count = unpack(tree.count, Int32Array);
    // Sizes count the rows that are not on the page too.
    this.total = tree.total ? unpack(tree.total, Int32Array) : this.count;
    this.time = unpack(tree.time, Float32Array);
    this.exact = tree.support ? unpack(tree.support, Float32Array) : null;
    this.transfer = tree.transfer ? unpack(tree.transfer, Float32Array) : null;
    // What is shown where one number has room.
    this.support = this.transfer ?? this.exact;
    this.supportName = this.transfer ? "transfer support" : "support";
    this.nNodes = this.parent.length;
    this.number = unpack(rows.number, Int32Array);
    this.label = unpack(rows.label, Int32Array);
    this.confidence = rows.confidence ? unpack(rows.confidence, Float32Array) : null;
    this.class = rows.class ? unpack(rows.class, Int32Array) : null;
    this.names = rows.names;
    this.nRows = this.number.length;
    this.classes = packed.classes;
    this.columns = packed.columns.map((column) => new Column(column));
    this.cloud = packed.cloud;
    this.nLabels = this.label.reduce((most, k) => Math.max(most, k), -1) + 1;
    this.end = this.time.reduce((most, t) => Math.max(most, t), 0);
    this.findNodes();
  }

  /** The deepest node of every row, and where the nodes below each node end. */
  findNodes() {
    this.nodeOf = new Int32Array(this.nRows);
    this.after = new Int32Array(this.nNodes);
    this.hasChildren = new Uint8Array(this.nNodes);
    for (let w = 0; w < this.nNodes; w++) {
      if (w) this.hasChildren[this.parent[w]] = 1;
      this.after[w] = w + 1;
    }
    for (let w = this.nNodes - 1; w > 0; w--) {
      const up = this.parent[w];
      this.after[up] = Math.max(this.after[up], this.after[w]);
    }
    // Rows of inner nodes come before those of their children, so a later node overwrites.
    for (let w = 0; w < this.nNodes; w++) {
      if (this.hasChildren[w]) {
        for (let i = this.start[w]; i < this.start[w + 1]; i++) this.nodeOf[i] = w;
      } else {
        this.nodeOf.fill(w, this.start[w], this.start[w] + this.count[w]);
      }
    }
  }

  /** @param {number} i a row @returns {string} */
  rowName(i) {
    return this.names ? this.names[i] : `row ${this.number[i]}`;
  }

  /** @param {number} w a node @returns {string} what to call it */
  nodeName(w) {
    if (w === 0) return this.nRows === 1 ? "The only row" : `All ${many(this.total[0], "row")}`;
    if (this.count[w] === 1) return this.rowName(this.start[w]);
    return `${this.hasChildren[w] ? "Branch" : "Leaf"} of ${many(this.total[w], "row")}`;
  }

  /** Transfer support, or exact support if there is no other. @returns {number} NaN where it is not known */
  supportOf(w) {
    return this.support ? this.support[w] : NaN;
  }

  /** All supports of a node that are known, each with a name and what it means. */
  supportsOf(w) {
    const kinds = [
      ["Transfer support", this.transfer, MEANING.transfer],
      ["Exact support", this.exact, MEANING.exact],
    ];
    return kinds.filter(([, values]) => values && !Number.isNaN(values[w]))
      .map(([name, values, meaning]) => ({ name, value: values[w], meaning }));
  }

  /** All columns of a range of rows, the most unusual first. */
  features(start, end) {
    const lines = this.columns.map((column) => column.described(start, end));
    const rank = (line) => (Number.isNaN(line.sds) ? -1 : Math.abs(line.sds));
    return lines.sort((a, b) => rank(b) - rank(a));
  }

  /** The nodes from the root to w. */
  pathTo(w) {
    const path = [];
    for (let v = w; v >= 0; v = this.parent[v]) path.push(v);
    return path.reverse();
  }

  /** The smallest node that has all rows with a label. */
  nodeOfLabel(label) {
    const first = this.label.indexOf(label);
    const last = this.label.lastIndexOf(label);
    let w = this.nodeOf[first];
    while (w > 0 && (this.start[w] > first || this.start[w] + this.count[w] <= last)) {
      w = this.parent[w];
    }
    return w;
  }
}
