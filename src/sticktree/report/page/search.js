// Finding a row by its name or number, with suggestions while one types.

const MOST_FOUND = 30;

class Search {
  /** @param {TreeView} view */
  constructor(view) {
    this.view = view;
    this.report = view.report;
    this.input = byId("search");
    this.list = byId("search-list");
    this.status = byId("search-status");
    this.found = [];
    this.current = -1;
    this.input.addEventListener("input", () => this.look());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
  }

  /** Begin anew with rows in another order. */
  forget() {
    this.lower = null;
    this.found = [];
    this.close();
  }

  /** Names in small letters, made when first needed. */
  get keys() {
    this.lower ??= Array.from({ length: this.report.nRows }, (_, i) =>
      this.report.rowName(i).toLocaleLowerCase()
    );
    return this.lower;
  }

  /** Rows whose number or name begins with the text, then those that have it inside. */
  matches(text) {
    const wanted = text.trim().toLocaleLowerCase();
    if (!wanted) return { rows: [], total: 0 };
    const groups = [[], [], []];
    let total = 0;
    this.keys.forEach((key, i) => {
      const whole = key === wanted || String(this.report.number[i]) === wanted;
      const place = whole ? 0 : key.indexOf(wanted);
      if (place < 0) return;
      total++;
      const group = groups[whole ? 0 : place === 0 ? 1 : 2];
      if (group.length < MOST_FOUND) group.push(i);
    });
    return { rows: groups.flat().slice(0, MOST_FOUND), total };
  }

  look() {
    const { rows, total } = this.matches(this.input.value);
    this.found = rows;
    this.current = -1;
    this.list.replaceChildren(
      ...rows.map((i, k) =>
        make(
          "li",
          { role: "option", id: `found-${k}`, "aria-selected": "false", click: () => this.choose(k) },
          isolated(this.report.rowName(i)),
          make("span", { class: "note" }, `row ${this.report.number[i]}, cluster ${this.report.joined[i]}`)
        )
      )
    );
    const open = rows.length > 0;
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
    this.input.removeAttribute("aria-activedescendant");
    const more = total > rows.length ? `, the first ${rows.length} are listed` : "";
    this.status.textContent = !this.input.value.trim()
      ? ""
      : total
        ? `${many(total, "row")} found${more}`
        : "No row has this name or number";
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  point(k) {
    this.current = k;
    [...this.list.children].forEach((item, j) => {
      item.setAttribute("aria-selected", String(j === k));
      if (j === k) item.scrollIntoView({ block: "nearest" });
    });
    this.input.setAttribute("aria-activedescendant", `found-${k}`);
  }

  choose(k) {
    const i = this.found[k];
    if (i === undefined) return;
    this.input.value = this.report.rowName(i);
    this.close();
    chooseRow(this.view, i);
    const { report } = this;
    const sure = report.confidence ? `, confidence ${report.confidence[i].toFixed(2)}` : "";
    this.status.textContent = `${report.rowName(i)}: cluster ${report.joined[i]}${sure}`;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const last = this.found.length - 1;
    if (event.key === "ArrowDown" && last >= 0) {
      this.list.hidden = false;
      this.input.setAttribute("aria-expanded", "true");
      this.point(this.current >= last ? 0 : this.current + 1);
    } else if (event.key === "ArrowUp" && last >= 0) {
      this.point(this.current <= 0 ? last : this.current - 1);
    } else if (event.key === "Enter") {
      this.choose(Math.max(this.current, 0));
    } else if (event.key === "Escape") {
      if (this.list.hidden) this.input.value = "";
      this.close();
    } else return;
    event.preventDefault();
  }
}
