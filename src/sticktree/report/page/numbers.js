// Numbers and words as people read them, and elements made of text.

/**
 * Write a number in a few significant digits.
 * @param {number} value
 * @param {number} [digits]
 * @returns {string}
 */
function formatNumber(value, digits = 4) {
  if (!Number.isFinite(value)) return "missing";
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (size !== 0 && (size >= 1e12 || size < 1e-4)) return rounded.toExponential().replace("e+", "e");
  return String(rounded).replace("-", "−");
}

/** @param {number} value a number of standard deviations */
function formatSds(value) {
  const rounded = Math.abs(value) < 0.05 ? 0 : value;
  return `${rounded < 0 ? "−" : "+"}${Math.abs(rounded).toFixed(1)} sd`;
}

/** A level of the tree, to two decimals. @param {number} time */
function formatLevel(time) {
  return String(Number(time.toFixed(2))).replace("-", "−");
}

/** @param {number} share */
function formatShare(share) {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.1) return "under 0.1%";
  return `${percent >= 10 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)}%`;
}

const WHOLE = new Intl.NumberFormat("en"); // made once: making one is slow

/** @param {number} count @param {string} noun */
function many(count, noun) {
  return `${WHOLE.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Make an element. Children are elements or text; text is never read as HTML.
 * @param {string} tag
 * @param {Object<string, *>} [properties] attributes; functions become listeners
 * @param {...(Node|string)} children
 * @returns {HTMLElement}
 */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children);
  return element;
}

/** Text from data, which keeps its writing direction to itself. @param {string} text */
function isolated(text) {
  return make("bdi", {}, text);
}

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  return document.getElementById(id);
}
