// A column of numbers or categories, and what ranges of rows look like in it.

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

/** Values in another order of the rows; without one as they are. */
function arranged(values, order) {
  return order && values ? values.constructor.from(order, (i) => values[i]) : values;
}

const SCALES = { linear: (v) => v, log: Math.log, log1p: Math.log1p };
const SCALE_WORDS = { linear: "", log: " of the logarithm", log1p: " of log(1 + value)" };

/** A column: its values, and sums over the first rows, by which means of ranges cost nothing. */
class Column {
  constructor(packed) {
    this.name = packed.name;
    this.kind = packed.kind;
    this.categories = packed.categories ?? null;
    this.slots = packed.slots ?? null;
    this.centre = packed.centre ?? 0;
    this.scale = packed.scale ?? 1;
    this.heat = packed.heat ?? "linear";
    this.base = packed.values instanceof Float32Array ? packed.values : unpack(packed.values, Float32Array);
    this.arrange(null);
  }

  /** Put rows in the order of a tree. @param {?Int32Array} order */
  arrange(order) {
    this.stored = arranged(this.base, order);
    this.sums = null;
    this.scores = null;
    this.overall = null;
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
    return formatNumber(value, this.digits(value, digits));
  }

  /** How many digits of a value are known, at least so many. */
  digits(value, least) {
    if (this.scale === 1 && this.centre === 0) return least;
    const known = Math.ceil(Math.log10((Math.abs(value) || 1) / this.scale)) + 6;
    return Math.min(15, Math.max(least, known));
  }

  /** A value for a table of another program, "" where missing. */
  plainText(i) {
    if (Number.isNaN(this.stored[i])) return "";
    if (this.categories) return this.categories[this.stored[i]];
    const value = this.value(i);
    return String(Number(value.toPrecision(this.digits(value, 7))));
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

  /** Standard deviations from the mean, on the scale of the heat map, and sums of them. */
  prepareScores() {
    if (this.scores) return;
    this.prepare();
    const n = this.stored.length;
    const scale = SCALES[this.heat];
    const scores = new Float32Array(n);
    let { mean, sd } = this;
    if (this.heat === "linear") scores.set(this.stored);
    else {
      let [sum, squares] = [0, 0];
      for (let i = 0; i < n; i++) {
        scores[i] = scale(this.value(i));
        if (!Number.isNaN(scores[i])) sum += scores[i];
      }
      mean = sum / this.seen[n];
      for (const v of scores) if (!Number.isNaN(v)) squares += (v - mean) ** 2;
      sd = Math.sqrt(squares / this.seen[n]);
    }
    // In local variables: half a million entries are read before the first picture.
    const sums = new Float64Array(n + 1);
    const each = sd > 0 ? 1 / sd : 0;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const score = (scores[i] - mean) * each; // NaN stays NaN
      scores[i] = score;
      if (score === score) sum += score;
      sums[i + 1] = sum;
    }
    this.scoreSums = sums;
    this.scores = scores;
  }

  /** The mean score of a range of rows, NaN if all are missing. */
  score(start, end) {
    const seen = this.seen[end] - this.seen[start];
    return seen ? (this.scoreSums[end] - this.scoreSums[start]) / seen : NaN;
  }

  /** The mean of a range of rows, NaN if all are missing. */
  meanOf(start, end) {
    this.prepare();
    const seen = this.seen[end] - this.seen[start];
    return seen ? this.centre + (this.scale * (this.sums[end] - this.sums[start])) / seen : NaN;
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
