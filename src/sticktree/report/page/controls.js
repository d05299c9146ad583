// The tools above the tree: which tree, how it is drawn, coloured and cut, what stands beside it.

const LEAST_SUPPORT = { transfer: [0.5, 0.7, 0.9], exact: [0.05, 0.5, 0.95] }; // to choose from

/** @param {TreeView} view @param {TreePointer} pointer */
function enableControls(view, pointer) {
  const { state, report } = view;
  fillChoices(report);
  const on = (id, event, act) => byId(id).addEventListener(event, (happened) => act(happened.target));
  for (const radio of document.querySelectorAll("input[name=mode]")) {
    radio.addEventListener("change", () => state.set({ mode: radio.value }));
  }
  on("colour", "change", ({ value }) => state.set({ colour: value }));
  on("which-tree", "change", ({ value }) => state.set({ tree: Number(value) }));
  on("strays", "change", ({ value }) => state.set({ strays: value }));
  on("column-order", "change", ({ value }) => state.set({ columnOrder: value }));
  on("heat", "change", ({ checked }) => state.set({ heat: checked }));
  on("threshold", "change", ({ value }) => {
    const [kind, least] = value.split(" ");
    state.set({ threshold: { kind: kind || "transfer", least: Number(least ?? 0) } });
  });
  on("tracks", "change", ({ value, checked }) => {
    const tracks = new Set(state.tracks);
    if (checked) tracks.add(value);
    else tracks.delete(value);
    // In the order of the list, whenever they were chosen.
    const all = [...byId("tracks").querySelectorAll("input")].map((box) => box.value);
    state.set({ tracks: new Set(all.filter((by) => tracks.has(by))) });
  });
  on("cut", "input", ({ value }) => state.set({ cut: Number(value) }));
  on("cut-number", "change", ({ value }) => {
    const wanted = Number(value);
    const near = report.cuts.map(({ k }) => Math.abs(k - wanted));
    const best = near.indexOf(Math.min(...near));
    state.set({ cut: best < 0 ? state.cut : best });
    showChoices(view);
  });
  on("cut-found", "click", () => state.set({ cut: report.found }));
  on("zoom-in", "click", () => pointer.magnify(1.5));
  on("zoom-out", "click", () => pointer.magnify(1 / 1.5));
  on("zoom-up", "click", () => pointer.zoomOn(state.zoomed));
  on("zoom-all", "click", () => {
    state.zoom(0);
    view.heat.show(0, report.columns.length);
  });
  on("unfold", "click", () => state.set({ folded: new Set() }));
  on("columns-in", "click", () => view.heat.magnify(1.5));
  on("columns-out", "click", () => view.heat.magnify(1 / 1.5));
}

/** Put what there is to choose from into the tools, and hide those without a choice. */
function fillChoices(report) {
  const option = (value, text) => make("option", { value }, text);
  const titles = { clusters: "of clusters", consensus: "consensus of the draws" };
  byId("which-tree").replaceChildren(...report.trees.map(({ word }, k) => option(k, titles[word])));
  byId("which-tree-tool").hidden = report.trees.length < 2;
  const group = (label, options) => (options.length ? [make("optgroup", { label }, ...options)] : []);
  byId("colour").replaceChildren(
    option("label", "cluster"),
    ...(report.confidence ? [option("confidence", "confidence")] : []),
    ...group("Annotations", report.annotations.map((one, k) => option(`a${k}`, one.name))),
    ...group("Columns", report.columns.map((one, k) => option(`c${k}`, one.name)))
  );
  const track = (value, text) =>
    make("label", {}, make("input", { type: "checkbox", value }), " ", isolated(text));
  byId("tracks-list").replaceChildren(
    track("label", "cluster"),
    ...report.annotations.map((one, k) => track(`a${k}`, one.name)),
    ...(report.confidence ? [track("confidence", "confidence")] : [])
  );
  byId("cut").max = report.cuts.length - 1;
  byId("cut-number").min = report.cuts[0].k;
  byId("cut-number").max = report.cuts[report.cuts.length - 1].k;
  byId("cut-tool").hidden = report.cuts.length < 2;
  byId("strays-tool").hidden = !report.cuts.some(({ strays }) => strays);
  const single = report.columns.length < 2;
  for (const id of ["column-order-tool", "columns-in", "columns-out"]) byId(id).hidden = single;
  byId("column-order-tool").hidden = !report.columnTree;
  if (!report.carrying) byId("column-order").querySelector("[value=relevance]").remove();
}

/** Make the tools say what is in view. @param {TreeView} view */
function showChoices({ state, report }) {
  document.querySelector(`input[name=mode][value=${state.mode}]`).checked = true;
  byId("colour").value = state.colour;
  byId("which-tree").value = state.tree;
  byId("strays").value = state.strays;
  byId("column-order").value = state.columnOrder;
  byId("heat").checked = state.heat;
  const { kind, least } = state.threshold;
  const supports = Object.entries(LEAST_SUPPORT).filter(([one]) => report[one]).flatMap(([one, values]) =>
    values.map((value) => make("option", { value: `${one} ${value}` }, `${one} support ≥ ${value}`))
  );
  byId("threshold").replaceChildren(make("option", { value: "" }, "all"), ...supports);
  byId("threshold").value = least ? `${kind} ${least}` : "";
  byId("threshold-tool").hidden = !report.support;
  for (const box of byId("tracks-list").querySelectorAll("input")) box.checked = state.tracks.has(box.value);
  const { k } = report.cuts[state.cut];
  byId("cut").value = state.cut;
  byId("cut").setAttribute("aria-valuetext", many(k, "cluster"));
  byId("cut-number").value = k;
  byId("cut-found").textContent = `As found: ${report.cuts[report.found].k}`;
  byId("cut-found").disabled = state.cut === report.found;
}
