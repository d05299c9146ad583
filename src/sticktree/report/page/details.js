// What is known of the node under the pointer, of the one chosen, or of a row.

const MEMBERS_FIRST = 10;
const MEMBERS_AT_ONCE = 200;
const PATH_MOST = 80; // nodes of a row's path that are listed
const PATH_FIRST = 10; // of them, those nearest to the root

class Details {
  /** @param {HTMLElement} box @param {TreeView} view */
  constructor(box, view) {
    Object.assign(this, { box, view, report: view.report, state: view.state });
    this.shown = "";
    this.fill();
  }

  /** Fill at the next frame, once. */
  ask() {
    this.frame ||= requestAnimationFrame(() => this.fill());
  }

  fill() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { state, report } = this;
    const { hovered, selected, row, hoveredRow } = state;
    const where = `${state.tree} ${state.cut} ${state.strays} ${[...state.folded]} ${state.zoomed}`;
    const key = `${hovered} ${selected} ${row} ${hoveredRow} ${where}`;
    if (key === this.shown) return;
    this.shown = key;
    this.box.classList.toggle("of-all", selected === 0 && row < 0);
    if (hoveredRow >= 0) this.row(hoveredRow);
    else if (hovered >= 0) this.node(hovered);
    else if (row >= 0) this.row(row);
    else if (report.count[selected] === 1 && !report.hasChildren[selected]) {
      this.row(report.start[selected]);
    } else this.node(selected);
  }

  /** Facts as pairs of a name, or a name and its meaning, and a value. */
  facts(pairs) {
    const list = make("dl", { class: "facts" });
    for (const [word, ...said] of pairs) {
      const { name, meaning } = word.meaning ? word : { name: word };
      list.append(make("div", { title: meaning }, make("dt", {}, name), make("dd", {}, ...said)));
    }
    return list;
  }

  node(w) {
    const { report, state } = this;
    if (report.count[w] === 1) {
      this.row(report.start[w]);
      return;
    }
    const start = report.start[w];
    const end = start + report.count[w];
    const share = formatShare(report.total[w] / report.total[0]);
    const pairs = [["Rows", `${WHOLE.format(report.total[w])} (${share})`]];
    const supports = report.supportsOf(w);
    for (const known of supports) pairs.push([known, known.value.toFixed(2)]);
    if (!supports.length) pairs.push(["Support", "not known"]);
    const [how, where] = report.parting(w);
    if (report.hasChildren[w]) pairs.push([`Parts ${how}`, where]);
    else if (!report.nGroups) pairs.push(["Ends at", where]);
    if (report.confidence) pairs.push(["Mean confidence", mean(report.confidence, start, end).toFixed(2)]);
    const folded = state.folded.has(w);
    const foldable = this.view.geometry.children(w).length > 0;
    const parts = [
      make("h3", {}, isolated(report.nodeName(w))),
      this.facts(pairs),
      make(
        "div",
        { class: "buttons" },
        make("button", { type: "button", click: () => state.zoom(w) }, "Zoom in"),
        ...(foldable
          ? [make("button", { type: "button", click: () => state.fold(w) }, folded ? "Unfold" : "Fold")]
          : [])
      ),
      ...featureTable("Means, most unusual first", report.features(start, end)),
    ];
    parts.push(make("h4", {}, "Clusters"), shareBars(report.colouring("label"), start, end));
    report.annotations.forEach((one, k) => {
      parts.push(make("h4", {}, isolated(one.name)));
      if (one.code) parts.push(shareBars(report.colouring(`a${k}`), start, end));
      else parts.push(make("p", {}, `mean ${one.written(one.meanOf(start, end), 4)}`));
    });
    parts.push(...this.members(start, end));
    this.box.replaceChildren(...parts);
  }

  /** The first names, and all of them if asked for: a part at a time, as the list is scrolled. */
  members(start, end) {
    const list = make("ul", { class: "members" });
    let next = start;
    const add = (most) => {
      const last = Math.min(end, next + most);
      for (; next < last; next++) list.append(this.member(next));
    };
    add(MEMBERS_FIRST);
    const parts = [make("h4", {}, "Who is in it"), list];
    if (next < end) {
      const more = make(
        "button",
        {
          type: "button",
          class: "show-all",
          click: () => {
            more.remove();
            list.classList.add("long");
            list.tabIndex = 0;
            list.setAttribute("aria-label", `All ${many(end - start, "row")}`);
            add(MEMBERS_AT_ONCE);
            list.addEventListener("scroll", () => {
              if (list.scrollTop + list.clientHeight > list.scrollHeight - 300) add(MEMBERS_AT_ONCE);
            });
            list.focus();
          },
        },
        `Show all ${many(end - start, "row")}`
      );
      parts.push(more);
    }
    return parts;
  }

  member(i) {
    return make(
      "li",
      {},
      make(
        "button",
        { type: "button", class: "link", click: () => chooseRow(this.view, i) },
        isolated(this.report.rowName(i))
      )
    );
  }

  row(i) {
    const { report } = this;
    const cluster = report.joined[i];
    const pairs = [["Row", String(report.number[i])]];
    pairs.push(["Cluster", swatch(report.clusters.slots[cluster]), String(cluster)]);
    if (report.stray[i]) pairs.push([{ name: "Stray", meaning: MEANING.stray }, "apart from its cluster"]);
    if (report.confidence) pairs.push(["Confidence", this.sure(report.confidence[i])]);
    for (const one of report.annotations) pairs.push([isolated(one.name), isolated(one.text(i))]);
    this.box.replaceChildren(
      make("h3", {}, isolated(report.rowName(i))),
      this.facts(pairs),
      ...featureTable("Values, most unusual first", rowFeatures(report, i)),
      make("h4", {}, "Its path through the tree"),
      this.path(i)
    );
  }

  sure(confidence) {
    const word = confidence >= 0.9 ? "sure" : confidence >= 0.6 ? "fairly sure" : "unsure";
    return `${confidence.toFixed(2)}, ${word}`;
  }

  /** The nodes from the root to a row, each with its size and support. */
  path(i) {
    const { report, view } = this;
    const path = report.pathTo(report.nodeOf[i]).filter((w) => view.geometry.shown[w]);
    const list = make("ol", { class: "row-path" });
    const skipped = Math.max(0, path.length - PATH_MOST);
    for (const [k, w] of path.entries()) {
      if (k === PATH_FIRST && skipped) list.append(make("li", {}, `… ${skipped} more …`));
      if (k >= PATH_FIRST && k < PATH_FIRST + skipped) continue;
      const support = report.supportOf(w);
      const note = Number.isNaN(support) || !report.hasChildren[w] ? "" : `${report.supportName} ${support.toFixed(2)}, `;
      const when = report.hasChildren[w] ? "parts" : "ends";
      const where = report.nGroups && !report.hasChildren[w] ? "" : `${when} ${report.parting(w).join(" ")}`;
      list.append(
        make(
          "li",
          {},
          make(
            "button",
            { type: "button", class: "link", click: () => this.state.zoom(w) },
            isolated(report.nodeName(w))
          ),
          make("span", { class: "note" }, `${note}${where}`)
        )
      );
    }
    return list;
  }
}

/** The mean of some numbers. */
function mean(values, start, end) {
  let sum = 0;
  for (let i = start; i < end; i++) sum += values[i];
  return sum / (end - start);
}

/** Choose a row: mark it, and show enough of the tree around it to see where it is. */
function chooseRow(view, i) {
  const { state, geometry, report } = view;
  let w = geometry.visible(report.nodeOf[i], new Set());
  const room = Math.max(12, Math.min(40, report.nRows / 50));
  while (w > 0 && report.count[w] < room) w = geometry.up[w];
  const path = new Set(report.pathTo(report.nodeOf[i])); // where a folded branch would hide it
  const folded = new Set([...state.folded].filter((v) => !path.has(v)));
  state.set({ folded, hovered: -1, hoveredRow: -1 });
  state.zoom(w, { row: i });
}
