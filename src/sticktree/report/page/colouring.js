// What rows and nodes are coloured by: clusters, annotations, columns, confidence.

/** Groups: each has a name and a colour, and a node that of most of its rows. */
class Categories {
  /**
   * @param {Report} report
   * @param {string} by
   * @param {string} title
   * @param {Int32Array} codes of rows, −1 for none
   * @param {string[]} names
   * @param {number[]} slots places in the palette
   */
  constructor(report, by, title, codes, names, slots) {
    Object.assign(this, { report, by, title, codes, names, slots });
    this.size = names.length;
    this.chief = new Int32Array(report.nNodes).fill(-2); // −2: not looked for yet
    this.share = new Float32Array(report.nNodes);
    this.counts = new Int32Array(this.size + 1);
  }

  /** @param {number} k */
  nameOf(k) {
    if (k >= 0) return this.names[k];
    return this.by === "label" ? "stray" : this.by[0] === "c" ? "missing" : "unknown";
  }

  /** @param {number} k @returns {Rgb} */
  colourOf(k) {
    return slotColour(k < 0 ? -1 : this.slots[k]);
  }

  /** The most frequent category of a node and its share, found when first asked for. */
  chiefOf(w) {
    if (this.chief[w] === -2) {
      const { start, count } = this.report;
      const end = start[w] + count[w];
      let best = -1;
      for (let i = start[w]; i < end; i++) {
        const k = this.codes[i];
        this.counts[k + 1]++;
        if (k >= 0 && (best < 0 || this.counts[k + 1] > this.counts[best + 1])) best = k;
      }
      this.share[w] = best < 0 ? 1 : this.counts[best + 1] / count[w];
      this.chief[w] = best;
      for (let i = start[w]; i < end; i++) this.counts[this.codes[i] + 1] = 0;
    }
    return this.chief[w];
  }

  /** A node's colour: that of its rows if they are alike, grey if they are many kinds. */
  ofNode(w, scheme) {
    const colour = this.colourOf(this.chiefOf(w));
    const share = this.share[w];
    return share > 0.999 ? colour : mix(scheme.mixed, colour, Math.max(0, share - 0.25));
  }

  /** @param {number} i a row @returns {Rgb} */
  ofRow(i) {
    return this.colourOf(this.codes[i]);
  }

  /** The name of a node's rows if they are alike, else "". */
  wholeName(w) {
    const chief = this.chiefOf(w);
    return this.share[w] > 0.999 && chief >= 0 ? this.nameOf(chief) : "";
  }

  /** What a screen reader says of a node. */
  spoken(w) {
    const chief = this.chiefOf(w);
    return this.share[w] > 0.999
      ? this.nameOf(chief)
      : `${formatShare(this.share[w])} ${this.nameOf(chief)}`;
  }

  /** @param {number} i a row */
  rowText(i) {
    return this.nameOf(this.codes[i]);
  }

  /** Rows in groups of one colour: the group of a row, and the colours. */
  groups() {
    const colours = [NO_COLOUR, ...this.slots.map((slot) => slotColour(slot))];
    return { of: (i) => this.codes[i] + 1, colours };
  }
}

const SHADES = 48; // colours that numbers are drawn in
const RARE = 0.01; // share of the rows at either end that have the last colour

/** Numbers: colours run from low to high, and a node has that of its mean. */
class Numbers {
  /** @param {Report} report @param {string} by @param {Column} column @param {?number[]} limits */
  constructor(report, by, column, limits = null) {
    Object.assign(this, { report, by, column, title: column.name });
    column.prepareScores();
    const sorted = column.scores.filter((v) => !Number.isNaN(v)).sort();
    const at = (part) => sorted[Math.round(part * (sorted.length - 1))] ?? 0;
    this.low = at(RARE);
    this.high = at(1 - RARE);
    const value = (score) => {
      // The value with the score, by which the legend names the ends.
      let best = 0;
      let away = Infinity;
      column.scores.forEach((v, i) => {
        if (Math.abs(v - score) < away) [best, away] = [i, Math.abs(v - score)];
      });
      return column.value(best);
    };
    this.ends = sorted.length ? [value(this.low), value(this.high)] : [NaN, NaN];
    if (limits) {
      const sd = column.sd || 1;
      [this.low, this.high] = limits.map((v) => (v - column.mean) / sd);
      this.ends = limits;
    }
  }

  colourAt(score) {
    if (Number.isNaN(score)) return NO_COLOUR;
    const range = this.high - this.low;
    return along(ramp(SEQUENTIAL), range > 0 ? (score - this.low) / range : 0.5);
  }

  ofNode(w) {
    const { start, count } = this.report;
    return this.colourAt(this.column.score(start[w], start[w] + count[w]));
  }

  ofRow(i) {
    return this.colourAt(this.column.scores[i]);
  }

  wholeName() {
    return "";
  }

  spoken(w) {
    const { start, count } = this.report;
    const mean = this.column.meanOf(start[w], start[w] + count[w]);
    return `mean ${this.title} ${this.column.written(mean, 4)}`;
  }

  rowText(i) {
    return this.column.text(i);
  }

  groups() {
    const range = this.high - this.low;
    const colours = [NO_COLOUR];
    for (let k = 0; k < SHADES; k++) colours.push(along(ramp(SEQUENTIAL), k / (SHADES - 1)));
    const of = (i) => {
      const score = this.column.scores[i];
      if (Number.isNaN(score)) return 0;
      const part = range > 0 ? Math.min(Math.max((score - this.low) / range, 0), 1) : 0.5;
      return 1 + Math.round(part * (SHADES - 1));
    };
    return { of, colours };
  }
}
