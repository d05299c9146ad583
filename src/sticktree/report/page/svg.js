// A canvas that keeps what is drawn as shapes: the part of its interface that pictures here use.

const UNFIT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

// What browsers give such elements: so that this script has no address of anything elsewhere.
const NAMESPACE = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;

/** Text for the inside of an element or attribute of XML. */
function escaped(text) {
  const entity = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(UNFIT, "\ufffd").replace(/[&<>"]/g, (character) => entity[character]);
}

/** A number of at most two decimals. */
function short(value) {
  return String(Math.round(value * 100) / 100);
}

class SvgContext {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    Object.assign(this, { width, height, ofShapes: true, parts: [], clips: new Map(), saved: [], path: "" });
    Object.assign(this, {
      fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: FONT, textAlign: "left",
      textBaseline: "alphabetic", dash: [], matrix: [1, 0, 0, 1, 0, 0], clipped: null,
    });
    this.measure = document.createElement("canvas").getContext("2d");
  }

  // ---- state ----

  save() {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, matrix, clipped } = this;
    this.saved.push({ fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, matrix, clipped });
  }

  restore() {
    Object.assign(this, this.saved.pop());
  }

  translate(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    this.matrix = [a, b, c, d, a * x + c * y + e, b * x + d * y + f];
  }

  rotate(angle) {
    const [a, b, c, d, e, f] = this.matrix;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    this.matrix = [a * cos + c * sin, b * cos + d * sin, c * cos - a * sin, d * cos - b * sin, e, f];
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  // ---- paths ----

  beginPath() {
    this.path = "";
    this.box = null;
  }

  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x, y) {
    this.path += `L${short(x)} ${short(y)}`;
  }

  rect(x, y, width, height) {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
    this.box = [x + this.matrix[4], y + this.matrix[5], width, height];
  }

  /** Everything here clips to a rectangle, within the one before. */
  clip() {
    let [left, top, width, height] = this.box;
    let [right, bottom] = [left + width, top + height];
    if (this.clipped) {
      const [l, t, r, b] = this.clipped;
      [left, top, right, bottom] = [Math.max(left, l), Math.max(top, t), Math.min(right, r), Math.min(bottom, b)];
    }
    this.clipped = [left, top, Math.max(right, left), Math.max(bottom, top)];
  }

  fill() {
    this.add(`<path d="${this.path}"${this.filled()}`);
  }

  stroke() {
    this.add(`<path d="${this.path}"${this.stroked()}`);
  }

  // ---- shapes ----

  clearRect() {}

  fillRect(x, y, width, height) {
    if (!(width > 0 && height > 0)) return;
    this.add(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"${this.filled()}`);
  }

  strokeRect(x, y, width, height) {
    this.add(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"${this.stroked()}`);
  }

  fillText(text, x, y) {
    if (!text) return;
    const [, weight, size] = /^(bold )?(\d+)px/.exec(this.font);
    const shift = { middle: 0.35, top: 0.8, alphabetic: 0 }[this.textBaseline] * Number(size);
    const anchor = { left: "", right: ' text-anchor="end"', center: ' text-anchor="middle"' }[this.textAlign];
    const bold = weight ? ' font-weight="bold"' : "";
    const words = `>${escaped(text)}</text>`;
    this.add(`<text x="${short(x)}" y="${short(y + shift)}" font-size="${size}"${bold}${anchor}${this.filled()}`, words);
  }

  drawImage(canvas, x, y, width, height) {
    const how = this.imageSmoothingEnabled ? "" : ' style="image-rendering:pixelated"';
    this.add(
      `<image x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" ` +
        `preserveAspectRatio="none"${how} href="${canvas.toDataURL()}"`
    );
  }

  filled() {
    return ` fill="${this.fillStyle}"${this.globalAlpha < 1 ? ` fill-opacity="${this.globalAlpha}"` : ""}`;
  }

  stroked() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    const pale = this.globalAlpha < 1 ? ` stroke-opacity="${this.globalAlpha}"` : "";
    return ` fill="none" stroke="${this.strokeStyle}" stroke-width="${short(this.lineWidth)}"${dash}${pale}`;
  }

  add(element, end = "/>") {
    const [a, b, c, d, e, f] = this.matrix;
    const moved = [a, b, c, d, e, f].some((v, k) => v !== [1, 0, 0, 1, 0, 0][k]);
    const transform = moved ? ` transform="matrix(${this.matrix.map(short).join(" ")})"` : "";
    this.parts.push({ clip: this.clipped ? this.clipId() : "", text: element + transform + end });
  }

  clipId() {
    const key = this.clipped.map(short).join(" ");
    if (!this.clips.has(key)) this.clips.set(key, `c${this.clips.size}`);
    return this.clips.get(key);
  }

  /** All of it as a file. @param {string} title */
  text(title) {
    const { width, height } = this;
    const defs = [...this.clips].map(([key, id]) => {
      const [left, top, right, bottom] = key.split(" ").map(Number);
      return `<clipPath id="${id}"><rect x="${left}" y="${top}" width="${short(right - left)}" height="${short(bottom - top)}"/></clipPath>`;
    });
    const lines = [];
    let open = "";
    for (const { clip, text } of this.parts) {
      if (clip !== open) {
        if (open) lines.push("</g>");
        if (clip) lines.push(`<g clip-path="url(#${clip})">`);
        open = clip;
      }
      lines.push(text);
    }
    if (open) lines.push("</g>");
    return (
      `<svg xmlns="${NAMESPACE}" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, sans-serif">\n` +
      `<title>${escaped(title)}</title>\n<defs>${defs.join("")}</defs>\n` +
      `<rect width="${width}" height="${height}" fill="#fff"/>\n${lines.join("\n")}\n</svg>\n`
    );
  }
}
