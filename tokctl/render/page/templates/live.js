// The box: a text of the reader's, as every model splits it. See `segment.js` for how.
(() => {
  const source = document.getElementById("live");
  if (!source) return;
  const byId = (id) => document.getElementById(id);
  const page = JSON.parse(source.textContent);
  const text = byId("try-text"), special = byId("try-special"), showIds = byId("try-ids");
  const link = byId("try-link"), said = byId("try-said"), replay = byId("try-replay");
  // Tokens that are drawn of each model, steps that are drawn of a word.
  const MOST = 300, MOST_STEPS = 40;
  const FRAGMENT = "#try=";

  const make = (name, content, parent, className) => {
    const element = document.createElement(name);
    if (content !== null) element.textContent = content;
    if (className) element.className = className;
    if (parent) parent.append(element);
    return element;
  };
  const number = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 2 });

  // What can't be seen is spelled, and what would turn the line around as well.
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
  const isRightToLeft = (given) => /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u.test(given);

  // Rows -----------------------------------------------------------------------
  const rows = [];
  const chipOf = (row, id, part) => {
    const { model } = row;
    const key = id;
    if (!row.labels.has(key)) row.labels.set(key, labelOf(model, id));
    const kind = model.special.has(id) ? " special" : "";
    const chip = make("button", null, null, `chip${kind}${id === model.unk ? " none" : ""}`);
    chip.type = "button";
    chip.dir = "auto";
    make("span", row.labels.get(key), chip);
    make("small", String(id), chip, "id");
    chip.dataset.part = part;
    return chip;
  };
  const drawRow = (row, given) => {
    row.parts = row.model.encode(given, special.checked);
    const tokens = [];
    let count = 0;
    row.parts.forEach(({ ids }, part) => {
      for (const id of ids) if (tokens.length < MOST) tokens.push([id, part]);
      count += ids.length;
    });
    // What has not changed at the two ends stays.
    const same = (one, two) => one && two && one[0] === two[0];
    const old = row.tokens, chips = [...row.line.querySelectorAll("button.chip")];
    let first = 0, last = 0;
    while (first < Math.min(old.length, tokens.length) && same(old[first], tokens[first])) first += 1;
    const most = Math.min(old.length, tokens.length) - first;
    while (last < most && same(old.at(-1 - last), tokens.at(-1 - last))) last += 1;
    for (const chip of chips.slice(first, chips.length - last)) chip.remove();
    const fresh = tokens.slice(first, tokens.length - last).map(([id, part]) => chipOf(row, id, part));
    if (first) chips[first - 1].after(...fresh);
    else row.line.prepend(...fresh);
    const now = [...row.line.querySelectorAll("button.chip")];
    now.forEach((chip, place) => {
      chip.tabIndex = place ? -1 : 0;
      chip.dataset.part = tokens[place][1];
    });
    row.tokens = tokens;
    row.more.textContent = count > MOST ? ` … ${number(count - MOST)} more` : "";
    row.line.dir = isRightToLeft(given) ? "rtl" : "ltr";
    row.line.setAttribute("aria-label", `${row.model.name}, ${number(count)} tokens`);
    row.count = count;
  };
  const costs = (row, characters) => {
    const each = characters ? row.count / characters : 0;
    const price = row.price.valueAsNumber;
    row.cells.tokens.textContent = number(row.count);
    row.cells.each.textContent = characters ? number(1000 * each) : "–";
    row.cells.length.textContent = row.count ? number(characters / row.count) : "–";
    row.cells.cost.textContent = characters && price >= 0
      ? (price * each / 1000).toLocaleString("en-US", { maximumSignificantDigits: 4 }) : "–";
  };
  const measure = () => {
    const characters = [...text.value].length;
    for (const row of rows) costs(row, characters);
    return characters;
  };

  let later = 0;
  const draw = () => {
    const given = text.value;
    for (const row of rows) drawRow(row, given);
    const characters = measure();
    clearTimeout(later);
    // Said once the reader pauses, and not at each key.
    later = setTimeout(() => {
      const counts = rows.map(({ model, count }) => `${model.name} ${number(count)}`);
      said.textContent = `${number(characters)} characters. Tokens: ${counts.join(", ") || "none"}.`;
      link.href = FRAGMENT + encodeURIComponent(given.toWellFormed ? given.toWellFormed() : given);
    }, 250);
  };

  // How a word was split ------------------------------------------------------------
  const stepText = {
    merges: (model, step) => (step.pair
      ? `merge ${number(step.rank + 1)}: ${labelOf(model, step.pair[0])} + ${labelOf(model, step.pair[1])}`
      : step.token === undefined ? "symbols" : "it is a token as a whole"),
    "longest-match": (model, step) => (step.token === model.unk ? "no token matches"
      : `the longest token here; rest: ${[...step.rest].map(spelled).join("") || "none"}`),
  };
  stepText.ranks = (model, step) => (step.pair
    ? `rank ${number(step.rank)}: ${labelOf(model, step.pair[0])} + ${labelOf(model, step.pair[1])}`
    : stepText.merges(model, step));
  const explain = (row, place) => {
    const { model } = row, { part } = row.parts[place];
    replay.replaceChildren();
    for (const chip of byId("try-rows").querySelectorAll(".chip.mate")) chip.classList.remove("mate");
    for (const chip of row.line.querySelectorAll(`[data-part="${place}"]`)) chip.classList.add("mate");
    if (part === null) {
      const [id] = row.parts[place].ids;
      make("p", `${labelOf(model, id)} is id ${id} of ${model.name}: it is found before anything is split, or put around the text.`, replay).dir = "auto";
      return;
    }
    const shown = [...part.slice(0, 60)].map(spelled).join("");
    make("h3", `${shown}, by ${model.name}`, replay).dir = "auto";
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
        const label = id < 0 ? [...step.text].map(spelled).join("") : labelOf(model, id);
        make("span", label, line, `chip${id === step.token ? " made" : ""}`).dir = "auto";
      }
      const note = step.ids ? stepText[model.segmentation](model, step)
        : `${step.score.toFixed(4)}${step.token < 0 ? ": no piece, so unknown" : ""}`;
      make("small", note, item).dir = "auto";
    }
    if (steps.length > MOST_STEPS) make("p", `The first ${MOST_STEPS} steps are shown.`, replay);
  };
  const point = (event) => {
    const chip = event.target instanceof Element && event.target.closest("button.chip");
    const row = chip && rows.find(({ line }) => line.contains(chip));
    if (row) explain(row, Number(chip.dataset.part));
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
    const row = { model, tokens: [], parts: [], labels: new Map(), cells: {}, count: 0 };
    row.line = make("span", null, box, "chips");
    row.line.setAttribute("role", "group");
    row.more = make("span", "", row.line, "more");
    const cells = make("tr", null, byId("try-counts").tBodies[0]);
    const name = make("th", model.name, cells);
    name.scope = "row";
    name.dir = "auto";
    for (const key of ["tokens", "length", "each"]) row.cells[key] = make("td", "", cells, "number");
    row.price = make("input", null, make("td", null, cells, "number"));
    Object.assign(row.price, { type: "number", min: "0", step: "any", inputMode: "decimal" });
    row.price.setAttribute("aria-label", `Price of a million tokens of ${model.name}`);
    row.price.addEventListener("input", measure);
    row.cells.cost = make("td", "", cells, "number");
    rows.push(row);
  };
  const fromFragment = () => {
    if (!location.hash.startsWith(FRAGMENT)) return false;
    try { text.value = decodeURIComponent(location.hash.slice(FRAGMENT.length)); } catch { return false; }
    byId("try").scrollIntoView();
    return true;
  };
  segmenter.open(page).then((models) => {
    models.forEach(addModel);
    byId("try-counts").closest(".scroll").hidden = !rows.length;
    fromFragment();
    draw();
    text.addEventListener("input", draw);
    special.addEventListener("change", draw);
    showIds.addEventListener("change", () => byId("try").classList.toggle("with-ids", showIds.checked));
    byId("try-rows").addEventListener("mouseover", point);
    byId("try-rows").addEventListener("focusin", point);
    addEventListener("hashchange", () => { if (fromFragment()) draw(); });
    byId("try").dataset.ready = "true";
  });
  for (const hidden of document.querySelectorAll(".needs-script")) hidden.hidden = false;
})();
