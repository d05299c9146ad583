// Which nodes are shown, and where: time runs to the right, rows run down.

class Geometry {
  /** @param {Report} report */
  constructor(report) {
    this.report = report;
    this.hide({ kind: "transfer", least: 0 });
  }

  /**
   * Leave out inner nodes with less support; their branches hang on the node above.
   * @param {{kind: "transfer"|"exact", least: number}} threshold
   */
  hide({ kind, least }) {
    const { parent, nNodes, hasChildren, start, count } = this.report;
    const shown = new Uint8Array(nNodes);
    this.up = new Int32Array(nNodes).fill(-1);
    const sizes = new Int32Array(nNodes + 1);
    const supports = this.report[kind];
    for (let w = 0; w < nNodes; w++) {
      shown[w] = w === 0 || !hasChildren[w] || !(supports?.[w] < least) ? 1 : 0;
      if (w) {
        this.up[w] = shown[parent[w]] ? parent[w] : this.up[parent[w]];
        if (shown[w]) sizes[this.up[w] + 1]++;
      }
    }
    this.shown = shown;
    this.first = sizes; // children of w are kids[first[w]] … kids[first[w + 1] − 1]
    for (let w = 0; w < nNodes; w++) this.first[w + 1] += this.first[w];
    this.kids = new Int32Array(this.first[nNodes]);
    const next = this.first.slice();
    for (let w = 1; w < nNodes; w++) if (shown[w]) this.kids[next[this.up[w]]++] = w;
    // Where the line of each node lies: midway between its first and its last child.
    this.middle = new Float64Array(nNodes);
    for (let w = nNodes - 1; w >= 0; w--) {
      const a = this.first[w];
      const b = this.first[w + 1];
      this.middle[w] =
        a === b
          ? start[w] + count[w] / 2
          : (this.middle[this.kids[a]] + this.middle[this.kids[b - 1]]) / 2;
    }
  }

  /** @param {number} w @returns {Int32Array} */
  children(w) {
    return this.kids.subarray(this.first[w], this.first[w + 1]);
  }

  /** The node itself, or the nearest above that is neither hidden nor inside a folded one. */
  visible(w, folded) {
    let v = this.shown[w] ? w : this.up[w];
    for (let u = this.up[v]; u >= 0; u = this.up[u]) if (folded.has(u)) v = u;
    return v;
  }

  /** The child of w that has a row, or −1. */
  childWith(w, row) {
    const { start, count } = this.report;
    let a = this.first[w];
    let b = this.first[w + 1];
    while (a < b) {
      const middle = (a + b) >> 1;
      const child = this.kids[middle];
      if (row < start[child]) b = middle;
      else if (row >= start[child] + count[child]) a = middle + 1;
      else return child;
    }
    return -1;
  }

  /** The node whose edge passes a row at a time: what is under the pointer. */
  nodeAt(row, time, folded) {
    let w = 0;
    while (this.report.time[w] < time && !folded.has(w)) {
      const child = this.childWith(w, row);
      if (child < 0) break;
      w = child;
    }
    return w;
  }

  /** What a view must span so that a node fills it. */
  windowOf(w) {
    const { start, count, time, end } = this.report;
    // However short its own edge is, a part of the width is the node's; the root has no edge.
    const least = time[w] - 0.05 * Math.max(end - time[w], 0.02 * end);
    const left = this.up[w] < 0 ? least : Math.min(time[this.up[w]], least);
    const right = end > left ? end : left + 1;
    return { top: start[w], bottom: start[w] + count[w], left, right };
  }
}
