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
      if (!this.pressed && event.pointerType !== "touch") this.hover(-1);
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  place(event) {
    const box = this.view.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  hover(node, at) {
    this.view.state.set({ hovered: node });
    showTip(this.view, node, at);
  }

  down(event) {
    this.touches.set(event.pointerId, this.place(event));
    const { window: seen } = this.view;
    this.pressed = { ...this.place(event), seen: { ...seen }, moved: false };
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
      if (event.pointerType !== "touch") this.hover(this.view.nodeAt(at.x, at.y), at);
      return;
    }
    const away = at.y - this.pressed.y;
    if (Math.abs(away) + Math.abs(at.x - this.pressed.x) > CLICK_SLACK) this.pressed.moved = true;
    if (this.pressed.moved && this.touches.size < 2) {
      const { seen } = this.pressed;
      const rows = -away / this.view.rowHeight;
      showTip(this.view, -1);
      this.show({ ...seen, top: seen.top + rows, bottom: seen.bottom + rows });
      this.hover(-1);
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
    const node = view.nodeAt(at.x, at.y);
    if (node < 0) return;
    if (event.shiftKey) {
      view.state.fold(node);
      view.state.select(node);
    } else if (event.pointerType === "touch" && view.state.selected !== node) {
      view.state.select(node);
      showTip(view, node, at);
    } else {
      showTip(view, -1);
      this.zoomOn(node);
    }
  }

  /** Zoom into a node, or out of it if it already fills the view. */
  zoomOn(node) {
    const { state, geometry } = this.view;
    state.zoom(node === state.zoomed && node > 0 ? geometry.up[node] : node);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    this.magnify(Math.exp(-event.deltaY * 0.004), this.place(event).y);
  }

  /** Make rows higher or lower around a place. */
  magnify(factor, y = (this.view.height - AXIS) / 2) {
    const { window: seen, rowHeight } = this.view;
    const row = seen.top + y / rowHeight;
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
    const { window: seen, report, canvas } = this.view;
    canvas.style.touchAction = seen.bottom - seen.top < report.nRows ? "none" : "pan-y";
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

/** A few words beside the pointer; the details have the rest. */
function showTip(view, node, at) {
  const tip = byId("tip");
  tip.hidden = node < 0;
  if (node < 0) return;
  const { report } = view;
  const facts = [];
  if (report.count[node] > 1) {
    for (const { name, value } of report.supportsOf(node)) facts.push(`${name.toLowerCase()} ${value.toFixed(2)}`);
  }
  if (report.hasChildren[node]) facts.push(`parts at level ${formatLevel(report.time[node])}`);
  const lines = report.features(report.start[node], report.start[node] + report.count[node]);
  tip.replaceChildren(
    make("strong", {}, isolated(report.nodeName(node))),
    ...(facts.length ? [make("span", {}, facts.join(", "))] : []),
    ...lines.slice(0, 3).map((line) =>
      make("span", {}, isolated(line.column.name), ` ${line.text} (${line.note || "–"})`)
    )
  );
  const right = at.x > view.width / 2;
  tip.style.left = right ? "auto" : `${at.x + 14}px`;
  tip.style.right = right ? `${view.width - at.x + 14}px` : "auto";
  tip.style.top = `${Math.min(at.y + 12, view.height - 110)}px`;
}
