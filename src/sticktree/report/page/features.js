// Columns of a node or a row: what they are, and how unusual that is.

const FEATURES_FIRST = 8;
const FEATURES_SPARED = 3; // more that are shown without asking, for a button is no shorter
const WIDEST = 3; // standard deviations that fill a bar

/** A bar to the left or the right of the middle, for this many standard deviations. */
function sdBar(sds) {
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  if (Number.isNaN(sds)) return bar;
  const part = Math.min(Math.abs(sds) / WIDEST, 1) * 50;
  const inner = make("span", { class: sds < 0 ? "less" : "more" });
  inner.style.width = `${part}%`;
  inner.style[sds < 0 ? "right" : "left"] = "50%";
  bar.append(inner);
  return bar;
}

/**
 * A table of columns, the first few until more are asked for.
 * @param {string} caption
 * @param {{column: Column, text: string, note: string, sds: number}[]} lines
 */
function featureTable(caption, lines) {
  const body = make("tbody");
  const add = (line) =>
    body.append(
      make(
        "tr",
        {},
        make("th", { scope: "row" }, isolated(line.column.name)),
        make("td", { class: "number" }, isolated(line.text)),
        make("td", { class: "away" }, sdBar(line.sds), make("span", { class: "note" }, line.note))
      )
    );
  const first = lines.length <= FEATURES_FIRST + FEATURES_SPARED ? lines.length : FEATURES_FIRST;
  lines.slice(0, first).forEach(add);
  const table = make("table", { class: "features" }, make("caption", {}, caption), body);
  if (lines.length === first) return [table];
  const more = make(
    "button",
    {
      type: "button",
      class: "show-all",
      click: () => {
        lines.slice(first).forEach(add);
        more.remove();
      },
    },
    `Show all ${lines.length} columns`
  );
  return [table, more];
}

/** The columns of one row, most unusual first. */
function rowFeatures(report, i) {
  return report.features(i, i + 1).map((line) => ({
    ...line,
    text: line.column.text(i),
    note: line.column.categories ? (Number.isNaN(line.sds) ? "" : line.note) : line.note,
  }));
}

/** How the rows of a range are spread over groups, as bars. @param {Categories} colouring */
function shareBars(colouring, start, end) {
  const counts = new Map();
  for (let i = start; i < end; i++) {
    const k = colouring.codes[i];
    counts.set(k, (counts.get(k) ?? 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const list = make("ul", { class: "classes" });
  for (const [k, count] of sorted.slice(0, 8)) {
    const share = count / (end - start);
    const bar = make("span", { class: "share", "aria-hidden": "true" });
    bar.style.width = `${Math.max(100 * share, 1)}%`;
    paint(bar, k < 0 ? -1 : colouring.slots[k]);
    list.append(
      make(
        "li",
        {},
        make("span", { class: "share-box" }, bar),
        isolated(colouring.nameOf(k)),
        make("span", { class: "note" }, ` ${WHOLE.format(count)} (${formatShare(share)})`)
      )
    );
  }
  if (sorted.length > 8) list.append(make("li", {}, `and ${sorted.length - 8} more`));
  return list;
}
