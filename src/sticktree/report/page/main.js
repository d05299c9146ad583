// Everything put together.

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
  const packed = JSON.parse(byId("report-data").textContent);
  palette = packed.palette.map(rgbOf);
  const report = new Report(packed);
  const geometry = new Geometry(report);
  const state = new State(report, {
    hovered: -1, selected: 0, row: -1, hoveredRow: -1, hoveredColumn: -1, group: null, zoomed: 0,
    moves: 0, columnMoves: 0, tree: 0, cut: report.found, strays: "join", mode: "icicle", colour: "label",
    tracks: new Set(usualTracks(report)), heat: true, columnOrder: "likeness",
    threshold: { kind: "transfer", least: 0 }, folded: new Set(),
  });
  byId("explore").hidden = false;
  const view = new TreeView(byId("tree"), report, geometry, state);
  const pointer = new TreePointer(view);
  enableControls(view, pointer);
  const outline = new Outline(byId("outline"), view, pointer);
  const details = new Details(byId("details"), view);
  const cloud = new Cloud(byId("cloud"), view);
  const search = new Search(view);
  const tables = new ClusterTables(view);
  const tell = () => {
    showChoices(view);
    fillLegend(view);
    fillPath(state, report, geometry);
  };

  state.listen((changed) => {
    const any = (...names) => names.some((name) => changed.has(name));
    if (any("tree")) changeTree(view, search);
    if (any("cut", "strays")) report.cut(state.cut, state.strays);
    if (any("cut")) tables.follow();
    if (any("threshold")) hideBranches(view);
    if (any("columnOrder")) view.heat.arrange(state.columnOrder);
    if (any("zoomed", "moves", "threshold")) {
      pointer.go();
      fillPath(state, report, geometry);
    }
    if (any("tree", "cut", "strays", "colour", "tracks", "heat", "group", "mode", "columnOrder", "threshold")) tell();
    if (any("tree", "cut", "strays", "colour")) cloud.drawBase();
    if (any("group")) tables.mark();
    if (any("selected", "folded", "threshold", "tree", "cut", "strays", "colour")) outline.fill();
    details.ask();
    cloud.ask();
    view.ask(any("mode", "colour", "folded", "threshold", "tree", "cut", "strays", "tracks", "heat", "columnOrder"));
  });

  enableDownloads(view);
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
    view.scheme = Scheme.now();
    view.resize();
    cloud.resize();
    fillLegend(view);
    repaint();
  };
  new ResizeObserver(() => {
    const { clientWidth, clientHeight } = byId("tree");
    if (clientWidth !== view.width || clientHeight !== view.height) again(); // at first it has not changed
  }).observe(byId("tree"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  // A printer does not wait for a frame, and paper has another size: it gets a picture of its own.
  window.addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    drawFigureOn(view, byId("print-canvas"));
    cloud.resize();
    repaint();
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    again();
  });
  tell();
  if (location.hash.includes("=")) {
    restore(view);
    pointer.stop();
    view.window = geometry.windowOf(state.zoomed);
  }
  remember(view);
  view.draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

/** Show another tree: everything that knows rows by their places begins anew. */
function changeTree(view, search) {
  const { state, report, geometry } = view;
  const number = state.row >= 0 ? report.number[state.row] : -1;
  report.arrange(state.tree);
  geometry.hide(state.threshold);
  search.forget();
  view.window = geometry.windowOf(0);
  Object.assign(state, { hovered: -1, hoveredRow: -1, selected: 0, zoomed: 0, folded: new Set() });
  state.row = number < 0 ? -1 : report.number.indexOf(number);
  fillPath(state, report, geometry);
}

/** Leave out branches with less support than asked for, and look at one that is left. */
function hideBranches({ state, geometry }) {
  geometry.hide(state.threshold);
  state.set({
    zoomed: geometry.visible(state.zoomed, new Set()),
    selected: geometry.visible(state.selected, new Set()),
    folded: new Set([...state.folded].filter((w) => geometry.shown[w])),
    hovered: -1,
  });
}

begin();
