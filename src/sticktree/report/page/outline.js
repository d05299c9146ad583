// The same tree for keyboards and screen readers: a list of the nodes around the one in focus.

const MOST_ABOVE = 12;
const MOST_BESIDE = 12;

class Outline {
  /** @param {HTMLElement} list @param {TreeView} view @param {TreePointer} pointer */
  constructor(list, view, pointer) {
    Object.assign(this, { list, view, pointer, state: view.state });
    this.items = new Map();
    list.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("focusin", (event) => {
      const node = Number(event.target.dataset.node);
      if (node !== this.state.selected) this.state.select(node);
    });
    this.fill();
  }

  /** Some of a list around one of it. */
  static around(nodes, one) {
    const place = Math.max(nodes.indexOf(one), 0);
    const first = Math.max(0, Math.min(place - MOST_BESIDE / 2, nodes.length - MOST_BESIDE));
    return nodes.subarray(first, first + MOST_BESIDE);
  }

  /** List the path to the node, its siblings and its children. */
  fill() {
    const { geometry, report } = this.view;
    const node = geometry.visible(this.state.selected, this.state.folded);
    const path = [];
    for (let v = geometry.up[node]; v >= 0; v = geometry.up[v]) path.push(v);
    const level = path.length + 1;
    const above = path.slice(0, MOST_ABOVE).reverse();
    const lines = above.map((v, k) => [v, level - above.length + k]);
    const siblings = node ? geometry.children(geometry.up[node]) : new Int32Array([0]);
    for (const v of Outline.around(siblings, node)) {
      lines.push([v, level]);
      if (v !== node || this.state.folded.has(v)) continue;
      for (const child of geometry.children(v).subarray(0, MOST_BESIDE)) lines.push([child, level + 1]);
    }
    const focused = this.list.contains(document.activeElement);
    this.items.clear();
    this.list.replaceChildren(...lines.map(([v, depth]) => this.item(v, depth, v === node, report)));
    if (focused) this.focus();
  }

  /** Put the keyboard's focus on the node that is chosen. */
  focus() {
    const node = this.view.geometry.visible(this.state.selected, this.state.folded);
    this.items.get(node)?.focus({ preventScroll: true });
  }

  item(v, depth, current, report) {
    const { geometry } = this.view;
    const siblings = v ? geometry.children(geometry.up[v]) : new Int32Array([0]);
    const open = geometry.children(v).length ? String(current && !this.state.folded.has(v)) : null;
    const item = make(
      "li",
      {
        role: "treeitem",
        tabindex: current ? 0 : -1,
        "aria-level": depth,
        "aria-setsize": siblings.length,
        "aria-posinset": siblings.indexOf(v) + 1,
        "aria-selected": String(current),
        "aria-expanded": open,
        "data-node": v,
        click: () => this.state.zoom(v),
      },
      this.spoken(v, report)
    );
    this.items.set(v, item);
    return item;
  }

  spoken(v, report) {
    const facts = [report.nodeName(v)];
    const support = report.supportOf(v);
    if (report.hasChildren[v]) {
      if (!Number.isNaN(support)) facts.push(`${report.supportName} ${support.toFixed(2)}`);
      facts.push(`parts ${report.parting(v).join(" ")}`);
    }
    facts.push(this.state.colouring.spoken(v));
    if (this.state.folded.has(v)) facts.push("folded");
    return facts.join(", ");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { geometry } = this.view;
    const { state } = this;
    const node = geometry.visible(state.selected, state.folded);
    const siblings = node ? geometry.children(geometry.up[node]) : new Int32Array([0]);
    const place = siblings.indexOf(node);
    const to = (v) => v !== undefined && v >= 0 && this.visit(v);
    const out = () => state.zoom(Math.max(geometry.up[state.zoomed], 0));
    const actions = {
      ArrowLeft: () => to(geometry.up[node]),
      ArrowRight: () => {
        if (state.folded.has(node)) state.fold(node);
        else to(geometry.children(node)[0]);
      },
      ArrowUp: () => to(siblings[place - 1]),
      ArrowDown: () => to(siblings[place + 1]),
      Home: () => to(0),
      Enter: () => state.zoom(node),
      Backspace: out,
      Escape: out,
      " ": () => geometry.children(node).length && state.fold(node),
      "+": () => this.pointer.magnify(1.5),
      "-": () => this.pointer.magnify(1 / 1.5),
      "]": () => this.view.heat.magnify(1.5),
      "[": () => this.view.heat.magnify(1 / 1.5),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Choose a node, and bring it into view if it is not. */
  visit(v) {
    const { view, state } = this;
    const { start, count, time } = view.report;
    const { top, bottom, left } = view.window;
    state.select(v);
    const inside = start[v] >= top - 1e-6 && start[v] + count[v] <= bottom + 1e-6 && time[v] >= left;
    if (inside) return;
    // The smallest node above that has both what is in view and what is chosen.
    let w = state.zoomed;
    while (w > 0 && (start[v] < start[w] || start[v] + count[v] > start[w] + count[w])) {
      w = view.geometry.up[w];
    }
    state.set({ zoomed: w, moves: state.moves + 1 });
  }
}
