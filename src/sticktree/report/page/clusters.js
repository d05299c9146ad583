// The table of clusters and what makes them, for the clusters found and for any other cut.

const LEAST_EFFECT = 0.5; // for a column to be worth a word
const MOST_TRAITS = 3;
const MOST_LINES = 6; // of what makes a cluster
const MOST_TABLES = 24;

class ClusterTables {
  /** @param {TreeView} view */
  constructor(view) {
    this.view = view;
    this.table = byId("clusters-table");
    this.markers = byId("markers");
    this.note = make("p", { class: "notice", id: "cut-note", hidden: true });
    this.table.closest(".scroll").before(this.note);
    this.given = [...this.table.tBodies[0].rows];
    this.givenMarkers = [...this.markers.children].slice(1);
    this.made = make("div", { id: "markers-of-cut", hidden: true });
    this.markers.append(this.made);
    for (const line of this.given) this.enliven(line);
    [...this.table.tHead.rows[0].cells].forEach((cell, column) => {
      const click = () => this.sortBy(column);
      cell.replaceChildren(make("button", { type: "button", class: "sort", click }, cell.textContent));
    });
    const slots = view.report.cuts[view.report.found].slots;
    for (const table of this.markers.querySelectorAll("table[id^='markers-']")) {
      table.caption.prepend(swatch(slots[Number(table.id.slice("markers-".length))]));
      for (const line of table.tBodies[0].rows) {
        const cell = line.cells[3];
        const text = cell.textContent.replace("−", "-").replace("∞", "Infinity");
        cell.prepend(sdBar(parseFloat(text)));
      }
    }
  }

  /** Make the first cell of a line a way into the tree. */
  enliven(line) {
    const cell = line.cells[0];
    const k = Number(cell.textContent);
    const open = make(
      "button",
      {
        type: "button",
        class: "link",
        "aria-label": `Show cluster ${k} in the tree`,
        click: () => showGroup(this.view, "label", k),
      },
      String(k)
    );
    cell.replaceChildren(swatch(this.view.report.clusters.slots[k]), open);
    line.dataset.label = k;
  }

  /** Mark the line of the cluster that is chosen. */
  mark() {
    const { group } = this.view.state;
    for (const line of this.table.tBodies[0].rows) {
      line.classList.toggle("chosen", group?.by === "label" && Number(line.dataset.label) === group.k);
    }
  }

  /** Show the clusters of the cut in view. */
  follow() {
    const { report } = this.view;
    const found = report.cutAt === report.found;
    this.note.hidden = found;
    this.made.hidden = found;
    for (const part of this.givenMarkers) part.hidden = !found;
    for (const cell of this.table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    if (found) {
      this.table.tBodies[0].replaceChildren(...this.given);
      this.mark();
      return;
    }
    const k = report.cuts[report.found].k;
    this.note.textContent =
      `Cut by hand into ${many(report.nLabels, "cluster")}; the draws speak for ${k}. What sets these apart ` +
      "is told by the rows on this page alone, without intervals.";
    const effects = effectsOf(report);
    const lines = Array.from({ length: report.nLabels }, (_, one) => this.line(one, effects[one]));
    this.table.tBodies[0].replaceChildren(...lines);
    for (const line of lines) this.enliven(line);
    this.fillMarkers(effects);
    this.mark();
  }

  /** A line as those of the clusters found. */
  line(k, effects) {
    const { report } = this.view;
    const { sizes, means } = report.clusters;
    const total = sizes.reduce((a, b) => a + b, 0);
    const cells = [String(sizes[k]), `${((100 * sizes[k]) / total).toFixed(1)}%`, means ? means[k].toFixed(2) : "–"];
    const classes = report.annotations.findIndex((one) => one.code);
    if (classes >= 0) {
      const counts = new Map();
      report.annotations[classes].code.forEach((code, i) => {
        if (code >= 0 && report.joined[i] === k) counts.set(code, (counts.get(code) ?? 0) + 1);
      });
      const known = [...counts.values()].reduce((a, b) => a + b, 0);
      const [code, count] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [-1, 0];
      cells.push(code < 0 ? "none known" : report.annotations[classes].names[code]);
      cells.push(known ? `${Math.round((100 * count) / known)}%` : "–");
    }
    const traits = effects.filter(({ effect }) => Math.abs(effect) >= LEAST_EFFECT).slice(0, MOST_TRAITS);
    const words = traits.map(({ name, inside, outside, effect, column }) =>
      column.categories ? `${name} (${inside}, of others ${outside})` : `${name} ${inside} (others ${outside}: ${formatEffect(effect)} sd)`
    );
    cells.push(words.join("; ") || "near the overall mean");
    const plain = new Set([classes >= 0 ? 3 : -1, cells.length - 1]);
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, String(k)),
      ...cells.map((text, c) => make("td", { class: plain.has(c) ? null : "number" }, isolated(text)))
    );
  }

  fillMarkers(effects) {
    const { report } = this.view;
    const { sizes, slots } = report.clusters;
    const largest = sizes.map((_, k) => k).sort((a, b) => sizes[b] - sizes[a]).slice(0, MOST_TABLES);
    const head = ["Column", "Inside", "Outside", "Effect"].map((text, c) =>
      make("th", { scope: "col", class: c === 1 || c === 2 ? "number" : null }, text)
    );
    const tables = largest.sort((a, b) => a - b).map((k) => {
      const title = `Cluster ${k}: ${many(sizes[k], "row")}`;
      const lines = effects[k].slice(0, MOST_LINES).map(({ name, inside, outside, effect }) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, isolated(name)),
          make("td", { class: "number" }, isolated(inside)),
          make("td", { class: "number" }, isolated(outside)),
          make("td", {}, sdBar(effect), formatEffect(effect))
        )
      );
      const table = make(
        "table",
        { id: `markers-cut-${k}` },
        make("caption", {}, swatch(slots[k]), title),
        make("thead", {}, make("tr", {}, ...head.map((cell) => cell.cloneNode(true)))),
        make("tbody", {}, ...lines)
      );
      return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, table);
    });
    this.made.replaceChildren(
      make("p", {}, "Each cluster of this cut against all other rows: means, or the share of the category that is more " +
        "frequent by most. Effects are differences in standard deviations within (of shares, Cohen's h)."),
      make("div", { class: "side-by-side" }, ...tables)
    );
  }

  /** @param {number} column */
  sortBy(column) {
    const { table } = this;
    const head = table.tHead.rows[0].cells[column];
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const text = (line) => line.cells[column].textContent;
    const order = new Intl.Collator("en", { numeric: true });
    const lines = [...table.tBodies[0].rows].sort((a, b) => {
      const x = parseFloat(text(a));
      const y = parseFloat(text(b));
      const byNumber = Number.isNaN(x) || Number.isNaN(y) ? order.compare(text(a), text(b)) : x - y;
      return down ? -byNumber : byNumber;
    });
    table.tBodies[0].append(...lines);
  }
}

/** Show the smallest branch that has all rows of one colour, and mark them. */
function showGroup(view, by, k) {
  const { codes } = view.report.colouring(by);
  const node = view.geometry.visible(view.report.nodeOfCode(codes, k), new Set());
  view.state.set({ hovered: -1, folded: new Set() });
  view.state.zoom(node, { group: { by, k } });
  byId("explore").scrollIntoView({ behavior: STILL.matches ? "auto" : "smooth" });
}
