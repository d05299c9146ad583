// Colours that colour-blind readers tell apart, in light and in dark.

/** @typedef {[number, number, number]} Rgb */

/** @type {Rgb[]} those of clusters, which the data bring along, and the same shades of them */
let palette = [[0, 114, 178]];
let dark = false; // whether the scheme in use is
const NO_COLOUR = [140, 140, 140];
const GONE = { light: [178, 178, 178], dark: [112, 115, 118] }; // cells that are missing

// Low to high, from ColorBrewer's RdBu and matplotlib's viridis; in the dark the middle is dark.
const DIVERGING = {
  light: [[5, 48, 97], [33, 102, 172], [67, 147, 195], [146, 197, 222], [209, 229, 240], [250, 250, 250],
    [253, 219, 199], [244, 165, 130], [214, 96, 77], [178, 24, 43], [103, 0, 31]],
  dark: [[176, 222, 255], [104, 178, 240], [56, 128, 196], [40, 88, 140], [38, 58, 82], [40, 42, 45],
    [84, 48, 42], [146, 62, 46], [206, 88, 62], [244, 138, 106], [255, 204, 184]],
};
const SEQUENTIAL = {
  light: [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [112, 192, 74], [222, 200, 28]],
  dark: [[98, 48, 140], [84, 92, 168], [52, 132, 160], [46, 172, 138], [122, 209, 81], [253, 231, 37]],
};

/** @param {Rgb} from @param {Rgb} to @param {number} part @returns {Rgb} */
function mix(from, to, part) {
  return [0, 1, 2].map((k) => from[k] + (to[k] - from[k]) * part);
}

/** A colour between those of a ramp. @param {Rgb[]} ramp @param {number} part from 0 to 1 @returns {Rgb} */
function along(ramp, part) {
  const at = Math.min(Math.max(part, 0), 1) * (ramp.length - 1);
  const k = Math.min(Math.floor(at), ramp.length - 2);
  return mix(ramp[k], ramp[k + 1], at - k);
}

/** The ramp of the scheme in use. */
function ramp(kind) {
  return kind[dark ? "dark" : "light"];
}

/** @param {Rgb} rgb */
function css(rgb) {
  return `rgb(${Math.round(rgb[0])},${Math.round(rgb[1])},${Math.round(rgb[2])})`;
}

/** A ramp as the background of an element. */
function gradient(kind) {
  return `linear-gradient(to right, ${ramp(kind).map(css).join(", ")})`;
}

/** @param {string} hex @returns {Rgb} */
function rgbOf(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

/** How light a colour is, from 0 to 1. @param {Rgb} rgb */
function lightness(rgb) {
  const [r, g, b] = rgb.map((v) => {
    const part = v / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The colour of a place in the palette; −1 has none. @param {number} slot @returns {Rgb} */
function slotColour(slot) {
  if (slot < 0) return NO_COLOUR;
  const colour = palette[slot % palette.length];
  const round = Math.floor(slot / palette.length) % 3;
  const shaded = round ? mix(colour, round === 1 ? [0, 0, 0] : [255, 255, 255], 0.4) : colour;
  // What is too dark to be seen on a dark page is made lighter.
  return dark ? mix(shaded, [255, 255, 255], Math.max(0.08, 0.5 - 2.4 * lightness(shaded))) : shaded;
}

/** A small square in the colour of a place in the palette. */
function swatch(slot) {
  const square = make("span", { class: "swatch", "aria-hidden": "true" });
  paint(square, slot);
  return square;
}

/** Give an element the colour of a place in the palette, also after the scheme has changed. */
function paint(element, slot) {
  element.dataset.colour = slot;
  element.style.background = css(slotColour(slot));
}

/** Colour everything again, after the scheme has changed. */
function repaint() {
  for (const element of document.querySelectorAll("[data-colour]")) {
    element.style.background = css(slotColour(Number(element.dataset.colour)));
  }
}

/** Dark or white text, whichever has the better contrast. @param {Rgb} rgb */
function readableOn(rgb) {
  return lightness(rgb) > 0.18 ? "#111" : "#fff";
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
    this.paper = rgbOf(read("--card"));
    this.mixed = rgbOf(read("--mixed"));
    this.heat = rgbOf(read("--heat"));
    this.dark = this.paper[0] < 128;
    this.use();
  }

  /** Those of the screen or, while the page is printed, of paper. */
  static now() {
    return document.documentElement.classList.contains("printing") ? Scheme.printed() : new Scheme();
  }

  /** The colours of paper, for pictures to be taken along. */
  static printed() {
    const scheme = Object.assign(Object.create(Scheme.prototype), {
      ink: "#1d1d1b", quiet: "#5a5a55", line: "#cfcfc8", accent: "#b3003c", dark: false,
      paper: [255, 255, 255], mixed: [185, 185, 178], heat: [107, 127, 148],
    });
    scheme.use();
    return scheme;
  }

  /** Make it the scheme in use. */
  use() {
    dark = this.dark;
  }
}
