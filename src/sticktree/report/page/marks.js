// What lies over the tree and follows the pointer: outlines of nodes, and lines of rows.

class TreeMarks {
  /** @param {TreeView} view @param {HTMLCanvasElement} canvas */
  constructor(view, canvas) {
    Object.assign(this, { view, canvas });
  }

  resize() {
    this.context = prepareCanvas(this.canvas, this.view.width, this.view.height);
  }

  draw() {
    const { context, view } = this;
    const { selected, hovered, row, hoveredRow, hoveredColumn, group } = view.state;
    const { head, bottom } = view.place;
    context.clearRect(0, 0, view.width, view.height);
    context.save();
    context.beginPath();
    context.rect(0, head, view.width, bottom - head);
    context.clip();
    this.outline(selected, []);
    if (hovered >= 0 && hovered !== selected) this.outline(hovered, [4, 3]);
    for (const i of new Set([row, hoveredRow])) if (i >= 0) this.line(i);
    if (group) this.bar(group);
    if (hoveredColumn >= 0) this.column(hoveredColumn);
    context.restore();
  }

  /** A frame around a node, and lines beside its rows in the heat map. */
  outline(node, dash) {
    const { context, view } = this;
    const { report } = view;
    const w = view.geometry.visible(node, view.state.folded);
    const ends = !report.hasChildren[w] || view.state.folded.has(w);
    const left = Math.max(view.leftOf(w), 1);
    const right = ends ? view.plotWidth : view.x(report.time[w]);
    const top = Math.max(view.y(report.start[w]), view.place.head + 1);
    const bottom = Math.min(view.y(report.start[w] + report.count[w]), view.place.bottom - 1);
    context.strokeStyle = view.scheme.ink;
    context.lineWidth = 2;
    context.setLineDash(dash);
    context.strokeRect(left, top, Math.max(right - left - 1, 3), Math.max(bottom - top - 1, 2));
    if (w && view.place.heatWidth) {
      context.lineWidth = 1.5;
      context.strokeRect(view.place.heat, top, view.place.heatWidth, Math.max(bottom - top - 1, 2));
    }
    context.setLineDash([]);
  }

  /** A line along a row, with an arrow at its end. */
  line(i) {
    const { context, view } = this;
    const y = view.y(i + 0.5);
    const half = Math.max(1.25, Math.min(view.rowHeight / 2, 7));
    const end = view.plotWidth;
    const { heat, heatWidth } = view.place;
    context.fillStyle = view.scheme.accent;
    context.globalAlpha = 0.28;
    context.fillRect(0, y - half, end, 2 * half);
    context.globalAlpha = 1;
    context.fillRect(0, y - 0.75, end, 1.5);
    context.beginPath();
    context.moveTo(end, y);
    context.lineTo(end - 9, y - 6);
    context.lineTo(end - 9, y + 6);
    context.fill();
    if (!heatWidth) return;
    context.strokeStyle = view.scheme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(heat, y - half - 0.75, heatWidth, 2 * half + 1.5);
  }

  /** A frame around a column of the heat map. */
  column(k) {
    const { context, view } = this;
    const { head, bottom } = view.place;
    context.strokeStyle = view.scheme.ink;
    context.lineWidth = 1;
    context.strokeRect(view.heat.x(k), head, Math.max(view.heat.columnWidth, 2), bottom - head);
  }

  /** A bar beside the rows of a group. */
  bar({ by, k }) {
    const { context, view } = this;
    const codes = view.report.colouring(by)?.codes;
    context.fillStyle = view.scheme.accent;
    codes?.forEach((code, i) => {
      if (code === k) context.fillRect(view.plotWidth, view.y(i), 4, Math.max(view.rowHeight, 1));
    });
  }
}
