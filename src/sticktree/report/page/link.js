// The view in the address, so that it can be sent: only what is not as it was at first.

let rememberNow = () => {};

/** Keep the address up to date. @param {TreeView} view */
function remember(view) {
  let waiting = 0;
  rememberNow = () => {
    clearTimeout(waiting);
    waiting = 0;
    const hash = written(view);
    if (hash === location.hash.slice(1) || (!hash && !location.hash.includes("="))) return;
    try {
      history.replaceState(null, "", `#${hash}`);
    } catch {
      location.replace(`#${hash}`); // where a browser has no history for files
    }
  };
  const later = new Set(["hovered", "hoveredRow", "hoveredColumn"]);
  view.state.listen((changed) => {
    if ([...changed].every((name) => later.has(name))) return;
    waiting ||= setTimeout(rememberNow, 150);
  });
  window.addEventListener("hashchange", () => {
    if (location.hash.includes("=") && location.hash.slice(1) !== written(view)) restore(view);
  });
}

/** @param {TreeView} view @returns {string} */
function written(view) {
  const { state, report, columns } = view;
  const said = new URLSearchParams();
  const note = (name, value, usual) => String(value) !== String(usual) && said.set(name, value);
  note("tree", report.trees[state.tree].word, report.trees[0].word);
  note("k", report.cuts[state.cut].k, report.cuts[report.found].k);
  note("strays", state.strays, "join");
  note("draw", state.mode, "icicle");
  note("colour", state.colour, "label");
  note("tracks", [...state.tracks].join(" "), usualTracks(report).join(" "));
  note("heat", state.heat ? 1 : 0, 1);
  note("columns", state.columnOrder, "likeness");
  const { first, last } = columns;
  if (last - first < report.columns.length) note("across", `${short(first)} ${short(last)}`, "");
  note("support", `${state.threshold.kind} ${state.threshold.least}`, "transfer 0");
  note("zoom", state.zoomed, 0);
  note("branch", state.selected, state.zoomed);
  if (state.row >= 0) note("row", report.number[state.row], -1);
  if (state.group) note("group", `${state.group.by} ${state.group.k}`, "");
  if (state.folded.size) note("folded", [...state.folded].join(" "), "");
  return said.toString();
}

/** Show what the address asks for; what it cannot mean is left alone. @param {TreeView} view */
function restore(view) {
  const { state, report } = view;
  const said = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const oneOf = (name, choices, usual) => (choices.includes(said.get(name)) ? said.get(name) : usual);
  const tree = Math.max(0, report.trees.findIndex(({ word }) => word === said.get("tree")));
  const cut = report.cuts.findIndex(({ k }) => String(k) === said.get("k"));
  state.set({ tree });
  state.set({ cut: cut < 0 ? report.found : cut, strays: oneOf("strays", ["join", "label"], "join") });
  const colour = said.get("colour") ?? "label";
  const tracks = said.has("tracks") ? said.get("tracks").split(" ") : usualTracks(report);
  const [kind, least] = (said.get("support") ?? "").split(" ");
  state.set({
    mode: oneOf("draw", ["icicle", "dendrogram"], "icicle"),
    colour: report.colouring(colour) ? colour : "label",
    tracks: new Set(tracks.filter((by) => report.colouring(by))),
    heat: said.get("heat") !== "0",
    columnOrder: oneOf("columns", ["likeness", "relevance", "table"], "likeness"),
    threshold: report[kind] && Number(least) >= 0 && Number(least) <= 1
      ? { kind, least: Number(least) }
      : { kind: "transfer", least: 0 },
  });
  const node = (name, usual) => {
    const w = Number(said.get(name) ?? usual);
    return Number.isInteger(w) && w >= 0 && w < report.nNodes ? view.geometry.visible(w, new Set()) : 0;
  };
  const across = (said.get("across") ?? "").split(" ").map(Number);
  if (across.length === 2 && across[1] > across[0]) view.heat.show(across[0], across[1]);
  else if (view.columns.last - view.columns.first < report.columns.length) view.heat.show(0, report.columns.length);
  const [by, k] = (said.get("group") ?? "").split(" ");
  const folded = (said.get("folded") ?? "").split(" ").filter(Boolean).map(Number);
  const zoomed = node("zoom", 0);
  state.zoom(zoomed, {
    selected: said.has("branch") ? node("branch", 0) : zoomed,
    row: said.has("row") ? report.number.indexOf(Number(said.get("row"))) : -1,
    group: report.colouring(by ?? "")?.codes && Number.isInteger(Number(k)) ? { by, k: Number(k) } : null,
    folded: new Set(folded.filter((w) => w >= 0 && w < report.nNodes && report.hasChildren[w])),
  });
}

/** The tracks that a page begins with: clusters, and the first annotations. */
function usualTracks(report) {
  return ["label", ...report.annotations.slice(0, 3).map((_, k) => `a${k}`)];
}
