// What sets clusters of any cut apart: each against all other rows, from the rows on this page.

/**
 * @typedef {Object} Effect
 * @property {Column} column
 * @property {string} name with the category, if it is one
 * @property {string} inside
 * @property {string} outside
 * @property {number} effect in standard deviations within, of shares Cohen's h
 */

/** The effects of every cluster, the largest first. @param {Report} report @returns {Effect[][]} */
function effectsOf(report) {
  const found = Array.from({ length: report.nLabels }, () => []);
  for (const column of report.columns) {
    const each = column.categories ? effectsOfCategories(report, column) : effectsOfNumbers(report, column);
    each.forEach((effect, k) => effect && found[k].push({ column, ...effect }));
  }
  for (const effects of found) effects.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  return found;
}

/** Differences of means over the standard deviation within, of the rows inside and outside. */
function effectsOfNumbers(report, column) {
  const { joined, nLabels } = report;
  column.prepare();
  const n = new Float64Array(nLabels);
  const sum = new Float64Array(nLabels);
  const squares = new Float64Array(nLabels);
  joined.forEach((k, i) => {
    const v = column.stored[i] - column.mean; // so that squares lose no digits
    if (Number.isNaN(v)) return;
    n[k]++;
    sum[k] += v;
    squares[k] += v * v;
  });
  const [allN, allSum, allSquares] = [n, sum, squares].map((part) => part.reduce((a, b) => a + b, 0));
  return Array.from(n, (inside, k) => {
    const outside = allN - inside;
    if (!inside || !outside) return null;
    const [a, b] = [sum[k] / inside, (allSum - sum[k]) / outside];
    const within = squares[k] - inside * a * a + (allSquares - squares[k]) - outside * b * b;
    const sd = Math.sqrt(Math.max(within, 0) / allN);
    const written = (v) => column.written(column.centre + column.scale * (column.mean + v), 4);
    const effect = sd > 1e-7 * column.sd ? (a - b) / sd : Math.abs(a - b) > 1e-6 * column.sd ? Math.sign(a - b) * Infinity : 0;
    return { name: column.name, inside: written(a), outside: written(b), effect };
  });
}

/** The category that is more frequent by most, by Cohen's h. */
function effectsOfCategories(report, column) {
  const { joined, nLabels } = report;
  const size = column.categories.length;
  const counts = Array.from({ length: nLabels }, () => new Float64Array(size));
  const all = new Float64Array(size);
  joined.forEach((k, i) => {
    const c = column.stored[i];
    if (Number.isNaN(c)) return;
    counts[k][c]++;
    all[c]++;
  });
  const total = all.reduce((a, b) => a + b, 0);
  return counts.map((here) => {
    const inside = here.reduce((a, b) => a + b, 0);
    if (!inside || inside === total) return null;
    let best = null;
    for (let c = 0; c < size; c++) {
      const [p, q] = [here[c] / inside, (all[c] - here[c]) / (total - inside)];
      const effect = 2 * (Math.asin(Math.sqrt(p)) - Math.asin(Math.sqrt(q)));
      if (!best || effect > best.effect) {
        best = { name: `${column.name} = ${column.categories[c]}`, inside: formatShare(p), outside: formatShare(q), effect };
      }
    }
    return best;
  });
}

/** An effect with its sign. */
function formatEffect(effect) {
  const size = Math.abs(effect) < 0.05 ? "0.0" : Number.isFinite(effect) ? Math.abs(effect).toFixed(1) : "∞";
  return `${effect < 0 && size !== "0.0" ? "−" : "+"}${size}`;
}
