// Tooltips of tokens and chart marks, the panel, sorting and the theme. Text that comes from a model or
// a corpus is always set as text, never as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const decks = JSON.parse(byId("cards").textContent);
  const tip = byId("tip");
  const panel = byId("panel");
  let opener = null;

  const make = (name, text, parent) => {
    const element = document.createElement(name);
    if (text !== null) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  const cardOf = (chip) => {
    const model = chip.closest("[data-model]");
    return model ? decks[Number(model.dataset.model)].cards[chip.dataset.id] : undefined;
  };

  const facts = (rows, parent) => {
    const list = make("dl", null, parent);
    for (const [label, value] of rows) {
      make("dt", label, list);
      const shown = make("dd", value, list);
      shown.dir = "auto";
      if (label === "text" || label === "token" || label === "bytes") shown.className = "mono";
    }
  };

  // The tooltip --------------------------------------------------------------
  let pointed = null;
  const place = () => {
    if (tip.hidden || !pointed) return;
    const at = pointed.getClientRects()[0] || pointed.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left), innerWidth - own.width - 8);
    const below = at.bottom + 8;
    const fits = below + own.height < innerHeight - 4;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${fits ? below : Math.max(4, at.top - own.height - 8)}px`;
  };
  const showTip = (target, fill) => {
    tip.replaceChildren();
    fill(tip);
    tip.hidden = false;
    pointed = target;
    place();
  };
  const hideTip = () => {
    tip.hidden = true;
    pointed = null;
    for (const chip of document.querySelectorAll('[aria-describedby="tip"]')) {
      chip.removeAttribute("aria-describedby");
    }
  };
  const pointAt = (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const chip = target && target.closest("button.chip");
    if (chip) {
      const card = cardOf(chip);
      hideTip();
      if (!card) return;
      showTip(chip, (parent) => facts(card.facts, parent));
      chip.setAttribute("aria-describedby", "tip");
      return;
    }
    const mark = target && target.closest("[data-tip]");
    if (mark) showTip(mark, (parent) => { make("div", mark.dataset.tip, parent).dir = "auto"; });
    else hideTip();
  };
  document.addEventListener("mouseover", pointAt);
  document.addEventListener("focusin", pointAt);
  // Focusing can scroll the page; the tooltip moves with its target.
  document.addEventListener("scroll", place, { passive: true, capture: true });
  addEventListener("resize", place);
  document.documentElement.addEventListener("mouseleave", hideTip);

  // The panel ----------------------------------------------------------------
  const drawTree = (rows, parent) => {
    const lists = [make("ul", null, parent)];
    lists[0].className = "tree";
    let item = null;
    for (const [depth, token, said] of rows) {
      lists.length = depth + 1 > lists.length ? lists.length : depth + 1;
      if (depth === lists.length) lists.push(make("ul", null, item));
      item = make("li", null, lists[depth]);
      make("code", token, item).dir = "auto";
      make("small", said, item);
    }
  };
  const close = () => {
    if (panel.hidden) return;
    panel.hidden = true;
    if (opener) {
      opener.removeAttribute("aria-expanded");
      opener.focus({ preventScroll: true });
    }
    opener = null;
    hideTip();
  };
  const open = (chip) => {
    const card = cardOf(chip);
    if (!card) return;
    if (opener) opener.removeAttribute("aria-expanded");
    opener = chip;
    chip.setAttribute("aria-expanded", "true");
    hideTip();
    byId("panel-title").textContent = card.title;
    const body = byId("panel-body");
    body.replaceChildren();
    facts([["model", decks[Number(chip.closest("[data-model]").dataset.model)].model],
      ...card.facts, ...card.more], body);
    for (const note of card.notes) make("p", note, body).dir = "auto";
    if (card.tree.length) {
      make("h3", "How merges made it", body);
      drawTree(card.tree, body);
    }
    panel.hidden = false;
    panel.scrollTop = 0;
    byId("panel-title").focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const chip = target && target.closest("button.chip");
    if (chip) open(chip);
    else if (target && !target.closest("#panel")) close();
  });
  byId("close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (tip.hidden) close();
      else { hideTip(); if (!panel.hidden) close(); }
    }
  });

  // Rows of tokens: one tab stop, arrow keys inside -----------------------------
  for (const row of document.querySelectorAll(".chips")) {
    row.querySelectorAll("button.chip").forEach((chip, place) => { chip.tabIndex = place ? -1 : 0; });
  }
  document.addEventListener("keydown", (event) => {
    const row = event.target instanceof Element && event.target.closest(".chips");
    if (!row) return;
    const chips = [...row.querySelectorAll("button.chip")];
    const place = chips.indexOf(document.activeElement);
    const forward = getComputedStyle(row).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const back = forward === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
    const places = { [forward]: place + 1, [back]: place - 1, Home: 0, End: chips.length - 1 };
    if (place < 0 || !(event.key in places)) return;
    event.preventDefault();
    const next = chips[Math.min(chips.length - 1, Math.max(0, places[event.key]))];
    chips[place].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  // Sortable tables: both directions, then the original order ---------------------
  const valueOf = (cell) => {
    const input = cell.querySelector("input");
    return (input ? input.value : cell.innerText).trim();
  };
  // Cells without a number come last, in both directions.
  const compared = (one, two, sign) => {
    const [a, b] = [one, two].map((value) => parseFloat(value.replace(/[<,]/g, "")));
    if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
    return sign * (Number.isNaN(a) ? one.localeCompare(two) : a - b);
  };
  const before = new WeakMap();
  const sorter = (head, others, first, sort) => {
    const button = make("button", null, null);
    button.type = "button";
    button.className = "sorter";
    button.append(...[...head.childNodes].filter((node) => node.nodeName !== "SMALL"));
    head.prepend(button);
    const second = first === "ascending" ? "descending" : "ascending";
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const next = { [first]: second, [second]: null }[now];
      for (const other of others) other.removeAttribute("aria-sort");
      if (next !== null) head.setAttribute("aria-sort", next || first);
      sort(next === null ? null : (next || first) === "ascending" ? 1 : -1);
    });
  };
  const order = (cells, sign) => cells.map((cell, place) => [valueOf(cell), place])
    .sort(([one, a], [two, b]) => compared(one, two, sign) || a - b).map(([, place]) => place);
  for (const table of document.querySelectorAll("table.sorts")) {
    const [body] = table.tBodies, heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => sorter(head, heads, "ascending", (sign) => {
      if (!before.has(body)) before.set(body, [...body.rows]);
      const rows = before.get(body);
      body.append(...(sign ? order(rows.map((row) => row.cells[column]), sign).map((place) => rows[place]) : rows));
    }));
  }
  // In the table of metrics the models are columns, and sorting by a row reorders them.
  for (const table of document.querySelectorAll("table.metrics")) {
    const width = table.tHead.rows[0].cells.length;
    const rows = [...table.rows].filter((row) => row.cells.length === width).map((row) => [...row.cells]);
    const heads = rows.slice(1).map(([head]) => head);
    if (width > 2) rows.slice(1).forEach(([head, ...cells]) => {
      const first = head.querySelector(".arrow").textContent === "↑" ? "descending" : "ascending";
      sorter(head, heads, first, (sign) => {
        const places = sign ? order(cells, sign) : cells.keys();
        for (const place of places) for (const row of rows) row[0].parentNode.append(row[place + 1]);
      });
    });
  }

  // The section in view is marked in the navigation -----------------------------------
  const entries = new Map([...document.querySelectorAll("nav a")].map((link) => [byId(link.hash.slice(1)), link]));
  const seen = new Set();
  const watcher = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) seen[isIntersecting ? "add" : "delete"](target);
    const now = [...entries.keys()].find((section) => seen.has(section));
    for (const [section, link] of entries) {
      if (section === now) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-25% 0px -70% 0px" });
  for (const section of entries.keys()) watcher.observe(section);

  // A frame is a tab stop and a region only if its content scrolls.
  const fitter = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const frame = target.closest(".scroll");
      const scrolls = frame.scrollWidth > frame.clientWidth || frame.scrollHeight > frame.clientHeight;
      for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", frame.firstChild.getAttribute("aria-label")]]) {
        if (scrolls) frame.setAttribute(name, value);
        else frame.removeAttribute(name);
      }
    }
  });
  for (const frame of document.querySelectorAll(".scroll")) {
    fitter.observe(frame);
    fitter.observe(frame.firstChild);
  }

  for (const hidden of document.querySelectorAll(".needs-script")) hidden.hidden = false;

  // The theme ------------------------------------------------------------------
  const themes = ["auto", "light", "dark"];
  const button = byId("theme");
  let theme = "auto";
  try { theme = localStorage.getItem("tokctl-theme") || "auto"; } catch { /* storage is blocked */ }
  const wear = (name) => {
    theme = themes.includes(name) ? name : "auto";
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  wear(theme);
  button.hidden = false;
  button.addEventListener("click", () => {
    wear(themes[(themes.indexOf(theme) + 1) % themes.length]);
    try { localStorage.setItem("tokctl-theme", theme); } catch { /* storage is blocked */ }
  });
})();
