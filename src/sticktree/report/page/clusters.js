// The table of clusters: sorted by any column, each cluster a way into the tree.

/** @param {TreeView} view */
function enliven(view) {
  const table = byId("clusters-table");
  const { state } = view;
  for (const line of table.tBodies[0].rows) {
    const cell = line.cells[0];
    const k = Number(cell.textContent);
    const open = make(
      "button",
      {
        type: "button",
        class: "link",
        "aria-label": `Show cluster ${k} in the tree`,
        click: () => showCluster(view, k),
      },
      String(k)
    );
    cell.replaceChildren(swatch(k), open);
    line.dataset.label = k;
  }
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const click = () => sortBy(table, column);
    cell.replaceChildren(make("button", { type: "button", class: "sort", click }, cell.textContent));
  });
  state.listen((changed) => {
    if (!changed.has("cluster")) return;
    for (const line of table.tBodies[0].rows) {
      line.classList.toggle("chosen", Number(line.dataset.label) === state.cluster);
    }
  });
}

/** @param {HTMLTableElement} table @param {number} column */
function sortBy(table, column) {
  const head = table.tHead.rows[0].cells[column];
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const text = (line) => line.cells[column].textContent;
  const order = new Intl.Collator("en", { numeric: true });
  const lines = [...table.tBodies[0].rows].sort((a, b) => {
    const x = parseFloat(text(a));
    const y = parseFloat(text(b));
    const byNumber = Number.isNaN(x) || Number.isNaN(y) ? order.compare(text(a), text(b)) : x - y;
    return down ? -byNumber : byNumber;
  });
  table.tBodies[0].append(...lines);
}

/** Show the smallest branch that has all of a cluster, and mark its rows. */
function showCluster(view, k) {
  const node = view.geometry.visible(view.report.nodeOfLabel(k), new Set());
  view.state.set({ hovered: -1, folded: new Set() });
  view.state.zoom(node, { cluster: k });
  byId("explore").scrollIntoView({ behavior: STILL.matches ? "auto" : "smooth" });
}
