"use strict";
// Text to ids, as tokctl's core does it: BPE, WordPiece and Unigram with the normalizers and
// pre-tokenizers that `live.py` allows. It asks the browser nothing about Unicode: the properties
// of all characters come from the core, so every browser gives the same ids.
const segmenter = (() => {
  const LETTER = 1, NUMBER = 2, SPACE = 4, PUNCTUATION = 8, REMOVED = 16, MARK = 32, JOINS = 64;
  const KIND = LETTER | NUMBER | SPACE;
  const CACHED = 50_000;

  // Data ------------------------------------------------------------------------
  const unpacked = async (base64) => {
    const packed = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const inflatedJson = async (base64) => JSON.parse(new TextDecoder().decode(await unpacked(base64)));

  const classTable = (runs) => {
    const classes = new Uint8Array(0x110000);
    let at = 0;
    for (const [length, value] of runs) classes.fill(value, at, at += length);
    return classes;
  };

  // The characters of UTF-8 bytes, one for each byte: how tokens of bytes are kept here.
  const bytesOf = (text) => {
    if (/^[\x00-\x7f]*$/.test(text)) return text;
    let bytes = "";
    for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
    return bytes;
  };

  // Normalizers: each makes a text of a text ----------------------------------------
  const blobRules = (blob) => {
    const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
    const size = blob.length ? view.getUint32(0, true) : 0;
    const units = Uint32Array.from({ length: size / 4 }, (_, at) => view.getUint32(4 + 4 * at, true));
    const values = blob.subarray(4 + size);
    const offset = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);
    const encoder = new TextEncoder(), decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return (text) => {
      if (!units.length) return text;
      const bytes = encoder.encode(text);
      const parts = [];
      let kept = 0, at = 0;
      while (at < bytes.length) {
        // The longest key that stands here (a Darts-clone double array), ending with a character.
        let node = offset(units[0]), found = -1, leaf = 0;
        for (let end = at; end < bytes.length && bytes[end]; ) {
          const place = node ^ bytes[end];
          const unit = units[place];
          if (unit === undefined || ((unit & 0x800000ff) >>> 0) !== bytes[end]) break;
          node = place ^ offset(unit);
          end += 1;
          if (unit & 0x100 && (bytes[end] & 0xc0) !== 0x80) { found = end; leaf = units[node]; }
        }
        if (found < 0) {
          do at += 1; while ((bytes[at] & 0xc0) === 0x80);
          continue;
        }
        const start = leaf & 0x7fffffff;
        parts.push(bytes.subarray(kept, at), values.subarray(start, values.indexOf(0, start)));
        kept = at = found;
      }
      if (!parts.length) return text;
      parts.push(bytes.subarray(kept));
      const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
      let place = 0;
      for (const part of parts) { whole.set(part, place); place += part.length; }
      return decoder.decode(whole);
    };
  };

  const isIdeograph = (code) => (
    (code >= 0x3400 && code <= 0x4dbf) || (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0xf900 && code <= 0xfaff) || (code >= 0x20000 && code <= 0x2a6df) ||
    (code >= 0x2a700 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
    (code >= 0x2f800 && code <= 0x2fa1f));

  // BERT's: clean, space ideographs, NFD without nonspacing marks, lower case.
  const bertRules = (step, unicode) => {
    const { classes, nfd, lower, order } = unicode;
    const decomposed = (code) => {
      const place = code - 0xac00;
      if (place < 0 || place >= 11172) return nfd.get(code) ?? String.fromCodePoint(code);
      const tail = place % 28;
      return String.fromCodePoint(0x1100 + Math.floor(place / 588),
        0x1161 + Math.floor((place % 588) / 28), ...(tail ? [0x11a7 + tail] : []));
    };
    const lowered = (text) => {
      if (!step.lowercase) return text;
      let out = "";
      for (const char of text) out += lower.get(char.codePointAt(0)) ?? char;
      return out;
    };
    const cleaned = (code) => {
      if (!step.clean_text) return String.fromCodePoint(code);
      if (classes[code] & REMOVED) return "";
      return classes[code] & SPACE ? " " : String.fromCodePoint(code);
    };
    const spaced = (char) => (
      step.cjk_spacing && char && isIdeograph(char.codePointAt(0)) ? ` ${char} ` : char);
    const isMark = (char) => classes[char.codePointAt(0)] & MARK;
    const one = (code) => {
      let text = spaced(cleaned(code));
      if (step.strip_accents) {
        text = [...text].map((char) => decomposed(char.codePointAt(0))).join("");
        text = [...text].filter((char) => !isMark(char)).join("");
      }
      return lowered(text);
    };
    // A few marks are kept, and stand in canonical order among themselves.
    const ordered = (text) => {
      const marks = [], out = [];
      const write = () => {
        marks.sort((a, b) => order.get(a) - order.get(b));
        out.push(...marks.splice(0));
      };
      for (const char of text) {
        for (const part of spaced(cleaned(char.codePointAt(0)))) {
          for (const piece of decomposed(part.codePointAt(0))) {
            if (order.has(piece)) { marks.push(piece); continue; }
            if (!(classes[piece.codePointAt(0)] & JOINS)) write();
            if (!isMark(piece)) out.push(piece);
          }
        }
      }
      write();
      return lowered(out.join(""));
    };
    const known = new Map();
    return (text) => {
      let out = "", isOrdered = true;
      for (let at = 0; at < text.length; ) {
        const code = text.codePointAt(at);
        let made = known.get(code);
        if (made === undefined) known.set(code, made = one(code));
        if (isOrdered && code > 0x7f && step.strip_accents) {
          isOrdered = !order.has(text[at]) && !(made && [...made].some((char) => order.has(char)));
        }
        out += made;
        at += code > 0xffff ? 2 : 1;
      }
      return isOrdered ? out : ordered(text);
    };
  };

  const normalizer = (step, unicode, blobs) => {
    switch (step.kind) {
      case "chars-map": return blobRules(blobs[step.blob]);
      case "bert": return bertRules(step, unicode);
      case "collapse-spaces": return (text) => text.replace(/ {2,}/g, " ");
      case "strip-spaces": return (text) => {
        const left = step.left ? text.replace(/^ +/, "") : text;
        let end = left.length;
        while (step.right && end && left[end - 1] === " ") end -= 1;
        return left.slice(0, end);
      };
      case "prepend": return (text) => (text ? step.text + text : text);
      case "replace": return (text) => text.replaceAll(step.pattern, () => step.content);
      default: throw new Error(`no normalizer ${step.kind}`);
    }
  };

  // Pre-tokenizers: each makes parts of a text ----------------------------------------
  const width = (code) => (code > 0xffff ? 2 : 1);

  const scanners = ({ classes }) => {
    const kindAt = (text, at) => classes[text.codePointAt(at)] & KIND;
    const runEnd = (text, at, kind) => {
      while (at < text.length) {
        const code = text.codePointAt(at);
        if ((classes[code] & KIND) !== kind) break;
        at += width(code);
      }
      return at;
    };
    const isBreak = (unit) => unit === 10 || unit === 13;

    const short = /'(?:[stmd]|re|ve|ll)/y;
    // Of the letters outside ASCII the long s folds to one of these.
    const shortInAnyCase = /'(?:[sStTmMdD\u017f]|[rRvV][eE]|[lL][lL])/y;

    const gpt2End = (text, at) => {
      if (text.charCodeAt(at) === 39) {
        short.lastIndex = at;
        if (short.test(text)) return short.lastIndex;
      }
      const code = text.codePointAt(at), kind = classes[code] & KIND;
      if (kind !== SPACE) return runEnd(text, at + width(code), kind);
      const next = at + 1;
      if (next === text.length) return next;
      const behind = kindAt(text, next);
      if (behind !== SPACE) return code === 32 ? runEnd(text, next, behind) : next;
      const end = runEnd(text, next, SPACE);
      return end === text.length ? end : end - 1;
    };

    // No white space is outside the basic plane, so a space is one unit.
    const spaceEnd = (text, at, wholeAtEnd) => {
      let end = at, last = at, afterBreak = at;
      while (end < text.length && classes[text.charCodeAt(end)] & SPACE) {
        last = end;
        end += 1;
        if (isBreak(text.charCodeAt(last))) afterBreak = end;
      }
      const atEnd = end === text.length;
      if (afterBreak > at && !(wholeAtEnd && atEnd)) return afterBreak;
      return atEnd || last === at ? end : last;
    };

    const cl100kEnd = (numbers, wholeAtEnd) => (text, at) => {
      if (text.charCodeAt(at) === 39) {
        shortInAnyCase.lastIndex = at;
        if (shortInAnyCase.test(text)) return shortInAnyCase.lastIndex;
      }
      const code = text.codePointAt(at), kind = classes[code] & KIND;
      const next = at + width(code);
      if (kind === LETTER) return runEnd(text, next, LETTER);
      if (kind === NUMBER) {
        let end = at;
        for (let left = numbers; left && end < text.length; left -= 1) {
          const one = text.codePointAt(end);
          if ((classes[one] & KIND) !== NUMBER) break;
          end += width(one);
        }
        return end;
      }
      const following = next < text.length ? kindAt(text, next) : -1;
      if (following === LETTER && !isBreak(code)) return runEnd(text, next, LETTER);
      if (kind === SPACE && !(code === 32 && following === 0)) return spaceEnd(text, at, wholeAtEnd);
      let end = runEnd(text, next, 0);
      while (end < text.length && isBreak(text.charCodeAt(end))) end += 1;
      return end;
    };

    const byEnd = (endOf) => (text) => {
      const parts = [];
      for (let at = 0; at < text.length; ) {
        const end = endOf(text, at);
        parts.push(text.slice(at, end));
        at = end;
      }
      return parts;
    };

    const bert = (text) => {
      const parts = [];
      let start = -1, at = 0;
      while (at < text.length) {
        const code = text.codePointAt(at), kind = classes[code] & (SPACE | PUNCTUATION);
        const end = at + width(code);
        if (!kind) { if (start < 0) start = at; }
        else {
          if (start >= 0) parts.push(text.slice(start, at));
          start = -1;
          if (kind & PUNCTUATION) parts.push(text.slice(at, end));
        }
        at = end;
      }
      if (start >= 0) parts.push(text.slice(start));
      return parts;
    };

    const metaspace = ({ replacement, prepend, split }) => (text, atStart) => {
      const wanted = prepend === "always" || (prepend === "first" && atStart);
      const isFirst = text.startsWith(" ") || text.startsWith(replacement);
      const spelled = (wanted && text && !isFirst ? replacement : "") + text.replaceAll(" ", () => replacement);
      if (!split || !spelled) return spelled ? [spelled] : [];
      const parts = [];
      let start = 0;
      for (;;) {
        const next = spelled.indexOf(replacement, start + 1);
        if (next < 0) break;
        parts.push(spelled.slice(start, next));
        start = next;
      }
      return [...parts, spelled.slice(start)];
    };

    return {
      gpt2: () => byEnd(gpt2End),
      cl100k: () => byEnd(cl100kEnd(3, true)),
      llama3: () => byEnd(cl100kEnd(3, false)),
      qwen2: () => byEnd(cl100kEnd(1, false)),
      bert: () => bert,
      metaspace,
    };
  };

  // Models: each makes ids of a part, and tells how ---------------------------------------
  // The lowest of (rank, place) first.
  class Heap {
    constructor() { this.items = []; }
    push(item) {
      const { items } = this;
      let at = items.length;
      items.push(item);
      for (let up; at && items[up = (at - 1) >> 1] > item; at = up) items[at] = items[up];
      items[at] = item;
    }
    pop() {
      const { items } = this;
      const first = items[0], last = items.pop();
      if (!items.length) return first;
      let at = 0;
      for (;;) {
        let down = 2 * at + 1;
        if (down >= items.length) break;
        if (down + 1 < items.length && items[down + 1] < items[down]) down += 1;
        if (items[down] >= last) break;
        items[at] = items[down];
        at = down;
      }
      items[at] = last;
      return first;
    }
  }
  const PLACES = 2 ** 24;

  const fallBack = (model, text) => {
    if (!model.bytes) return null;
    const ids = [...bytesOf(text)].map((byte) => model.bytes[byte.charCodeAt(0)]);
    return ids.includes(-1) ? null : ids;
  };

  const merging = (model, columns) => {
    const { tokens, idOf } = model;
    let join;
    if (model.segmentation === "ranks") {
      // Any two neighbours that spell a token.
      const rankOf = columns.ranks;
      join = (left, right) => {
        if (!model.isOrdinary(left) || !model.isOrdinary(right)) return undefined;
        const token = idOf.get(tokens[left] + tokens[right]);
        return token === undefined ? undefined : [rankOf ? rankOf[token] : token, token];
      };
    } else {
      const pairs = new Map();
      columns.merges.forEach(([left, right, token], rank) => {
        pairs.set(left * model.size + right, [rank, token]);
      });
      join = (left, right) => pairs.get(left * model.size + right);
    }
    const symbols = (part) => {
      const ids = [];
      let isHeld = false;
      for (const char of part) {
        const id = idOf.get(char);
        if (id !== undefined) { ids.push(id); isHeld = false; continue; }
        const bytes = fallBack(model, char);
        if (bytes) ids.push(...bytes);
        else if (!isHeld || !model.fuse) { ids.push(model.unk); isHeld = true; }
      }
      return ids;
    };
    // Lowest rank first, leftmost first, by a heap over a linked list.
    const merge = (ids, done) => {
      const end = ids.length;
      const before = Int32Array.from(ids, (_, at) => at - 1);
      const after = Int32Array.from(ids, (_, at) => at + 1);
      const heap = new Heap();
      const offer = (at) => {
        if (at < 0 || after[at] >= end) return;
        const found = join(ids[at], ids[after[at]]);
        if (found) heap.push(found[0] * PLACES + at);
      };
      for (let at = 0; at < end; at += 1) offer(at);
      while (heap.items.length) {
        const item = heap.pop();
        const at = item % PLACES, rank = (item - at) / PLACES, next = after[at];
        if (ids[at] < 0 || next >= end) continue;
        const found = join(ids[at], ids[next]);
        if (!found || found[0] !== rank) continue;
        const pair = [ids[at], ids[next]];
        ids[at] = found[1];
        ids[next] = -1;
        after[at] = after[next];
        if (after[at] < end) before[after[at]] = at;
        if (done) done(rank, pair, found[1], ids);
        offer(before[at]);
        offer(at);
      }
      return ids.filter((id) => id >= 0);
    };
    return {
      segment(part) {
        const spelled = model.isBytes ? bytesOf(part) : part;
        const whole = model.whole ? idOf.get(spelled) : undefined;
        return whole === undefined ? merge(symbols(spelled)) : [whole];
      },
      replay(part, most) {
        const spelled = model.isBytes ? bytesOf(part) : part;
        const ids = symbols(spelled), steps = [{ ids: [...ids] }];
        merge(ids, (rank, pair, token, now) => {
          if (steps.length <= most) {
            steps.push({ rank, pair, token, ids: now.filter((id) => id >= 0) });
          }
        });
        const whole = model.whole ? idOf.get(spelled) : undefined;
        if (whole !== undefined && steps.at(-1).ids.length > 1) steps.push({ token: whole, ids: [whole] });
        return steps;
      },
    };
  };

  // Texts by their UTF-16 units, in one table of (node, unit) with open addressing.
  const trieOf = (entries) => {
    let units = 1;
    for (const [text] of entries) units += text.length;
    const size = 2 ** Math.ceil(Math.log2(units * 2 + 2));
    const keys = new Float64Array(size), nodes = new Int32Array(size), values = new Int32Array(units + 1).fill(-1);
    let last = 0;
    const slot = (key) => {
      let at = Math.imul(key % 4294967291 | 0, 0x9e3779b1) >>> 0 & (size - 1);
      while (keys[at] && keys[at] !== key) at = (at + 1) & (size - 1);
      return at;
    };
    const step = (node, unit) => nodes[slot(node * 65536 + unit + 1)] || -1;
    for (const [text, value] of entries) {
      let node = 0;
      for (let at = 0; at < text.length; at += 1) {
        const key = node * 65536 + text.charCodeAt(at) + 1, place = slot(key);
        if (!keys[place]) { keys[place] = key; nodes[place] = last += 1; }
        node = nodes[place];
      }
      values[node] = value;
    }
    return { step, values };
  };

  const longestMatch = (model) => {
    const { step, values } = trieOf(model.ordinary);
    let inside = 0;
    for (let at = 0; at < model.prefix.length && inside >= 0; at += 1) {
      inside = step(inside, model.prefix.charCodeAt(at));
    }
    const segment = (part, done) => {
      if (model.most !== null && [...part].length > model.most) return [model.unk];
      const ids = [];
      for (let at = 0; at < part.length; ) {
        let node = at ? inside : 0, found = -1, end = at;
        for (let place = at; node >= 0 && place < part.length; ) {
          node = step(node, part.charCodeAt(place));
          place += 1;
          if (node >= 0 && values[node] >= 0) { found = values[node]; end = place; }
        }
        if (found < 0) {
          if (model.unknown === "word") {
            if (done) done(model.unk, part.slice(at), true);
            return [model.unk];
          }
          found = model.unk;
          end = at + width(part.codePointAt(at));
        }
        ids.push(found);
        if (done) done(found, part.slice(end), false);
        at = end;
      }
      return ids;
    };
    return {
      segment: (part) => segment(part),
      replay(part, most) {
        const steps = [], ids = [];
        segment(part, (token, rest, isLost) => {
          ids.push(token);
          if (steps.length <= most) steps.push({ token, rest, ids: isLost ? [token] : [...ids] });
        });
        return steps.length ? steps : [{ token: model.unk, rest: "", ids: [model.unk] }];
      },
    };
  };

  const unigram = (model, columns) => {
    const { step, values } = trieOf(model.ordinary);
    const { scores } = columns, round = model.single ? Math.fround : (sum) => sum;
    const MAX_SUM = 100_000;
    // The best way to each place; of equal ones the first stays.
    const best = (text) => {
      const sums = new Float64Array(text.length + 1).fill(NaN);
      const from = new Int32Array(text.length + 1), pieces = new Int32Array(text.length + 1);
      const offer = (start, end, piece, sum) => {
        if (!(sum <= sums[end])) { sums[end] = sum; from[end] = start; pieces[end] = piece; }
      };
      sums[0] = 0;
      let farthest = 0;
      for (let at = 0; at < text.length; ) {
        const next = at + width(text.codePointAt(at));
        let before = sums[at], isPiece = false;
        if (model.single && Math.abs(before) > MAX_SUM) {
          // As SentencePiece does, lest 32 bits get too coarse.
          for (let later = at + 1; later <= farthest; later += 1) sums[later] = round(sums[later] - before);
          before = 0;
        }
        for (let node = 0, end = at; end < text.length; ) {
          node = step(node, text.charCodeAt(end));
          if (node < 0) break;
          end += 1;
          const id = values[node];
          if (id < 0) continue;
          offer(at, end, id, round(before + scores[id]));
          farthest = Math.max(farthest, end);
          isPiece ||= end === next;
        }
        if (!isPiece) {
          offer(at, next, -1, round(before + model.unknownScore));
          farthest = Math.max(farthest, next);
        }
        at = next;
      }
      const path = [];
      for (let end = text.length; end; end = from[end]) path.push([from[end], end, pieces[end]]);
      return path.reverse();
    };
    const segment = (text) => {
      const ids = [];
      let open = -1, reached = 0;
      const finish = () => {
        if (open < 0) return;
        const stretch = text.slice(open, reached);
        open = -1;
        const known = model.single ? undefined : model.idOf.get(stretch);
        const bytes = known === undefined ? fallBack(model, stretch) : null;
        if (bytes) ids.push(...bytes);
        else ids.push(known ?? model.unk);
      };
      for (const [start, end, piece] of best(text)) {
        if (piece < 0 || piece === model.unk) {
          if (!model.fuse) finish();
          if (open < 0) open = start;
        } else {
          finish();
          ids.push(piece);
        }
        reached = end;
      }
      finish();
      return ids;
    };
    return {
      segment,
      replay: (text) => best(text).map(([start, end, piece]) => ({
        text: text.slice(start, end), token: piece, score: piece < 0 ? model.unknownScore : scores[piece],
      })),
    };
  };

  // One model ------------------------------------------------------------------------
  const readColumns = (bytes, model) => {
    let at = 0;
    const varint = () => {
      let value = 0, scale = 1, byte;
      do { byte = bytes[at]; at += 1; value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
      return value;
    };
    const lengths = Array.from({ length: model.size }, varint);
    const size = varint();
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(at, at += size));
    let place = 0;
    model.tokens = lengths.map((length) => text.slice(place, place += length));
    const columns = {};
    if (model.segmentation === "merges") {
      // What a merge makes, and how long its left side is; new tokens mostly follow one another.
      const count = varint();
      let last = -1;
      const made = Array.from({ length: count }, () => {
        const step = varint();
        last += 1 + (step % 2 ? -(step + 1) / 2 : step / 2);
        return last;
      });
      const all = new Map(model.tokens.map((token, id) => [token, id]));
      columns.merges = made.map((id) => {
        const token = model.tokens[id], cut = varint();
        return [all.get(token.slice(0, cut)), all.get(token.slice(cut)), id];
      });
    } else if (model.segmentation === "ranks" && model.hasRanks) {
      columns.ranks = Array.from({ length: model.size }, varint);
    } else if (model.segmentation === "viterbi") {
      const floats = bytes.slice(at).buffer;
      columns.scores = model.single ? new Float32Array(floats) : new Float64Array(floats);
    }
    return columns;
  };

  const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  const finder = (added) => {
    if (!added.length) return null;
    const texts = added.map(([text]) => text).sort((a, b) => b.length - a.length);
    return { pattern: new RegExp(texts.map(escaped).join("|"), "g"), ids: new Map(added) };
  };

  const opened = async (described, unicode, blobs) => {
    const model = { ...described, isBytes: described.units === "bytes" };
    const columns = readColumns(await unpacked(described.columns), model);
    const reserved = new Set(model.reserved);
    model.isOrdinary = (id) => !reserved.has(id);
    model.ordinary = model.tokens.map((token, id) => [token, id]).filter(([, id]) => !reserved.has(id));
    model.idOf = new Map(model.ordinary);
    const kinds = { merges: merging, ranks: merging, "longest-match": longestMatch, viterbi: unigram };
    const own = kinds[model.segmentation](model, columns);
    const steps = model.normalizers.map((step) => normalizer(step, unicode, blobs));
    const scan = scanners(unicode);
    const [split] = model.split.map((step) => scan[step.kind](step));
    const always = finder(model.added.filter(([, , isAlways]) => isAlways));
    const every = finder(model.added);
    const cache = new Map();
    const segment = (part) => {
      let ids = cache.get(part);
      if (!ids) {
        ids = own.segment(part);
        if (cache.size >= CACHED) cache.clear();
        if (part.length < 1000) cache.set(part, ids);
      }
      return ids;
    };
    // `parts`: what was segmented, in order; an added token is a part of its own.
    const encode = (given, special) => {
      const text = given.toWellFormed ? given.toWellFormed() : given.replace(/\p{Surrogate}/gu, "\ufffd");
      const parts = [];
      const stretch = (start, end) => {
        if (start === end) return;
        const normal = steps.reduce((made, step) => step(made), text.slice(start, end));
        if (!normal) return;
        for (const part of split ? split(normal, start === 0) : [normal]) {
          parts.push({ part, ids: segment(part) });
        }
      };
      const find = special ? every : always;
      let done = 0;
      if (special) model.before.forEach((id) => parts.push({ part: null, ids: [id] }));
      if (find) {
        for (const match of text.matchAll(find.pattern)) {
          stretch(done, match.index);
          parts.push({ part: null, ids: [find.ids.get(match[0])] });
          done = match.index + match[0].length;
        }
      }
      stretch(done, text.length);
      if (special) model.after.forEach((id) => parts.push({ part: null, ids: [id] }));
      return parts;
    };
    return {
      name: model.name, segmentation: model.segmentation, isBytes: model.isBytes, unk: model.unk,
      tokens: model.tokens, special: new Set(model.special), replay: own.replay, encode,
      ids: (text, special) => encode(text, special).flatMap(({ ids }) => ids),
    };
  };

  // The models of a page; for one that can't be equal here, `{name, reason}`.
  const open = async (page) => {
    const tables = await inflatedJson(page.unicode);
    const unicode = {
      classes: classTable(tables.classes),
      nfd: new Map(tables.nfd), lower: new Map(tables.lower), order: new Map(tables.order),
    };
    const blobs = await Promise.all(page.blobs.map(unpacked));
    return Promise.all(page.models.map(
      (model) => (model.reason ? model : opened(model, unicode, blobs))));
  };

  return { open };
})();
