// What makes each cluster: its colour in the caption, effects as bars beside their numbers.

function drawMarkers() {
  for (const table of document.querySelectorAll("table[id^='markers-']")) {
    table.caption.prepend(swatch(Number(table.id.slice("markers-".length))));
    for (const line of table.tBodies[0].rows) {
      const cell = line.cells[3];
      const text = cell.textContent.replace("−", "-").replace("∞", "Infinity");
      cell.prepend(sdBar(parseFloat(text)));
    }
  }
}
