// A few words beside the pointer; the details have the rest.

/** @param {TreeView} view @param {Object} seen what is under the pointer @param {?{x: number, y: number}} at */
function showTip(view, seen, at) {
  const tip = byId("tip");
  const lines = at ? tipLines(view, seen) : [];
  tip.hidden = !lines.length;
  if (!lines.length) return;
  const [first, ...others] = lines;
  tip.replaceChildren(make("strong", {}, ...first), ...others.map((line) => make("span", {}, ...line)));
  const right = at.x > view.width / 2;
  tip.style.left = right ? "auto" : `${at.x + 14}px`;
  tip.style.right = right ? `${view.width - at.x + 14}px` : "auto";
  tip.style.top = `${Math.max(0, Math.min(at.y + 12, view.height - 120))}px`;
}

/** What is said of something, a line each. */
function tipLines(view, seen) {
  const { heat, report } = view;
  if (seen.join) return joinLines(view, seen.join);
  if (seen.row < 0 && seen.column >= 0) {
    const column = report.columns[heat.order[seen.column]];
    return [[isolated(column.name)], [column.kind], ["Click to colour by it"]];
  }
  if (seen.column >= 0) return cellLines(view, seen);
  if (seen.track) {
    return [
      [isolated(report.rowName(seen.row))],
      [isolated(seen.track.title), ": ", isolated(seen.track.rowText(seen.row))],
      ...(seen.track.by === "label" && report.stray[seen.row] ? [["a stray, apart from its cluster"]] : []),
    ];
  }
  return seen.node < 0 ? [] : nodeLines(view, seen.node);
}

function joinLines({ report, heat }, { from, to }) {
  const names = Array.from(heat.order.subarray(from, Math.min(to, from + 6)), (d) => report.columns[d].name);
  const more = to - from - names.length;
  return [
    [`${many(to - from, "column")} that go together`],
    [isolated(names.join(", ")), more > 0 ? ` and ${more} more` : ""],
    ["Click to see them alone"],
  ];
}

/** A cell, or the mean of as many rows as are under the pointer. */
function cellLines(view, { row, column: k }) {
  const { report, heat } = view;
  const column = report.columns[heat.order[k]];
  const thin = Math.max(1, Math.round(1 / view.rowHeight));
  const end = Math.min(report.nRows, row + thin);
  if (thin > 1 && !column.categories) {
    const mean = column.meanOf(row, end);
    const said = Number.isNaN(mean) ? "missing" : `mean ${column.written(mean, 4)}`;
    return [[isolated(column.name)], [`${many(end - row, "row")} here: ${said}`]];
  }
  const score = column.categories ? NaN : column.score(row, row + 1);
  const away = Number.isNaN(score) ? "" : ` (${formatSds(score)}${SCALE_WORDS[column.heat]})`;
  return [
    [isolated(report.rowName(row))],
    [isolated(column.name), ": ", isolated(column.text(row)), away],
    [report.label[row] < 0 ? "stray" : `cluster ${report.label[row]}`],
  ];
}

function nodeLines({ report, state }, node) {
  const facts = [];
  if (report.count[node] > 1) {
    for (const { name, value } of report.supportsOf(node)) facts.push(`${name.toLowerCase()} ${value.toFixed(2)}`);
  }
  if (report.hasChildren[node]) facts.push(`parts ${report.parting(node).join(" ")}`);
  const lines = report.features(report.start[node], report.start[node] + report.count[node]);
  return [
    [isolated(report.nodeName(node))],
    ...(facts.length ? [[facts.join(", ")]] : []),
    [isolated(state.colouring.spoken(node))],
    ...lines.slice(0, 3).map((line) => [isolated(line.column.name), ` ${line.text} (${line.note || "–"})`]),
  ];
}
