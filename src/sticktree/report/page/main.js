// Everything put together.

const LEGEND_MOST = 16;

/** The names and colours of categories, and what paleness means. */
function fillLegend(state, report) {
  const { colouring } = state;
  const entry = (k, text) => make("li", {}, swatch(k), isolated(text));
  const list = make("ul");
  const first = colouring.by === "class" ? "" : "cluster ";
  for (let k = 0; k < Math.min(colouring.size, LEGEND_MOST); k++) {
    const name = colouring.by === "class" ? colouring.nameOf(k) : String(k);
    list.append(entry(k, k === 0 ? first + name : name));
  }
  if (colouring.size > LEGEND_MOST) {
    list.append(make("li", {}, `and ${colouring.size - LEGEND_MOST} more: colours repeat`));
  }
  if (colouring.by === "class" && report.class.includes(-1)) {
    list.append(entry(-1, "unknown"));
  }
  list.append(make("li", {}, make("span", { class: "swatch mixed", "aria-hidden": "true" }), "mixed"));
  const parts = [list];
  if (report.support) {
    const scale = make("span", { "aria-hidden": "true" });
    parts.push(make("p", { class: "support-key" }, `${report.supportName} 0 `, scale, " 1"));
    const said = [["transfer", report.transfer], ["exact", report.exact]].filter(([, values]) => values);
    const words = said.map(([kind]) => `${kind}: ${MEANING[kind]}`).join("; ");
    parts.push(make("p", { id: "support-meaning" }, `Support: ${words}.`));
  }
  const strips = report.class ? "Strips at the right: clusters, then classes." : "";
  if (strips) parts.push(make("p", {}, strips));
  byId("legend").replaceChildren(...parts);
}

/** The way from the root to the branch in view. */
function fillPath(state, report, geometry) {
  const path = [];
  for (let w = state.zoomed; w >= 0; w = geometry.up[w]) path.push(w);
  path.reverse();
  const shown = path.length > 7 ? [...path.slice(0, 2), -1, ...path.slice(-4)] : path;
  byId("path").replaceChildren(
    ...shown.map((w, k) => {
      if (w < 0) return make("li", {}, `… ${path.length - 6} more …`);
      const here = k === shown.length - 1 ? "true" : null;
      return make(
        "li",
        {},
        make(
          "button",
          { type: "button", class: "link", "aria-current": here, click: () => state.zoom(w) },
          isolated(report.nodeName(w))
        )
      );
    })
  );
}

function begin() {
  const report = new Report(JSON.parse(byId("report-data").textContent));
  const geometry = new Geometry(report);
  const colourings = { label: new Colouring(report, "label") };
  if (report.class) colourings.class = new Colouring(report, "class");
  const state = new State({
    hovered: -1, selected: 0, row: -1, hoveredRow: -1, cluster: -1, zoomed: 0, moves: 0,
    threshold: { kind: "transfer", least: 0 },
    mode: "icicle", colouring: colourings.label, folded: new Set(),
  });
  byId("explore").hidden = false;
  byId("colour-tool").hidden = !report.class;
  byId("threshold-tool").hidden = !report.support;
  for (const option of [...byId("threshold").options]) {
    const [kind] = option.value.split(" ");
    if (kind && !report[kind]) option.remove();
  }
  const view = new TreeView(byId("tree"), report, geometry, state);
  const pointer = new TreePointer(view);
  const outline = new Outline(byId("outline"), view, pointer);
  const details = new Details(byId("details"), view);
  const cloud = new Cloud(byId("cloud"), view);
  const search = new Search(view);
  enliven(view);
  drawMarkers();
  fillLegend(state, report);
  fillPath(state, report, geometry);

  state.listen((changed) => {
    if (changed.has("threshold")) {
      geometry.hide(state.threshold);
      state.set({
        zoomed: geometry.visible(state.zoomed, new Set()),
        selected: geometry.visible(state.selected, new Set()),
        folded: new Set([...state.folded].filter((w) => geometry.shown[w])),
        hovered: -1,
      });
    }
    if (["zoomed", "moves", "threshold"].some((name) => changed.has(name))) {
      pointer.go();
      fillPath(state, report, geometry);
    }
    if (changed.has("colouring")) {
      fillLegend(state, report);
      cloud.drawBase();
    }
    if (["selected", "folded", "threshold", "colouring"].some((name) => changed.has(name))) outline.fill();
    details.ask();
    cloud.ask();
    view.ask(["mode", "colouring", "folded", "threshold"].some((name) => changed.has(name)));
  });

  for (const radio of document.querySelectorAll("input[name=mode]")) {
    radio.addEventListener("change", () => state.set({ mode: radio.value }));
  }
  byId("colour").addEventListener("change", (event) => {
    state.set({ colouring: colourings[event.target.value] });
  });
  byId("threshold").addEventListener("change", (event) => {
    const [kind, least] = event.target.value.split(" ");
    state.set({ threshold: { kind: kind || "transfer", least: Number(least ?? 0) } });
  });
  byId("zoom-in").addEventListener("click", () => pointer.magnify(1.5));
  byId("zoom-out").addEventListener("click", () => pointer.magnify(1 / 1.5));
  byId("zoom-up").addEventListener("click", () => pointer.zoomOn(state.zoomed));
  byId("zoom-all").addEventListener("click", () => state.zoom(0));
  byId("unfold").addEventListener("click", () => state.set({ folded: new Set() }));
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.input.focus();
    }
  });
  byId("tree").addEventListener("pointerup", (event) => {
    if (event.pointerType === "mouse") outline.focus(); // so that keys go on from there
  });

  const again = () => {
    view.scheme = new Scheme();
    view.resize();
    cloud.resize();
    repaintSwatches();
  };
  new ResizeObserver(again).observe(byId("tree"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  for (const moment of ["beforeprint", "afterprint"]) {
    window.addEventListener(moment, () => {
      again();
      view.draw(); // a printer does not wait for a frame
    });
  }
  view.draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

begin();
