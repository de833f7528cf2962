// Opens pages one after the other in a frame, and writes what it finds into the document, as JSON.
async function visit(plan) {
  const found = [];
  for (const [page, width, theme, audited] of plan.visits) {
    const frame = document.createElement("iframe");
    frame.style = `width:${width}px;height:844px;border:0`;
    const loaded = new Promise((done) => (frame.onload = done));
    frame.src = page;
    document.body.append(frame);
    await loaded;
    const view = frame.contentWindow, inner = view.document;
    inner.body.dataset.theme = theme;
    const root = inner.documentElement;
    const row = { page, width, theme, over: root.scrollWidth - root.clientWidth, violations: [] };
    if (audited) {
      const script = inner.createElement("script");
      script.textContent = plan.axe;
      inner.head.append(script);
      const levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
      const report = await view.axe.run(inner, { runOnly: levels, resultTypes: ["violations"] });
      row.violations = report.violations.map((one) => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 300), one.nodes[0].failureSummary.slice(0,300)]);
    }
    found.push(row);
    frame.remove();
  }
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify(found);
  document.body.append(answer);
}
