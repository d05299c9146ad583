// What is looked at now. Views listen to it and never to each other.

/**
 * @typedef {Object} Looking
 * @property {number} hovered node under the pointer, or −1
 * @property {number} selected node that was chosen; the one in focus for the keyboard
 * @property {number} row row that was chosen, or −1
 * @property {number} hoveredRow row under the pointer, or −1
 * @property {number} cluster cluster that was chosen, or −1
 * @property {number} zoomed node that fills the view
 * @property {number} moves how often a view was asked for
 * @property {"icicle"|"dendrogram"} mode
 * @property {Colouring} colouring
 * @property {{kind: "transfer"|"exact", least: number}} threshold least support of branches that are shown
 * @property {Set<number>} folded nodes whose branches are hidden
 */

class State {
  /** @param {Looking} first */
  constructor(first) {
    Object.assign(this, first);
    this.listeners = [];
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
    this.set({ selected: node, row: -1, cluster: -1 });
  }

  /**
   * Fill the view with a node, also if it was panned away, and choose it.
   * @param {number} node
   * @param {Partial<Looking>} [also] what else is chosen
   */
  zoom(node, also = {}) {
    this.set({ zoomed: node, selected: node, row: -1, cluster: -1, moves: this.moves + 1, ...also });
  }

  /** Fold a node, or unfold it. */
  fold(node) {
    const folded = new Set(this.folded);
    if (!folded.delete(node)) folded.add(node);
    this.set({ folded });
  }
}
