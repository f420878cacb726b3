"use strict";

(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  root.classList.add("js");

  // Light or dark: the reader's system says, until a click says otherwise.
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const themeButton = byId("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const nameTheme = () => {
    themeButton.textContent = isDark() ? "Light" : "Dark";
    themeButton.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
  };
  themeButton.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  system.addEventListener("change", nameTheme);
  nameTheme();

  const table = document.querySelector("table.terms");
  const body = table.tBodies[0];
  const rows = () => Array.from(body.rows);
  const plural = (count) => `${count} ${count === 1 ? "term" : "terms"}`;
  // The rest of a function has a row and is no term.
  const terms = () => rows().filter((row) => !("rest" in row.dataset));

  // Terms with a plot, in the order of the table, without those that the search leaves out.
  const buttonOf = (row) => row.querySelector("button.show");
  const open = () => rows().filter((row) => !row.hidden && buttonOf(row));
  const articles = Array.from(document.querySelectorAll(".effect"));
  const steps = { previous: byId("previous"), next: byId("next") };
  const position = byId("position");
  let current = null;

  const place = () => {
    const choices = open();
    const index = choices.indexOf(current);
    steps.previous.disabled = choices.length === 0 || index === 0;
    steps.next.disabled = choices.length === 0 || index === choices.length - 1;
    position.textContent = index < 0 ? "" : `${index + 1} of ${choices.length} plots`;
  };

  const show = (row) => {
    if (current) current.removeAttribute("aria-current");
    current = row;
    current.setAttribute("aria-current", "true");
    const chosen = buttonOf(row).getAttribute("aria-controls");
    for (const article of articles) article.hidden = article.id !== chosen;
    place();
  };

  const step = (by) => {
    const choices = open();
    if (!choices.length) return null;
    const index = choices.indexOf(current);
    const target = index < 0 ? 0 : Math.min(Math.max(index + by, 0), choices.length - 1);
    show(choices[target]);
    return choices[target];
  };

  // The row is moved into sight within its list only: the page stays where it is.
  const reveal = (row) => {
    const frame = row.closest(".scroll");
    const inner = row.getBoundingClientRect();
    const outer = frame.getBoundingClientRect();
    const head = table.tHead.getBoundingClientRect().height;
    if (inner.top < outer.top + head) frame.scrollTop -= outer.top + head - inner.top;
    else if (inner.bottom > outer.bottom) frame.scrollTop += inner.bottom - outer.bottom + 2;
  };

  const stepTo = (by) => {
    const row = step(by);
    if (row) reveal(row);
    return row;
  };

  steps.previous.addEventListener("click", () => stepTo(-1));
  steps.next.addEventListener("click", () => stepTo(1));

  body.addEventListener("click", (event) => {
    const button = event.target.closest("button.show");
    if (!button) return;
    show(button.closest("tr"));
    byId("viewer").scrollIntoView({ block: "nearest" });
  });

  const arrows = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1 };
  body.addEventListener("keydown", (event) => {
    const button = event.target.closest("button.show");
    if (!button || !(event.key in arrows)) return;
    event.preventDefault();
    current = button.closest("tr") === current ? current : (show(button.closest("tr")), current);
    const row = stepTo(arrows[event.key]);
    if (row) buttonOf(row).focus({ preventScroll: true });
  });
  byId("viewer").addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      stepTo(arrows[event.key]);
    }
  });

  // Sorting: a second click turns the order around.
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const compare = {
    term: (a, b) => collator.compare(a.dataset.term, b.dataset.term),
    variables: (a, b) => a.dataset.variables - b.dataset.variables,
    spread: (a, b) => a.dataset.spread - b.dataset.spread,
    second: (a, b) => a.dataset.second - b.dataset.second,
    sign: (a, b) => a.dataset.sign - b.dataset.sign,
    sure: (a, b) => a.dataset.sure - b.dataset.sure,
  };
  const matches = byId("matches");
  const heads = Array.from(table.tHead.querySelectorAll("th"));
  for (const head of heads) {
    const button = head.querySelector("button");
    button.addEventListener("click", () => {
      const key = button.dataset.key;
      const was = head.getAttribute("aria-sort");
      const first = key === "term" || key === "variables" ? "ascending" : "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = was === first ? other : first;
      for (const one of heads) one.setAttribute("aria-sort", one === head ? order : "none");
      const factor = order === "ascending" ? 1 : -1;
      body.append(...rows().sort((a, b) => factor * compare[key](a, b)));
      place();
      matches.textContent = `Sorted by ${button.textContent.toLowerCase()}, ${order}`;
    });
  }

  // Search: every word must be in the name of a term.
  const search = byId("search");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows()) {
      const name = row.dataset.term.toLowerCase();
      row.hidden = !words.every((word) => name.includes(word));
    }
    const found = terms().filter((row) => !row.hidden).length;
    matches.textContent = words.length
      ? `${found} of ${plural(terms().length)} ${found === 1 ? "matches" : "match"}`
      : plural(terms().length);
    place();
  });
  matches.textContent = plural(terms().length);

  // Copying; without a clipboard the text is selected, ready for the keyboard.
  byId("copy").addEventListener("click", async () => {
    const code = document.querySelector("#settings code");
    let done = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      const selection = window.getSelection();
      selection.selectAllChildren(code);
      done = document.execCommand("copy");
    }
    byId("copied").textContent = done ? "Copied." : "Selected; press Ctrl+C to copy.";
    byId("copy").textContent = done ? "Copied" : "Selected";
    window.setTimeout(() => { byId("copy").textContent = "Copy"; }, 2000);
  });

  const first = open()[0];
  if (first) show(first);
  else byId("viewer").querySelector(".steps").hidden = true;
})();
