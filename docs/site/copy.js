// A button that copies a block of code; of a session, only what is typed.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight:has(> pre:not(.pinned))")) {
    const button = Object.assign(document.createElement("button"), { className: "copy", textContent: "copy" });
    button.addEventListener("click", async () => {
      const lines = block.querySelector("pre").innerText.trimEnd().split("\n");
      const typed = lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line)).map((line) => line.slice(4));
      await navigator.clipboard.writeText((typed.length ? typed : lines).join("\n") + "\n");
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
    block.append(button);
  }
});
