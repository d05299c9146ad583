// Colours that colour-blind readers tell apart, in light and in dark.

// Okabe and Ito's, without black and yellow; then the same hues darker or lighter.
const HUES = [
  [0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0],
];
const SHADES = { light: [0, -0.38, 0.42], dark: [0.1, 0.4, -0.22] };
let shades = SHADES.light; // those of the scheme in use

/** @typedef {[number, number, number]} Rgb */

/** @param {Rgb} from @param {Rgb} to @param {number} part @returns {Rgb} */
function mix(from, to, part) {
  return [0, 1, 2].map((k) => from[k] + (to[k] - from[k]) * part);
}

/** @param {Rgb} rgb */
function css(rgb) {
  return `rgb(${Math.round(rgb[0])},${Math.round(rgb[1])},${Math.round(rgb[2])})`;
}

/** The colour of the k-th of some categories; −1 has no colour. @returns {Rgb} */
function categoryColour(k) {
  if (k < 0) return [136, 136, 136];
  const hue = HUES[k % HUES.length];
  const shade = shades[Math.floor(k / HUES.length) % shades.length];
  return shade < 0 ? mix(hue, [0, 0, 0], -shade) : mix(hue, [255, 255, 255], shade);
}

/** A small square in the colour of the k-th category. */
function swatch(k) {
  const square = make("span", { class: "swatch", "aria-hidden": "true", "data-colour": k });
  square.style.background = css(categoryColour(k));
  return square;
}

/** Colour all squares again, after the scheme has changed. */
function repaintSwatches() {
  for (const square of document.querySelectorAll("[data-colour]")) {
    square.style.background = css(categoryColour(Number(square.dataset.colour)));
  }
}

/** Dark or white text, whichever has the better contrast. @param {Rgb} rgb */
function readableOn(rgb) {
  const [r, g, b] = rgb.map((v) => {
    const part = v / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#111" : "#fff";
}

/** The page's own colours, which the style sheet sets for light, dark and print. */
class Scheme {
  constructor() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    this.ink = read("--ink");
    this.quiet = read("--quiet");
    this.line = read("--line");
    this.accent = read("--accent");
    this.paper = Scheme.rgb(read("--card"));
    this.mixed = Scheme.rgb(read("--mixed"));
    this.heat = Scheme.rgb(read("--heat"));
    shades = this.paper[0] < 128 ? SHADES.dark : SHADES.light;
  }

  /** @param {string} hex @returns {Rgb} */
  static rgb(hex) {
    return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
  }
}

/** What rows and nodes are coloured by: clusters or classes. */
class Colouring {
  /** @param {Report} report @param {"label"|"class"} by */
  constructor(report, by) {
    this.report = report;
    this.by = by;
    this.codes = by === "class" ? report.class : report.label;
    this.size = by === "class" ? report.classes.length : report.nLabels;
    this.chief = new Int32Array(report.nNodes).fill(-2); // −2: not looked for yet
    this.share = new Float32Array(report.nNodes);
    this.counts = new Int32Array(this.size + 1);
  }

  /** @param {number} k */
  nameOf(k) {
    if (k < 0) return "unknown";
    return this.by === "class" ? this.report.classes[k] : `cluster ${k}`;
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
    const colour = categoryColour(this.chiefOf(w));
    const share = this.share[w];
    return share > 0.999 ? colour : mix(scheme.mixed, colour, Math.max(0, share - 0.25));
  }
}
