"use strict";
for (const frame of document.querySelectorAll("[data-filter]")) {
  const body = frame.querySelector("tbody"), rows = [...body.rows];
  const tools = document.createElement("div"), label = document.createElement("label");
  const input = document.createElement("input"), shown = document.createElement("span");
  tools.className = "tools";
  label.append("Show rows with ", input);
  input.type = "search";
  shown.setAttribute("role", "status");
  tools.append(label, shown);
  frame.before(tools);
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length} rows`;
  };
  input.addEventListener("input", filter);
  filter();
  [...frame.querySelectorAll("thead th")].forEach((head, column) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const key = (row) => row.cells[column].dataset.key ?? row.cells[column].textContent;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true });
      const numeric = rows.every((row) => row.cells[column].dataset.key && !isNaN(key(row)));
      rows.sort(numeric ? (a, b) => key(a) - key(b) : order);
      if (!up) rows.reverse();
      body.append(...rows);
    });
  });
}
for (const graph of document.querySelectorAll(".graph")) {
  const nodes = [...graph.querySelectorAll(".node")], edges = [...graph.querySelectorAll(".edge")];
  const pick = (name) => {
    const lit = new Set([name]);
    for (const edge of edges) {
      const near = edge.dataset.from === name || edge.dataset.to === name;
      edge.classList.toggle("lit", near);
      if (near) lit.add(edge.dataset.from).add(edge.dataset.to);
    }
    for (const node of nodes) node.classList.toggle("lit", lit.has(node.dataset.name));
    graph.classList.toggle("picked", name !== null);
  };
  for (const node of nodes) {
    for (const event of ["mouseenter", "focusin"]) node.addEventListener(event, () => pick(node.dataset.name));
    for (const event of ["mouseleave", "focusout"]) node.addEventListener(event, () => pick(null));
  }
}
document.documentElement.dataset.script = "ready";
