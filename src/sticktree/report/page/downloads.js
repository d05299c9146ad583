// Taking things along: pictures, the tree, and rows.

/** A name for a file, made of the title. */
function fileName(report, end) {
  const plain = report.title.normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${plain || "sticktree"}${end}`;
}

/** Hand a file to the browser. */
function download(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// ---- the tree as Newick: every row a tip, labels are exact supports ----

/** @param {string} name */
function newickName(name) {
  const safe = /^[A-Za-z0-9.-]+$/.test(name) && !/^\d+$/.test(name);
  return safe ? name : `'${name.replace(/'/g, "''")}'`;
}

/** The branch in view, without the nodes that are left out of it. @param {TreeView} view */
function newick(view) {
  const { report, geometry } = view;
  const { start, count, time, hasChildren } = report;
  const row = (i) => (report.names ? newickName(report.names[i]) : String(report.number[i]));
  const known = (values, w) => values && !Number.isNaN(values[w]);
  const root = view.state.zoomed;
  const end = (w, inner) => {
    const label = inner && known(report.exact, w) ? String(Number(report.exact[w].toPrecision(6))) : "";
    const note = inner && known(report.transfer, w) ? `[&transfer=${Number(report.transfer[w].toPrecision(6))}]` : "";
    const long = Math.max(time[w] - (w === root ? 0 : time[geometry.up[w]]), 0);
    return label + note + (w === root && !long ? "" : `:${Number(long.toPrecision(7))}`);
  };
  const parts = [];
  const stack = [{ w: root, next: 0 }];
  while (stack.length) {
    const at = stack[stack.length - 1];
    const { w } = at;
    const children = geometry.children(w);
    if (at.next === 0) {
      if (!hasChildren[w] && count[w] === 1) {
        parts.push(row(start[w]) + end(w, false));
        stack.pop();
        continue;
      }
      parts.push("(");
      // Rows of the node itself come before those of its children.
      const own = children.length ? start[children[0]] - start[w] : count[w];
      parts.push(Array.from({ length: own }, (_, k) => row(start[w] + k)).join(","));
      at.comma = own > 0;
    }
    if (at.next < children.length) {
      if (at.comma) parts.push(",");
      at.comma = true;
      stack.push({ w: children[at.next++], next: 0 });
    } else {
      parts.push(`)${end(w, true)}`);
      stack.pop();
    }
  }
  return `${parts.join("")};\n`;
}

// ---- rows as CSV ----

/** @param {*} cell */
function csvCell(cell) {
  const text = String(cell);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** Some rows with all that is known of them. @param {Report} report @param {number[]} rows */
function csv(report, rows) {
  const columns = [["row", (i) => report.number[i]]];
  if (report.names) columns.push(["name", (i) => report.names[i]]);
  columns.push(["cluster", (i) => report.joined[i]], ["stray", (i) => Boolean(report.stray[i])]);
  if (report.confidence) columns.push(["confidence", (i) => report.confidence[i].toFixed(4)]);
  for (const one of report.annotations) columns.push([one.name, (i) => one.plainText(i)]);
  for (const one of report.columns) columns.push([one.name, (i) => one.plainText(i)]);
  const lines = [columns.map(([name]) => csvCell(name)).join(",")];
  for (const i of rows) lines.push(columns.map(([, cell]) => csvCell(cell(i))).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

/** Give the buttons their work. @param {TreeView} view */
function enableDownloads(view) {
  const { report, state } = view;
  const say = (words) => (byId("taken").textContent = words);
  const actions = {
    "get-svg": () => {
      const picture = drawFigure(view, (width, height) => new SvgContext(width, height)).text(report.title);
      download(fileName(report, ".svg"), new Blob([picture], { type: "image/svg+xml" }));
    },
    "get-png": () => {
      const canvas = document.createElement("canvas");
      drawFigureOn(view, canvas);
      canvas.toBlob((blob) => download(fileName(report, ".png"), blob), "image/png");
    },
    "get-newick": () => download(fileName(report, ".nwk"), new Blob([newick(view)], { type: "text/plain" })),
    "get-csv": () => {
      const rows = state.chosenRows;
      download(fileName(report, "-rows.csv"), new Blob(["\ufeff", csv(report, rows)], { type: "text/csv" }));
      say(`${many(rows.length, "row")} written.`);
    },
    "copy-link": async () => {
      rememberNow();
      try {
        await navigator.clipboard.writeText(location.href);
        say("The address of this view is copied.");
      } catch {
        say("The address of this view is in the address bar.");
      }
    },
    print: () => window.print(),
  };
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
  const name = () => {
    byId("get-csv").textContent = `${many(state.chosenRows.length, "row")} (CSV)`;
  };
  state.listen((changed) => {
    if (["selected", "row", "group", "cut", "strays", "tree"].some((one) => changed.has(one))) name();
  });
  name();
}
