// Zooming and panning: by mouse, touch, wheel, keys and buttons.

const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");
const MOVE_TIME = 260; // milliseconds
const CLICK_SLACK = 5; // pixels that a click may wander

class TreePointer {
  /** @param {TreeView} view */
  constructor(view) {
    this.view = view;
    this.pressed = null;
    this.touches = new Map();
    const { canvas } = view;
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointerup", (event) => this.release(event, true));
    canvas.addEventListener("pointercancel", (event) => this.release(event, false));
    canvas.addEventListener("pointerleave", (event) => {
      if (!this.pressed && event.pointerType !== "touch") this.look(null);
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  place(event) {
    const box = this.view.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** What is under a point: a node, a cell, a track, a column or a join of columns. */
  under({ x, y }) {
    const { view } = this;
    const { place, heat } = view;
    if (y < place.head) {
      const join = heat.joinAt(x, y);
      const column = heat.columnAt(x);
      return { node: -1, row: -1, column: join ? -1 : column, join, track: null };
    }
    const row = view.rowAt(y);
    const column = row < 0 ? -1 : heat.columnAt(x);
    const k = Math.floor((x - place.tracks) / (TRACK + TRACK_GAP));
    const track = row >= 0 && x >= place.tracks && x < place.heat - 3 ? view.tracks[k] ?? null : null;
    const node = column < 0 && !track ? view.nodeAt(x, y) : -1;
    return { node, row, column, join: null, track };
  }

  /** Point at something, or at nothing. */
  look(at) {
    const { view } = this;
    const seen = at ? this.under(at) : { node: -1, row: -1, column: -1, join: null, track: null };
    const cell = seen.column >= 0 || seen.track;
    view.state.set({
      hovered: seen.node,
      hoveredColumn: seen.column,
      // Where rows are thinner than two pixels none of them is meant.
      hoveredRow: cell && view.rowHeight >= 2 ? seen.row : -1,
    });
    showTip(view, seen, at);
  }

  down(event) {
    this.touches.set(event.pointerId, this.place(event));
    const { window: seen } = this.view;
    this.pressed = { ...this.place(event), seen: { ...seen }, columns: { ...this.view.columns }, moved: false };
    this.view.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const at = this.place(event);
    if (this.touches.has(event.pointerId)) {
      const before = this.spread();
      this.touches.set(event.pointerId, at);
      if (this.touches.size === 2) {
        const others = [...this.touches.values()];
        const middle = (others[0].y + others[1].y) / 2;
        if (before > 0) this.magnify(this.spread() / before, middle);
        this.pressed.moved = true;
        return;
      }
    }
    if (!this.pressed) {
      if (event.pointerType !== "touch") this.look(at);
      return;
    }
    const away = at.y - this.pressed.y;
    if (Math.abs(away) + Math.abs(at.x - this.pressed.x) > CLICK_SLACK) this.pressed.moved = true;
    if (this.pressed.moved && this.touches.size < 2) {
      const { seen, columns, x } = this.pressed;
      const { view } = this;
      const rows = -away / view.rowHeight;
      this.look(null);
      if (x >= view.place.heat && view.place.heatWidth) {
        const across = (x - at.x) / view.heat.columnWidth;
        view.heat.show(columns.first + across, columns.last + across);
      }
      this.show({ ...seen, top: seen.top + rows, bottom: seen.bottom + rows });
    }
  }

  /** How far apart two fingers are. */
  spread() {
    const [a, b] = [...this.touches.values()];
    return b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  }

  release(event, clicked) {
    this.touches.delete(event.pointerId);
    const { pressed, view } = this;
    this.pressed = null;
    if (!clicked || !pressed || pressed.moved) return;
    const at = this.place(event);
    const seen = this.under(at);
    const touch = event.pointerType === "touch";
    if (seen.join) view.heat.zoomOn(seen.join);
    else if (at.y < view.place.head) {
      if (seen.column >= 0) this.colourBy(view.heat.order[seen.column]);
    } else if (seen.column >= 0 || seen.track) this.pressCell(seen, at, touch);
    else this.pressNode(seen, at, event);
  }

  pressNode(seen, at, event) {
    const { view } = this;
    const { node } = seen;
    if (node < 0) return;
    if (event.shiftKey) {
      view.state.fold(node);
      view.state.select(node);
    } else if (event.pointerType === "touch" && view.state.selected !== node) {
      view.state.select(node);
      showTip(view, seen, at);
    } else {
      this.look(null);
      this.zoomOn(node);
    }
  }

  /** Choose the row of a cell or, where rows are thin, zoom in around it. */
  pressCell(seen, at, touch) {
    const { view } = this;
    if (touch) showTip(view, seen, at);
    if (view.rowHeight >= 2) {
      view.state.set({ row: seen.row, group: null });
      return;
    }
    const { report, geometry } = view;
    let w = geometry.visible(report.nodeOf[seen.row], view.state.folded);
    while (w > 0 && report.count[w] * view.rowHeight < 40) w = geometry.up[w];
    if (w !== view.state.zoomed) this.zoomOn(w);
    else this.magnify(4, at.y);
  }

  /** Colour by a column, or by clusters again. */
  colourBy(d) {
    const { state } = this.view;
    state.set({ colour: state.colour === `c${d}` ? "label" : `c${d}` });
  }

  /** Zoom into a node, or out of it if it already fills the view. */
  zoomOn(node) {
    const { state, geometry } = this.view;
    state.zoom(node === state.zoomed && node > 0 ? geometry.up[node] : node);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    const { view } = this;
    const at = this.place(event);
    const factor = Math.exp(-(event.deltaY || event.deltaX) * 0.004);
    if (event.shiftKey && view.heat.columnAt(at.x) >= 0) {
      view.heat.magnify(factor, view.columns.first + (at.x - view.place.heat) / view.heat.columnWidth);
    } else this.magnify(factor, at.y);
  }

  /** Make rows higher or lower around a place. */
  magnify(factor, y = (this.view.place.head + this.view.place.bottom) / 2) {
    const { window: seen, rowHeight, place } = this.view;
    const row = seen.top + (y - place.head) / rowHeight;
    this.show({
      ...seen,
      top: row - (row - seen.top) / factor,
      bottom: row + (seen.bottom - row) / factor,
    });
  }

  /** Show a window, kept within the rows there are. */
  show(seen) {
    const { report } = this.view;
    const size = Math.min(Math.max(seen.bottom - seen.top, Math.min(1, report.nRows)), report.nRows);
    const middle = (seen.top + seen.bottom) / 2;
    const top = Math.min(Math.max(middle - size / 2, 0), report.nRows - size);
    this.stop();
    this.view.window = { ...seen, top, bottom: top + size };
    this.free();
    this.view.ask(true);
  }

  /** While everything is in view, a finger on the tree scrolls the page. */
  free() {
    const { window: seen, columns, report, canvas } = this.view;
    const whole = seen.bottom - seen.top >= report.nRows && columns.last - columns.first >= report.columns.length;
    canvas.style.touchAction = whole ? "pan-y" : "none";
  }

  stop() {
    cancelAnimationFrame(this.moving);
  }

  /** Move to the window of the zoomed node. */
  go() {
    const { view } = this;
    const target = view.geometry.windowOf(view.state.zoomed);
    const from = { ...view.window };
    const start = performance.now();
    this.stop();
    const step = (now) => {
      const part = STILL.matches ? 1 : Math.min(1, Math.max(0, (now - start) / MOVE_TIME));
      const eased = 1 - (1 - part) ** 3;
      for (const side of Object.keys(target)) {
        view.window[side] = from[side] + (target[side] - from[side]) * eased;
      }
      view.draw();
      if (part < 1) this.moving = requestAnimationFrame(step);
      else this.free();
    };
    this.moving = requestAnimationFrame(step);
  }
}

