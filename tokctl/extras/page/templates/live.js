// The text box: shows how every model splits the reader's text. `segment.js` does the splitting.
(() => {
  const source = document.getElementById("live");
  if (!source) return;
  const byId = (id) => document.getElementById(id);
  const page = JSON.parse(source.textContent);
  const text = byId("try-text"), special = byId("try-special"), showIds = byId("try-ids");
  const link = byId("try-link"), said = byId("try-said"), replay = byId("try-replay");
  // Most tokens drawn per model; most steps drawn per word.
  const MOST = 300, MOST_STEPS = 40;
  const FRAGMENT = "#try=";

  const make = (name, content, parent, className) => {
    const element = document.createElement(name);
    if (content !== null) element.textContent = content;
    if (className) element.className = className;
    if (parent) parent.append(element);
    return element;
  };
  const format = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
  const number = (value) => format.format(value);

  // Escapes characters that can't be seen or would turn the line around.
  const spelled = (char) => {
    if (char === " ") return "␣";
    if (char === "\n") return "⏎";
    if (!/[\p{C}\p{Z}]/u.test(char)) return char;
    const code = char.codePointAt(0).toString(16);
    return code.length < 3 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
  };
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const labelOf = (model, id) => {
    let token = model.tokens[id];
    if (model.isBytes) {
      const bytes = Uint8Array.from(token, (char) => char.charCodeAt(0));
      try { token = decoder.decode(bytes); } catch {
        return [...bytes].map((byte) => (
          byte > 126 ? `\\x${byte.toString(16)}` : spelled(String.fromCharCode(byte)))).join("");
      }
    }
    const label = [...token.slice(0, 120)].map(spelled).join("");
    return /^\p{M}/u.test(label) ? `\u25cc${label}` : label;
  };
  // Removed tokens have numbers after those of the vocabulary.
  const nameOf = (model, id) => (id < 0 ? "no token" : id < model.tokens.length ? labelOf(model, id) : `removed ${id}`);
  const isRightToLeft = (given) => /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u.test(given);

  // Rows -----------------------------------------------------------------------
  const rows = [];
  const chipOf = (row, id) => {
    const { model } = row;
    if (!row.labels.has(id)) row.labels.set(id, id < 0 ? "no token" : labelOf(model, id));
    const kind = model.special.has(id) ? " special" : "";
    const chip = make("button", null, null, `chip${kind}${id < 0 || id === model.unk ? " none" : ""}`);
    chip.type = "button";
    chip.dir = "auto";
    chip.tabIndex = -1;
    make("span", row.labels.get(id), chip);
    make("small", String(id), chip, "id");
    return chip;
  };
  // Every write causes a new layout, even of an equal value, so equal values are not written.
  const put = (element, property, value) => { if (element[property] !== value) element[property] = value; };
  const drawRow = (row, given) => {
    row.parts = row.model.encode(given, special.checked);
    const tokens = [], places = [];
    row.parts.forEach(({ ids }, part) => {
      for (const id of ids) { tokens.push(id); places.push(part); }
    });
    const count = tokens.length;
    // Chips that are unchanged at either end of the row stay.
    const { tokens: old, chips } = row, shorter = Math.min(old.length, count);
    let first = 0, last = 0;
    while (first < shorter && old[first] === tokens[first]) first += 1;
    while (last < shorter - first && old[old.length - 1 - last] === tokens[count - 1 - last]) last += 1;
    const insert = (place, ids) => {
      if (!ids.length) return;
      const fresh = ids.map((id) => chipOf(row, id)), fragment = document.createDocumentFragment();
      fragment.append(...fresh);
      row.line.insertBefore(fragment, chips[place] ?? row.more);
      chips.splice(place, 0, ...fresh);
    };
    if (first < MOST) {
      for (const chip of chips.splice(first, old.length - last - first)) chip.remove();
      insert(first, tokens.slice(first, Math.min(count - last, MOST)));
      for (const chip of chips.splice(MOST)) chip.remove();
      insert(chips.length, tokens.slice(chips.length, MOST));
    }
    if (chips.length && !chips.some((chip) => chip === document.activeElement)) put(chips[0], "tabIndex", 0);
    row.tokens = tokens;
    row.places = places;
    row.count = count;
    const refused = row.parts.some(({ ids }) => ids.includes(-1));
    put(row.more, "textContent", (count > MOST ? ` … ${number(count - MOST)} more` : "") +
      (refused ? " The model lacks a token for a part of this text, and tokctl refuses it." : ""));
    put(row.line, "dir", isRightToLeft(given) ? "rtl" : "ltr");
  };
  const costs = (row, characters) => {
    const each = characters ? row.count / characters : 0;
    const price = row.price.valueAsNumber;
    const show = (cell, text) => put(row.cells[cell].firstChild, "data", text);
    show("tokens", number(row.count));
    show("each", characters ? number(1000 * each) : "–");
    show("length", row.count ? number(characters / row.count) : "–");
    show("cost", characters && price >= 0
      ? (price * each / 1000).toLocaleString("en-US", { maximumSignificantDigits: 4 }) : "–");
  };
  const measure = () => {
    let characters = 0;
    for (const _ of text.value) characters += 1;
    for (const row of rows) costs(row, characters);
    return characters;
  };

  let later = 0;
  const draw = () => {
    const given = text.value;
    for (const row of rows) drawRow(row, given);
    const characters = measure();
    clearTimeout(later);
    // Counts are announced once the reader pauses, not at each key.
    later = setTimeout(() => {
      const counts = rows.map(({ model, count }) => `${model.name} ${number(count)}`);
      for (const { line, model, count } of rows) line.setAttribute("aria-label", `${model.name}, ${number(count)} tokens`);
      said.textContent = `${number(characters)} characters. Tokens: ${counts.join(", ") || "none"}.`;
    }, 250);
  };
  // The link is made only when the reader is about to use it.
  const carry = () => {
    const given = text.value;
    link.href = FRAGMENT + encodeURIComponent(given.toWellFormed ? given.toWellFormed() : given);
  };

  // How a word was split ------------------------------------------------------------
  const stepText = (model, step) => {
    const isRanked = model.segmentation === "ranks";
    if (step.pair) {
      const [left, right] = step.pair.map((id) => nameOf(model, id));
      return `${isRanked ? `rank ${number(step.rank)}` : `merge ${number(step.rank + 1)}`}: ${left} + ${right}`;
    }
    if (step.removed !== undefined) return `${nameOf(model, step.removed)} is no token any more`;
    if (step.rest !== undefined && step.token !== model.unk && step.token >= 0) {
      return model.segmentation === "lookup" ? "it is a token as a whole"
        : `the longest token here; rest: ${[...step.rest].map(spelled).join("") || "none"}`;
    }
    if (step.rest !== undefined) return "no token matches";
    return step.token === undefined ? "symbols" : "it is a token as a whole";
  };
  const explain = (row, place) => {
    const { model } = row, { part, ids, joined: words } = row.parts[place];
    replay.replaceChildren();
    for (const { chips } of rows) for (const chip of chips) chip.classList.remove("mate");
    row.chips.forEach((chip, at) => { if (row.places[at] === place) chip.classList.add("mate"); });
    if (part === null) {
      const [id] = ids;
      make("p", `${labelOf(model, id)} is id ${id} of ${model.name}: it is found before anything is split, or put around the text.`, replay).dir = "auto";
      return;
    }
    const shown = [...part.slice(0, 60)].map(spelled).join("");
    make("h3", `${shown}, by ${model.name}`, replay).dir = "auto";
    if (words) {
      const line = make("p", "A superword: words that are one token each were merged: ", replay);
      for (const id of words) make("span", labelOf(model, id), line, "chip").dir = "auto";
      return;
    }
    if (part.length > 400) {
      make("p", "This part of the text is too long to show how it was split.", replay);
      return;
    }
    const steps = model.replay(part, MOST_STEPS);
    if (model.segmentation === "viterbi") {
      const total = steps.reduce((sum, { score }) => sum + score, 0);
      make("p", `Of all ways to split it, this one has the highest sum of log probabilities: ${number(total)}.`, replay);
    }
    const list = make("ol", null, replay, "steps");
    for (const step of steps) {
      const item = make("li", null, list), line = make("span", null, item, "line");
      line.dir = "auto";
      const ids = step.ids || [step.token];
      for (const id of ids) {
        const label = id < 0 && step.text ? [...step.text].map(spelled).join("") : nameOf(model, id);
        make("span", label, line, `chip${id === step.token ? " made" : ""}`).dir = "auto";
      }
      const note = step.ids ? stepText(model, step)
        : `${step.score.toFixed(4)}${step.token < 0 ? ": no piece, so unknown" : ""}`;
      make("small", note, item).dir = "auto";
    }
    if (steps.length > MOST_STEPS) make("p", `The first ${MOST_STEPS} steps are shown.`, replay);
  };
  const point = (event) => {
    const chip = event.target instanceof Element && event.target.closest("button.chip");
    const row = chip && rows.find(({ line }) => line.contains(chip));
    if (row) explain(row, row.places[row.chips.indexOf(chip)]);
  };

  // The start -----------------------------------------------------------------------
  const addModel = (model) => {
    const box = make("div", null, byId("try-rows"), "try-model");
    const title = make("h3", model.name, box);
    title.dir = "auto";
    if (model.reason) {
      make("p", `It can't be run in this page: ${model.reason}. Use tokctl encode.`, box, "note").dir = "auto";
      return;
    }
    const row = { model, tokens: [], places: [], chips: [], parts: [], labels: new Map(), cells: {}, count: 0 };
    row.line = make("span", null, box, "chips");
    row.line.setAttribute("role", "group");
    row.more = make("span", "", row.line, "more");
    const cells = make("tr", null, byId("try-counts").tBodies[0]);
    const name = make("th", model.name, cells);
    name.scope = "row";
    name.dir = "auto";
    for (const key of ["tokens", "length", "each"]) row.cells[key] = make("td", "–", cells, "number");
    row.price = make("input", null, make("td", null, cells, "number"));
    Object.assign(row.price, { type: "number", min: "0", step: "any", inputMode: "decimal" });
    row.price.setAttribute("aria-label", `Price of a million tokens of ${model.name}`);
    row.price.addEventListener("input", measure);
    row.cells.cost = make("td", "–", cells, "number");
    rows.push(row);
  };
  const fromFragment = () => {
    if (!location.hash.startsWith(FRAGMENT)) return false;
    try { text.value = decodeURIComponent(location.hash.slice(FRAGMENT.length)); } catch { return false; }
    byId("try").scrollIntoView();
    return true;
  };
  // While the reader types, the browser need not paint sections off the screen at each key.
  const rest = [...byId("try").parentElement.children].filter((one) => one.id !== "try");
  text.addEventListener("focus", () => {
    const heights = rest.map((one) => one.offsetHeight);
    rest.forEach(({ style }, place) => {
      style.containIntrinsicBlockSize = `auto ${heights[place]}px`;
      style.contentVisibility = "auto";
    });
  }, { once: true });
  segmenter.open(page).then((models) => {
    models.forEach(addModel);
    byId("try-counts").closest(".scroll").hidden = !rows.length;
    fromFragment();
    draw();
    text.addEventListener("input", draw);
    for (const event of ["pointerenter", "pointerdown", "focus"]) link.addEventListener(event, carry);
    special.addEventListener("change", draw);
    showIds.addEventListener("change", () => byId("try").classList.toggle("with-ids", showIds.checked));
    byId("try-rows").addEventListener("mouseover", point);
    byId("try-rows").addEventListener("focusin", point);
    addEventListener("hashchange", () => { if (fromFragment()) draw(); });
    byId("try").dataset.ready = "true";
  });
})();
