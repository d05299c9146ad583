// What is looked at now. Views listen to it and never to each other.

/**
 * @typedef {Object} Looking
 * @property {number} hovered node under the pointer, or −1
 * @property {number} selected node that was chosen; the one in focus for the keyboard
 * @property {number} row row that was chosen, or −1
 * @property {number} hoveredRow row under the pointer, or −1
 * @property {number} hoveredColumn place of the column under the pointer, or −1
 * @property {?{by: string, k: number}} group rows of one colour that were chosen
 * @property {number} zoomed node that fills the view
 * @property {number} moves how often a view was asked for
 * @property {number} columnMoves how often other columns were
 * @property {number} tree which of the trees
 * @property {number} cut which of the cuts
 * @property {"join"|"label"} strays
 * @property {"icicle"|"dendrogram"} mode
 * @property {string} colour what colours are by: see Report.colouring
 * @property {Set<string>} tracks what stands beside the tree, in the same words
 * @property {boolean} heat whether there is a heat map
 * @property {"likeness"|"relevance"|"table"} columnOrder
 * @property {{kind: "transfer"|"exact", least: number}} threshold least support of branches that are shown
 * @property {Set<number>} folded nodes whose branches are hidden
 */

class State {
  /** @param {Report} report @param {Looking} first */
  constructor(report, first) {
    this.report = report;
    Object.assign(this, first);
    this.listeners = [];
  }

  /** What colours rows and nodes now. */
  get colouring() {
    return this.report.colouring(this.colour) ?? this.report.colouring("label");
  }

  /** @param {(changed: Set<string>) => void} listener */
  listen(listener) {
    this.listeners.push(listener);
  }

  /** Set some of it, and tell those who listen if anything is new. @param {Partial<Looking>} news */
  set(news) {
    const changed = new Set();
    for (const [name, value] of Object.entries(news)) {
      if (this[name] !== value) {
        this[name] = value;
        changed.add(name);
      }
    }
    if (changed.size) for (const listener of this.listeners) listener(changed);
  }

  /** Choose a node. */
  select(node) {
    this.set({ selected: node, row: -1, group: null });
  }

  /**
   * Fill the view with a node, also if it was panned away, and choose it.
   * @param {number} node
   * @param {Partial<Looking>} [also] what else is chosen
   */
  zoom(node, also = {}) {
    this.set({ zoomed: node, selected: node, row: -1, group: null, moves: this.moves + 1, ...also });
  }

  /** Fold a node, or unfold it. */
  fold(node) {
    const folded = new Set(this.folded);
    if (!folded.delete(node)) folded.add(node);
    this.set({ folded });
  }

  /** The rows that are chosen: those of a colour, one of them, or those of a branch. */
  get chosenRows() {
    const { report } = this;
    if (this.group) {
      const codes = report.colouring(this.group.by)?.codes ?? [];
      return [...codes.keys()].filter((i) => codes[i] === this.group.k);
    }
    if (this.row >= 0) return [this.row];
    const start = report.start[this.selected];
    return Array.from({ length: report.count[this.selected] }, (_, k) => start + k);
  }
}
