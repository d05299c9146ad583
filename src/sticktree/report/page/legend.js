// What colours mean, beside the tree; a name chooses its rows.

const LEGEND_MOST = 24;

/** @param {TreeView} view */
function fillLegend(view) {
  const { report, state } = view;
  const { colouring } = state;
  const parts = [];
  if (colouring instanceof Numbers) parts.push(rampKey(colouring.title, colouring.ends.map((v) => colouring.column.written(v, 3)), SEQUENTIAL));
  else parts.push(groupKey(view, colouring));
  for (const track of view.tracks) {
    if (track === colouring) continue;
    parts.push(
      track instanceof Numbers
        ? rampKey(track.title, track.ends.map((v) => track.column.written(v, 3)), SEQUENTIAL)
        : groupKey(view, track)
    );
  }
  if (state.heat) {
    const missing = make("span", { class: "swatch", "aria-hidden": "true" });
    missing.style.background = css(ramp(GONE));
    const key = rampKey("cells", [`−${MOST_SCORE} sd`, `+${MOST_SCORE} sd`], DIVERGING);
    key.append(" ", missing, "missing");
    parts.push(key);
  }
  if (report.support) {
    const scale = make("span", { class: "support-scale", "aria-hidden": "true" });
    parts.push(make("p", { class: "support-key" }, `${report.supportName} 0 `, scale, " 1"));
    const said = [["transfer", report.transfer], ["exact", report.exact]].filter(([, values]) => values);
    const words = said.map(([kind]) => `${kind}: ${MEANING[kind]}`).join("; ");
    parts.push(make("p", { id: "support-meaning" }, `Support: ${words}.`));
  }
  const { strays } = report.clusters;
  if (strays) parts.push(make("p", {}, `${many(strays, "stray")}, ${MEANING.stray}: half as wide in the track, ringed among the data.`));
  byId("legend").replaceChildren(...parts);
}

/** Groups by name. */
function groupKey(view, colouring) {
  const { state } = view;
  const list = make("ul", { "aria-label": colouring.title });
  const first = colouring.by === "label" ? "cluster" : `${colouring.title}:`;
  list.append(make("li", { class: "key-title" }, isolated(first)));
  const entry = (k) => {
    const name = colouring.by === "label" && k >= 0 ? String(k) : colouring.nameOf(k);
    const chosen = state.group?.by === colouring.by && state.group.k === k;
    const click = () => (chosen ? state.set({ group: null }) : showGroup(view, colouring.by, k));
    return make(
      "li",
      {},
      make(
        "button",
        { type: "button", class: "key", "aria-pressed": String(chosen), "aria-label": `Choose ${colouring.nameOf(k)}`, click },
        swatch(k < 0 ? -1 : colouring.slots[k]),
        isolated(name)
      )
    );
  };
  const seen = new Set(colouring.codes);
  const shown = colouring.names.map((_, k) => k).filter((k) => seen.has(k));
  list.append(...shown.slice(0, LEGEND_MOST).map(entry));
  if (shown.length > LEGEND_MOST) list.append(make("li", {}, `and ${shown.length - LEGEND_MOST} more`));
  if (seen.has(-1)) list.append(entry(-1));
  if (colouring === state.colouring) {
    list.append(make("li", {}, make("span", { class: "swatch mixed", "aria-hidden": "true" }), "mixed"));
  }
  return list;
}

/** Numbers from low to high. */
function rampKey(title, [low, high], kind) {
  const scale = make("span", { class: "ramp", "aria-hidden": "true" });
  scale.style.background = gradient(kind);
  return make("p", { class: "ramp-key" }, isolated(title), ` ${low} `, scale, ` ${high}`);
}
