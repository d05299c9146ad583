// What the page knows: rows in the order of the tree in view, so that those of a node are one range.

const MEANING = {
  exact: "the share of draws with exactly these rows",
  transfer: "1 − the share of rows that would have to move to match a draw",
  stray: "in a small branch that is apart from the cluster nearest to it",
};

/** Something known of rows that was not fitted, and is a class; numbers are columns. */
class Annotation {
  constructor(packed) {
    this.name = packed.name;
    this.names = packed.names;
    this.slots = packed.slots;
    this.base = unpack(packed.code, Int32Array);
    this.arrange(null);
  }

  arrange(order) {
    this.code = arranged(this.base, order);
  }

  text(i) {
    return this.code[i] < 0 ? "unknown" : this.names[this.code[i]];
  }

  plainText(i) {
    return this.code[i] < 0 ? "" : this.names[this.code[i]];
  }
}

/** Everything the script knows. */
class Report {
  constructor(packed) {
    const { rows } = packed;
    this.title = packed.title;
    this.trees = packed.trees;
    this.baseNumber = unpack(rows.number, Int32Array);
    this.baseNames = rows.names;
    this.nRows = this.baseNumber.length;
    this.cuts = packed.cuts;
    this.found = packed.found;
    this.annotations = packed.annotations.map((one) => (one.code ? new Annotation(one) : new Column(one)));
    this.columns = packed.columns.map((column) => new Column(column));
    this.columnTree = packed.column_tree && {
      order: unpack(packed.column_tree.order, Int32Array),
      joins: unpack(packed.column_tree.joins, Int32Array),
      height: unpack(packed.column_tree.height, Float32Array),
    };
    this.carrying = packed.carrying && unpack(packed.carrying, Int32Array);
    this.cloud = packed.cloud;
    this.cloudBase = this.cloud.places.map(({ values, centre, scale }) =>
      Float64Array.from(unpack(values, Float32Array), (v) => centre + scale * v)
    );
    this.strays = "join";
    this.cutAt = this.found;
    this.arrange(0);
  }

  /** Show one of the trees, with all rows in its order. @param {number} which */
  arrange(which) {
    const tree = this.trees[which];
    const order = tree.order ? unpack(tree.order, Int32Array) : null;
    this.order = order;
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
    // The cluster tree, of so many groups, parts its branches one after another.
    this.nGroups = tree.groups;
    this.nNodes = this.parent.length;
    this.end = this.time.reduce((most, t) => Math.max(most, t), 0);
    this.number = arranged(this.baseNumber, order);
    this.names = arranged(this.baseNames, order);
    this.places = this.cloudBase.map((places) => arranged(places, order));
    for (const one of [...this.columns, ...this.annotations]) one.arrange(order);
    this.findNodes();
    this.colourings = new Map();
    this.cut(this.cutAt, this.strays);
  }

  /**
   * Cut into other clusters.
   * @param {number} at which of the cuts
   * @param {"join"|"label"} strays whether they belong to the nearest cluster or to none
   */
  cut(at, strays) {
    const cut = this.cuts[at];
    Object.assign(this, { cutAt: at, strays, clusters: cut, foundTops: null });
    const bits = unpack(cut.stray, Uint8Array);
    const isStray = Uint8Array.from({ length: this.nRows }, (_, i) => (bits[i >> 3] >> (i & 7)) & 1);
    this.stray = arranged(isStray, this.order);
    this.joined = arranged(Int32Array.from(unpack(cut.label, cut.wide ? Int32Array : Uint8Array)), this.order);
    this.label = strays === "label" ? this.joined.map((k, i) => (this.stray[i] ? -1 : k)) : this.joined;
    this.nLabels = cut.k;
    this.confidence = cut.confidence
      ? arranged(Float32Array.from(unpack(cut.confidence, cut.steps > 255 ? Uint16Array : Uint8Array), (v) => v / cut.steps), this.order)
      : null;
    for (const by of ["label", "confidence"]) this.colourings.delete(by);
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

  /**
   * What rows and nodes can be coloured by: "label", "confidence", "a0" for the first annotation,
   * "c0" for the first column.
   * @returns {?(Categories|Numbers)} null if there is no such thing
   */
  colouring(by) {
    if (!this.colourings.has(by)) this.colourings.set(by, this.makeColouring(by));
    return this.colourings.get(by);
  }

  makeColouring(by) {
    if (by === "label") {
      const { slots } = this.clusters;
      return new Categories(this, by, "cluster", this.label, slots.map((_, k) => `cluster ${k}`), slots);
    }
    if (by === "confidence" && this.confidence) {
      return new Numbers(this, by, new Column({ name: "confidence", values: this.confidence }), [0, 1]);
    }
    const which = /^([ac])(\d+)$/.exec(by);
    const one = which && (which[1] === "a" ? this.annotations : this.columns)[Number(which[2])];
    if (!one) return null;
    if (one.code) return new Categories(this, by, one.name, one.code, one.names, one.slots);
    if (!one.categories) return new Numbers(this, by, one);
    const codes = Int32Array.from(one.stored, (v) => (Number.isNaN(v) ? -1 : v));
    return new Categories(this, by, one.name, codes, one.categories, one.slots);
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

  /** Where in the cluster tree the k-th branch parts. */
  timeOfPart(k) {
    return Math.log(k) / Math.log(Math.max(this.nGroups, 2));
  }

  /** How and where a node parts, in two words: "at" and "level 1.5", or "as" and "number 3 of 20". */
  parting(w) {
    if (!this.nGroups) return ["at", `level ${formatLevel(this.time[w])}`];
    return ["as", `number ${Math.round(Math.max(this.nGroups, 2) ** this.time[w])} of ${this.nGroups - 1}`];
  }

  /** The smallest branch of the cluster tree with all rows of each cluster, but for strays. */
  get tops() {
    if (!this.foundTops) {
      const codes = this.joined.map((k, i) => (this.stray[i] ? -1 : k));
      this.foundTops = this.nGroups ? this.clusters.slots.map((_, k) => this.nodeOfCode(codes, k)) : [];
    }
    return this.foundTops;
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

  /** The smallest node that has all rows with a code. */
  nodeOfCode(codes, code) {
    const first = codes.indexOf(code);
    if (first < 0) return 0;
    const last = codes.lastIndexOf(code);
    let w = this.nodeOf[first];
    while (w > 0 && (this.start[w] > first || this.start[w] + this.count[w] <= last)) {
      w = this.parent[w];
    }
    return w;
  }
}
