// The functions, sorted by any column. A name marks its function in the graph.

const ROWS_AT_ONCE = 100;

class FunctionTable {
  // `mark(index)` is called with a function's index, or -1 to mark none.
  constructor(profile, elements, mark) {
    this.profile = profile;
    this.elements = elements;
    this.mark = mark;
    this.marked = -1;
    this.matches = null;
    this.limit = ROWS_AT_ONCE;
    const { functions } = profile;
    const count = (samples) => profile.samples[0] ? samples.toLocaleString("en") : "–";
    this.columns = [
      { title: "Self", value: (i) => functions.self[i], text: (i) => profile.weight(functions.self[i]) },
      { title: "Self %", value: (i) => functions.self[i], text: (i) => profile.percent(functions.self[i]) },
      { title: "Total", value: (i) => functions.total[i], text: (i) => profile.weight(functions.total[i]) },
      { title: "Total %", value: (i) => functions.total[i], text: (i) => profile.percent(functions.total[i]) },
      { title: "Self samples", value: (i) => functions.selfSamples[i], text: (i) => count(functions.selfSamples[i]) },
      { title: "Samples", value: (i) => functions.samples[i], text: (i) => count(functions.samples[i]) },
      { title: "Function", value: (i) => functions.shortName[i], isText: true },
      { title: "Module", value: (i) => this.moduleName(i), text: (i) => this.moduleName(i), isText: true },
      { title: "Source", value: (i) => profile.place(i, 0), text: (i) => profile.place(i, 0), isText: true },
    ];
    this.order = Uint32Array.from({ length: functions.count }, (_, i) => i);
    this.body = document.createElement("tbody");
    this.elements.table.append(this.head(), this.body);
    this.elements.more.addEventListener("click", () => {
      const shown = this.body.rows.length;
      this.limit *= 4;
      this.show();
      if (this.elements.more.hidden) { // and loses the focus
        this.body.rows[shown]?.querySelector("button").focus();
      }
    });
    this.sortBy(0);
  }

  moduleName(index) {
    return visible(this.profile.header.modules[this.profile.functions.module[index]][0]);
  }

  head() {
    const row = document.createElement("tr");
    this.columns.forEach((column, index) => {
      const cell = document.createElement("th");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = column.title;
      button.addEventListener("click", () => this.sortBy(index));
      cell.className = column.isText ? "text" : "";
      cell.scope = "col";
      cell.append(button);
      column.cell = cell;
      row.append(cell);
    });
    const head = document.createElement("thead");
    head.append(row);
    return head;
  }

  sortBy(index) {
    const { value, isText } = this.columns[index];
    this.isAscending = this.sorted === index ? !this.isAscending : Boolean(isText);
    this.sorted = index;
    const sign = this.isAscending ? 1 : -1;
    this.order.sort((a, b) => {
      const left = value(a);
      const right = value(b);
      return left < right ? -sign : left > right ? sign : a - b;
    });
    this.columns.forEach(({ cell }, i) => {
      if (i === index) {
        cell.setAttribute("aria-sort", this.isAscending ? "ascending" : "descending");
      } else {
        cell.removeAttribute("aria-sort");
      }
    });
    this.show();
  }

  // Only functions that match are listed; null: all of them.
  filter(matches) {
    this.matches = matches;
    this.limit = ROWS_AT_ONCE;
    this.show();
  }

  // Lists all functions, and behind those that there is room for the marked one. -1: none is marked.
  setMarked(index) {
    this.marked = index;
    this.matches = null;
    this.show();
  }

  show() {
    const rows = [];
    let found = 0;
    for (const index of this.order) {
      if (this.matches === null || this.matches.functions[index]) {
        if (++found <= this.limit || index === this.marked) {
          rows.push(this.row(index));
        }
      }
    }
    const focused = this.body.contains(document.activeElement) ? document.activeElement.value : "";
    this.body.replaceChildren(...rows);
    if (focused !== "") {
      this.body.querySelector(`button[value="${focused}"]`)?.focus();
    }
    this.elements.more.hidden = found <= this.limit;
    this.elements.shown.textContent = `${rows.length.toLocaleString("en")} of ${found.toLocaleString("en")} functions`;
  }

  row(index) {
    const row = document.createElement("tr");
    row.className = index === this.marked ? "marked" : "";
    for (const column of this.columns) {
      const cell = document.createElement("td");
      if (column.text) {
        cell.textContent = column.text(index);
        cell.className = column.isText ? "text" : "";
        cell.title = column.isText ? cell.textContent : "";
      } else {
        this.fillName(cell, index);
      }
      row.append(cell);
    }
    return row;
  }

  fillName(cell, index) {
    const { name, shortName, kind, module } = this.profile.functions;
    const swatch = document.createElement("i");
    swatch.className = "swatch";
    swatch.style.background = kindColor(kind[index], module[index]);
    swatch.title = this.profile.header.kinds[kind[index]];
    const button = document.createElement("button");
    button.type = "button";
    button.value = index;
    button.textContent = shortName[index];
    button.setAttribute("aria-pressed", String(index === this.marked));
    button.addEventListener("click", () => this.mark(index === this.marked ? -1 : index));
    cell.className = "text name";
    cell.title = name[index];
    const line = document.createElement("div");
    line.append(swatch, button);
    cell.append(line);
  }
}
