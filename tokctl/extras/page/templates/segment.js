"use strict";
// Text to ids, exactly as tokctl's core does it, for the normalizers, pre-tokenizers and models that
// `live.py` allows. All Unicode data comes from tokctl, not from the browser, so every browser gives
// the same ids.
const segmenter = (() => {
  const CACHED = 50_000;
  const CHARACTERS = 0x110000;
  // Stands for a missing id.
  const NONE = -1;

  // Data ------------------------------------------------------------------------
  const unpacked = async (base64) => {
    const packed = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const inflatedJson = async (base64) => JSON.parse(new TextDecoder().decode(await unpacked(base64)));

  // Class of each code point, from runs of (length, class).
  const classTable = (runs) => {
    const classes = new Uint8Array(CHARACTERS);
    for (let run = 0, at = 0; run < runs.length; run += 2) classes.fill(runs[run + 1], at, at += runs[run]);
    return classes;
  };

  // Replacements: for each code point an index into `made`; 0 means unchanged. With `behind`, the
  // character stays between the two texts.
  const changeTable = (runs) => {
    const places = new Uint16Array(CHARACTERS), made = [null];
    let at = 0;
    for (const [gap, length, before, behind] of runs) {
      places.fill(made.length, at += gap, at += length);
      made.push([before, behind]);
    }
    return { places, made };
  };

  const width = (code) => (code > 0xffff ? 2 : 1);
  const isAscii = (text) => /^[\x00-\x7f]*$/.test(text);

  // UTF-8 bytes as a string with one character per byte, as tokens of byte-level models are kept here.
  const bytesOf = (text) => {
    if (isAscii(text)) return text;
    let bytes = "";
    for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
    return bytes;
  };

  // Patterns ----------------------------------------------------------------------
  // Patterns are over classes of characters: a text is searched as the string of its classes, one unit
  // each.
  const searcher = ({ classes: place, source }, { classes: tables }) => {
    const classes = tables[place];
    // Most matches start where the last one ended; the sticky search finds these without creating an
    // object.
    const here = new RegExp(source, "y"), further = new RegExp(source, "g");
    const units = new Uint8Array(8192);
    const spelled = (text) => {
      let out = "", count = 0;
      for (let at = 0; at < text.length; count += 1) {
        if (count === units.length) { out += String.fromCharCode.apply(null, units); count = 0; }
        const code = text.codePointAt(at);
        units[count] = classes[code];
        at += width(code);
      }
      return out + String.fromCharCode.apply(null, units.subarray(0, count));
    };
    // Offsets of the characters in the text; null if every character is one unit, so that offsets are
    // equal.
    const placesIn = (text, count) => {
      if (count === text.length) return null;
      const places = new Uint32Array(count + 1);
      for (let at = 0, number = 0; number < count; number += 1) {
        at += width(text.codePointAt(at));
        places[number + 1] = at;
      }
      return places;
    };
    // Returns starts and ends of the matches, alternating. No match is empty at the end of the last
    // one; such a match is skipped, and the search goes on one character further. `share`, if given,
    // adds the offsets of a match.
    return (text, share) => {
      const found = [], searched = spelled(text);
      const end = searched.length;
      let done = 0, isBehind = false;
      for (let at = 0; at <= end;) {
        let start = here.lastIndex = at, stop = 0;
        if (here.test(searched)) stop = here.lastIndex;
        else {
          further.lastIndex = at + 1;
          const match = at < end && further.exec(searched);
          if (!match) break;
          start = match.index;
          stop = further.lastIndex;
        }
        if (start === stop && start === done && isBehind) { at = start + 1; continue; }
        if (share) share(start, stop, found);
        else found.push(start, stop);
        at = done = stop;
        isBehind = true;
      }
      const places = placesIn(text, end);
      return places ? found.map((at) => places[at]) : found;
    };
  };

  const literalMatches = (text, wanted) => {
    const found = [];
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      found.push(at, at + wanted.length);
    }
    return found;
  };

  // Trie of texts over UTF-16 units, in one hash table of (node, unit) with open addressing.
  const trieOf = (entries) => {
    let units = 1;
    for (const [text] of entries) units += text.length;
    const bits = Math.ceil(Math.log2(units * 2 + 2)), size = 2 ** bits, mask = size - 1;
    // For each slot: the node that the edge leads to (0: empty slot), the node it starts from, and its
    // unit.
    const nodes = new Int32Array(size), froms = new Int32Array(size), by = new Uint16Array(size);
    const values = new Int32Array(units + 1).fill(-1);
    const slot = (node, unit) => {
      let at = Math.imul(node ^ Math.imul(unit, 0x85ebca6b), 0x9e3779b1) >>> (32 - bits);
      while (nodes[at] && (froms[at] !== node || by[at] !== unit)) at = (at + 1) & mask;
      return at;
    };
    const step = (node, unit) => nodes[slot(node, unit)] || -1;
    let last = 0;
    for (const [text, value] of entries) {
      let node = 0;
      for (let at = 0; at < text.length; at += 1) {
        const unit = text.charCodeAt(at), place = slot(node, unit);
        if (!nodes[place]) { nodes[place] = last += 1; froms[place] = node; by[place] = unit; }
        node = nodes[place];
      }
      values[node] = value;
    }
    return { step, values };
  };

  // Longest text of the trie at an offset, as [end, value]; [-1, -1] if no text matches.
  const longestAt = ({ step, values }, text, at) => {
    let node = 0, end = -1, value = -1;
    for (let place = at; place < text.length;) {
      node = step(node, text.charCodeAt(place));
      if (node < 0) break;
      place += 1;
      if (values[node] >= 0) { end = place; value = values[node]; }
    }
    return [end, value];
  };

  // Normalizers: text to text -------------------------------------------------------
  const changer = ({ places, made }) => (text) => {
    let out = "", kept = 0;
    for (let at = 0; at < text.length;) {
      const code = text.codePointAt(at), size = width(code);
      if (places[code]) {
        const [before, behind] = made[places[code]];
        out += text.slice(kept, at) + before;
        if (behind !== undefined) out += text.slice(at, at + size) + behind;
        kept = at + size;
      }
      at += size;
    }
    return kept ? out + text.slice(kept) : text;
  };

  // Unicode normal forms: stretches of affected characters are decomposed, reordered and composed.
  const normalForms = ({ nfd, nfkd, excluded, order }) => {
    const CANONICAL = 1, COMPATIBLE = 2, ORDERED = 4, SECOND = 8, EXCLUDED = 16, HANGUL = 32;
    const flags = new Uint8Array(CHARACTERS), ranks = new Map(), canonical = new Map(nfd);
    const compatible = new Map([...nfd, ...nfkd]);
    const left = new Set(excluded), whole = new Map(), pairs = new Map();
    for (const [code, text] of nfd) {
      flags[code] |= CANONICAL;
      if (left.has(code)) flags[code] |= EXCLUDED;
      else whole.set(text, String.fromCodePoint(code));
    }
    for (const [code] of nfkd) flags[code] |= COMPATIBLE;
    for (const [code, rank] of order) { flags[code] |= ORDERED; ranks.set(String.fromCodePoint(code), rank + 1); }
    for (const [text, char] of whole) {
      const all = [...text], last = all.pop(), rest = all.join("");
      pairs.set((all.length > 1 ? whole.get(rest) : rest) + last, char);
      flags[last.codePointAt(0)] |= SECOND;
    }
    // Some characters decompose to a first character that can join the one before.
    for (const [code, text] of nfd) if (flags[text.codePointAt(0)] & (SECOND | ORDERED)) flags[code] |= SECOND;
    const [FIRST, L, V, T] = [0xac00, 0x1100, 0x1161, 0x11a7];
    flags.fill(HANGUL, FIRST, FIRST + 11172);
    flags.fill(SECOND, V, V + 21);
    flags.fill(SECOND, T + 1, T + 28);
    const takenApart = (char, map, out) => {
      const code = char.codePointAt(0), place = code - FIRST;
      if (place < 0 || place >= 11172) { out.push(...(map.get(code) ?? char)); return; }
      out.push(String.fromCharCode(L + Math.floor(place / 588)), String.fromCharCode(V + Math.floor((place % 588) / 28)));
      if (place % 28) out.push(String.fromCharCode(T + (place % 28)));
    };
    const together = (one, two) => {
      const a = one.charCodeAt(0), b = two.charCodeAt(0);
      if (a >= L && a < L + 19 && b >= V && b < V + 21) {
        return String.fromCharCode(FIRST + ((a - L) * 21 + b - V) * 28);
      }
      const place = a - FIRST;
      if (place >= 0 && place < 11172 && place % 28 === 0 && b > T && b < T + 28) {
        return String.fromCharCode(a + b - T);
      }
      return pairs.get(one + two);
    };
    const composed = (parts) => {
      let out = "", starter = null, marks = "", between = -1;
      for (const part of parts) {
        const rank = ranks.get(part) ?? 0;
        if (starter === null) {
          if (rank) out += part;
          else starter = part;
          continue;
        }
        const both = between < rank ? together(starter, part) : undefined;
        if (both !== undefined) { starter = both; continue; }
        if (rank) { marks += part; between = rank; continue; }
        out += starter + marks;
        [starter, marks, between] = [part, "", -1];
      }
      return out + (starter ?? "") + marks;
    };
    const inOrder = (parts) => {
      for (let at = 0; at < parts.length;) {
        let end = at;
        while (end < parts.length && ranks.has(parts[end])) end += 1;
        if (end - at > 1) {
          const marks = parts.slice(at, end).sort((a, b) => ranks.get(a) - ranks.get(b));
          for (const mark of marks) parts[at++] = mark;
        }
        at = end + 1;
      }
      return parts;
    };
    return (isCompatible, composes) => {
      const map = isCompatible ? compatible : canonical;
      const concerned = ORDERED | (isCompatible ? COMPATIBLE : 0) |
        (composes ? EXCLUDED | SECOND : CANONICAL | HANGUL);
      return (text) => {
        if (isAscii(text)) return text;
        let out = "", kept = 0, last = 0;
        for (let at = 0; at < text.length;) {
          const code = text.codePointAt(at);
          if (!(flags[code] & concerned)) { last = at; at += width(code); continue; }
          const from = composes && at > kept ? last : at;
          const parts = [];
          for (let place = from; place < text.length;) {
            const next = text.codePointAt(place);
            if (place > from && !(flags[next] & concerned)) break;
            takenApart(String.fromCodePoint(next), map, parts);
            place += width(next);
            at = place;
          }
          inOrder(parts);
          out += text.slice(kept, from) + (composes ? composed(parts) : parts.join(""));
          kept = at;
        }
        return kept ? out + text.slice(kept) : text;
      };
    };
  };

  // SentencePiece's charsmap, a Darts-clone double array: the longest key at an offset that ends at a
  // character boundary; or, as in Hugging Face, the shortest key of each grapheme.
  const rulesOf = (blob) => {
    const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
    const size = blob.length ? view.getUint32(0, true) : 0;
    const units = Uint32Array.from({ length: size / 4 }, (_, at) => view.getUint32(4 + 4 * at, true));
    const values = blob.subarray(4 + size);
    const offset = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);
    // Returns the end of the key at an offset and its replacement; [-1, null] if no key matches.
    return (bytes, at, stop, takesShortest) => {
      let node = units.length ? offset(units[0]) : 0, found = -1, leaf = 0;
      for (let end = at; units.length && end < stop && bytes[end];) {
        const place = node ^ bytes[end], unit = units[place];
        if (unit === undefined || ((unit & 0x800000ff) >>> 0) !== bytes[end]) break;
        node = place ^ offset(unit);
        end += 1;
        if (unit & 0x100 && (bytes[end] & 0xc0) !== 0x80) {
          found = end;
          leaf = units[node];
          if (takesShortest) break;
        }
      }
      if (found < 0) return [-1, null];
      const start = leaf & 0x7fffffff;
      return [found, values.subarray(start, values.indexOf(0, start))];
    };
  };
  const charsMap = (step, tables) => {
    const rule = tables.blobs[step.blob];
    const encoder = new TextEncoder(), decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const graphemes = step.graphemes && searcher(step.graphemes, tables);
    const kept = step.keep.length ? trieOf(step.keep.map((text) => [bytesOf(text), text.length])) : null;
    const next = (bytes, at) => {
      do at += 1; while ((bytes[at] & 0xc0) === 0x80);
      return at;
    };
    // Calls `each(start, end, value, bytes)` for consecutive stretches of a text; without a value a
    // stretch stays.
    const walk = (text, each) => {
      const bytes = encoder.encode(text);
      const spelled = kept && bytesOf(text);
      let at = 0;
      if (graphemes) {
        const ends = graphemes(text);
        for (let place = 0; place < ends.length; place += 2) {
          const grapheme = text.slice(ends[place], ends[place + 1]);
          let end = at;
          for (const char of grapheme) { const code = char.codePointAt(0); end += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }
          const [found, value] = end - at < 6 ? rule(bytes, at, end, true) : [-1, null];
          if (found >= 0) { each(at, end, value, bytes); at = end; continue; }
          while (at < end) {
            const stop = next(bytes, at);
            each(at, stop, rule(bytes, at, stop, true)[1], bytes);
            at = stop;
          }
        }
        return bytes;
      }
      while (at < bytes.length) {
        const [stays] = kept ? longestAt(kept, spelled, at) : [-1];
        const [found, value] = stays < 0 ? rule(bytes, at, bytes.length, false) : [stays, null];
        const end = found < 0 ? next(bytes, at) : found;
        each(at, end, value, bytes);
        at = end;
      }
      return bytes;
    };
    const run = (text) => {
      const changes = [];
      const bytes = walk(text, (start, end, value) => { if (value) changes.push([start, end, value]); });
      if (!changes.length) return text;
      const length = changes.reduce((sum, [start, end, value]) => sum + value.length - end + start, bytes.length);
      const made = new Uint8Array(length);
      let from = 0, to = 0;
      const put = (part) => { made.set(part, to); to += part.length; };
      for (const [start, end, value] of changes) { put(bytes.subarray(from, start)); put(value); from = end; }
      put(bytes.subarray(from));
      return decoder.decode(made);
    };
    // Whether the text consists only of spaces, and of characters that become one.
    run.isBlank = (text) => {
      let isBlank = true;
      walk(text, (start, end, value, bytes) => {
        isBlank &&= value ? value.length === 1 && value[0] === 32 : end - start === 1 && bytes[start] === 32;
      });
      return isBlank;
    };
    return run;
  };

  const trimmed = (text, step, isBlank) => {
    let start = 0, end = text.length;
    while (step.left && start < end && isBlank(text.charCodeAt(start))) start += 1;
    while (step.right && end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
    return text.slice(start, end);
  };

  // A normalizer takes the current text and, as second argument, the original one.
  const normalizer = (step, tables, before) => {
    switch (step.kind) {
      case "chars-map": return charsMap(step, tables);
      case "changes": return changer(tables.changes[step.changes]);
      case "form": return tables.forms(step.compatible, step.composes);
      case "collapse-spaces": return (text) => text.replace(/ {2,}/g, " ");
      case "strip-spaces": return (text) => trimmed(text, step, (unit) => unit === 32);
      // All white space is in the basic plane, so units can be tested.
      case "strip": return (text) => trimmed(text, step, (unit) => tables.classes[step.classes][unit]);
      case "prepend": return (text) => (text ? step.text + text : text);
      case "replace": return (text) => text.replaceAll(step.pattern, () => step.content);
      case "search": {
        const search = searcher(step, tables);
        return (text) => {
          if (!text) return text;
          const found = search(text);
          let out = "", kept = 0;
          for (let at = 0; at < found.length; at += 2) {
            out += text.slice(kept, found[at]) + step.content;
            kept = found[at + 1];
          }
          return out + text.slice(kept);
        };
      }
      case "dummy-space": {
        const isBlank = before[0]?.isBlank ?? ((text) => /^ *$/.test(text));
        return (text, given) => {
          if (!text && isBlank(given)) return text;
          return step.behind ? `${text} ` : ` ${text}`;
        };
      }
      default: throw new Error(`no normalizer ${step.kind}`);
    }
  };

  // Pre-tokenizers: text to pieces ------------------------------------------------------
  // Starts and ends of the pieces, alternating, under Hugging Face's split behaviours.
  const piecesOf = (matches, length, behaviour, invert) => {
    const out = [];
    let held = -1, heldEnd = 0, wasMatch = false, done = 0;
    const emit = (start, end) => { if (start < end) out.push(start, end); };
    const push = (start, end, isMatch) => {
      const joins = behaviour === "merged-with-previous" ? isMatch
        : behaviour === "merged-with-next" ? !isMatch
          : behaviour === "contiguous" && isMatch === wasMatch;
      let from = start;
      if (held >= 0) {
        if (joins) from = held;
        else emit(held, heldEnd);
        held = -1;
      }
      const holds = behaviour === "merged-with-previous" ? !isMatch
        : behaviour === "merged-with-next" ? isMatch : behaviour === "contiguous";
      if (holds) { held = from; heldEnd = end; }
      else if (behaviour !== "removed" || !isMatch) emit(from, end);
      wasMatch = isMatch;
    };
    for (let at = 0; at < matches.length; at += 2) {
      if (done < matches[at]) push(done, matches[at], invert);
      push(matches[at], matches[at + 1], !invert);
      done = matches[at + 1];
    }
    if (done < length) push(done, length, invert);
    if (held >= 0) emit(held, heldEnd);
    return out;
  };

  const splitter = (step, tables) => {
    const { behaviour, invert = false } = step;
    const slices = (text, ends) => {
      const out = [];
      for (let at = 0; at < ends.length; at += 2) out.push(text.slice(ends[at], ends[at + 1]));
      return out;
    };
    switch (step.kind) {
      case "search": {
        const search = searcher(step, tables);
        let share;
        // Groups of `step.groups` digits, counted from the end of the number.
        if (step.groups) {
          share = (start, end, found) => {
            for (let at = start; at < end;) {
              const next = at + ((end - at - 1) % step.groups) + 1;
              found.push(at, next);
              at = next;
            }
          };
        }
        // Empty matches at which the number is cut.
        if (step.cuts) {
          share = (start, end, found) => {
            for (let at = start + ((end - start) % step.cuts); at < end; at += step.cuts) found.push(at, at);
          };
        }
        return (text) => slices(text, piecesOf(search(text, share), text.length, behaviour, invert));
      }
      case "split": return (text) => slices(text,
        piecesOf(literalMatches(text, step.pattern), text.length, behaviour, invert));
      case "prefix-space": return (text) => [text.startsWith(" ") ? text : ` ${text}`];
      case "byte-level": return (text) => [[...bytesOf(text)].map((byte) => STAND_INS[byte.charCodeAt(0)]).join("")];
      case "metaspace": return (text, atStart) => {
        const { replacement, prepend } = step;
        const wanted = prepend === "always" || (prepend === "first" && atStart);
        const isFirst = text.startsWith(" ") || text.startsWith(replacement);
        const spelled = (wanted && !isFirst ? replacement : "") + text.replaceAll(" ", () => replacement);
        if (!step.split) return [spelled];
        return slices(spelled, piecesOf(literalMatches(spelled, replacement), spelled.length, "merged-with-next", false));
      };
      default: throw new Error(`no pre-tokenizer ${step.kind}`);
    }
  };

  // GPT-2's character for each byte.
  const STAND_INS = (() => {
    let next = 256;
    return Array.from({ length: 256 }, (_, byte) => {
      const isPrinted = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
      return String.fromCharCode(isPrinted ? byte : next++);
    });
  })();

  // Models: piece to ids, and the steps on the way ----------------------------------------
  // Min-heap of the numbers `rank * PLACES + place`: lowest rank first, then leftmost place.
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
    if (!model.bytes || !text) return null;
    const ids = [...bytesOf(text)].map((byte) => model.bytes[byte.charCodeAt(0)]);
    return ids.includes(NONE) ? null : ids;
  };

  // Pairs that merge, with their ranks, from a list of (left, right, token).
  const listed = (merges, size) => {
    const pairs = new Map(), later = new Map(), last = new Map();
    merges.forEach(([left, right], rank) => {
      const key = left * size + right, first = pairs.get(key);
      if (first === undefined) pairs.set(key, rank);
      else { later.set(last.get(key) ?? first, rank); last.set(key, rank); }
    });
    return {
      // The pair's lowest rank above `after`; NONE if there is no such rank.
      rank: (left, right, after = -1) => {
        if (left < 0 || right < 0) return NONE;
        let rank = pairs.get(left * size + right) ?? NONE;
        while (rank >= 0 && rank <= after) rank = later.get(rank) ?? NONE;
        return rank;
      },
      is: (rank, left, right) => merges[rank][0] === left && merges[rank][1] === right,
      token: (rank) => merges[rank][2],
    };
  };
  // Neighbours merge if together they spell a token.
  const spelling = ({ tokens, idOf, isOrdinary }, ranks) => {
    const token = (_, left, right) => idOf.get(tokens[left] + tokens[right]);
    const rank = (left, right) => {
      if (left < 0 || right < 0 || !isOrdinary(left) || !isOrdinary(right)) return NONE;
      const found = token(0, left, right);
      return found === undefined ? NONE : ranks ? ranks[found] : found;
    };
    return { rank, is: (one, left, right) => rank(left, right) === one, token };
  };

  // Merges the lowest rank first, then the leftmost place, with a heap over a linked list. If merges
  // are replayed, a pair that arises after its rank has passed stays.
  const merged = (ids, ranking, replays, done) => {
    const end = ids.length, GONE = -2;
    const before = Int32Array.from(ids, (_, at) => at - 1);
    const after = Int32Array.from(ids, (_, at) => at + 1);
    const heap = new Heap();
    const offer = (at, passed) => {
      if (at < 0 || after[at] >= end) return;
      const rank = ranking.rank(ids[at], ids[after[at]], passed);
      if (rank >= 0) heap.push(rank * PLACES + at);
    };
    for (let at = 0; at < end; at += 1) offer(at, -1);
    while (heap.items.length) {
      const item = heap.pop();
      const at = item % PLACES, rank = (item - at) / PLACES, next = after[at];
      if (ids[at] < 0 || next >= end || !ranking.is(rank, ids[at], ids[next])) continue;
      const pair = [ids[at], ids[next]];
      ids[at] = ranking.token(rank, ...pair);
      ids[next] = GONE;
      after[at] = after[next];
      if (after[at] < end) before[after[at]] = at;
      if (done) done({ rank, pair, token: ids[at] }, ids.filter((id) => id !== GONE));
      offer(before[at], replays ? rank : -1);
      offer(at, replays ? rank : -1);
    }
    return ids.filter((id) => id !== GONE);
  };

  // Initial symbols of a pre-token, as ids.
  const symbolsOf = (model) => {
    const { idOf, marker: [kind, mark] } = model;
    const isFused = kind === "end-fused", goesOn = kind === "continuation";
    const fallen = new Map();
    const bytesFor = (spelled) => {
      if (!fallen.has(spelled)) fallen.set(spelled, fallBack(model, spelled));
      return fallen.get(spelled);
    };
    return (part) => {
      const ids = [];
      let isHeld = false;
      const push = (spelled, falls) => {
        const id = idOf.get(spelled);
        if (id !== undefined) { ids.push(id); isHeld = false; return; }
        const bytes = falls ? bytesFor(spelled) : null;
        if (bytes) { ids.push(...bytes); return; }
        if (model.unknown === "drop") return;
        if (!isHeld || !model.fuse) { ids.push(model.unk ?? NONE); isHeld = model.unk !== null; }
      };
      if (kind === "start") push(mark, false);
      for (let at = 0; at < part.length;) {
        const end = at + width(part.codePointAt(at));
        const char = part.slice(at, end);
        push((goesOn && at ? mark : "") + char + (isFused && end === part.length ? mark : ""), true);
        at = end;
      }
      if (kind === "end") push(mark, false);
      return ids;
    };
  };

  // Segments a part and lists the steps, with `merge` as the function that merges symbols.
  const bySymbols = (model, merge) => {
    const symbols = symbolsOf(model);
    const spelledOf = (part) => (model.isBytes ? bytesOf(part) : part);
    const wholeOf = (spelled) => (model.whole ? model.idOf.get(spelled) : undefined);
    return {
      segment(part) {
        const spelled = spelledOf(part), whole = wholeOf(spelled);
        return whole === undefined ? merge(symbols(spelled)) : [whole];
      },
      replay(part, most) {
        const spelled = spelledOf(part), whole = wholeOf(spelled);
        const ids = symbols(spelled), steps = [{ ids: [...ids] }];
        merge(ids, (step, now) => { if (steps.length <= most) steps.push({ ...step, ids: now }); });
        if (whole !== undefined && steps.at(-1).ids.length > 1) steps.push({ token: whole, ids: [whole] });
        return steps;
      },
    };
  };

  const merging = (model, { merges = [], ranks }) => {
    const ranking = model.segmentation === "ranks" ? spelling(model, ranks) : listed(merges, model.size);
    const replays = model.segmentation === "replay";
    return bySymbols(model, (ids, done) => merged(ids, ranking, replays, done));
  };

  // Number of initial symbols of each merged token.
  const widthsOf = (merges) => {
    const widths = new Map();
    for (const [left, right, token] of merges) {
      widths.set(token, (widths.get(left) ?? 1) + (widths.get(right) ?? 1));
    }
    return widths;
  };

  // PickyBPE and BoundlessBPE: merges and removals in training order. The merge of rank r has time 2r,
  // the removals after it have time 2r + 1. A symbol takes as many slots as it has initial symbols, so
  // that a removed token can be split in place.
  const events = (model, { merges }) => {
    const toSymbols = model.segmentation === "events-to-symbols";
    const ranking = listed(merges, model.size + model.removed), widths = widthsOf(merges);
    const pasts = new Map(model.removals.map(([, token]) => [token, { sides: null, times: [] }]));
    let waiting = 0;
    merges.forEach(([left, right, token], rank) => {
      const past = pasts.get(token);
      if (past) { past.sides ??= [left, right]; past.times.push(2 * rank); }
      for (; model.removals[waiting]?.[0] === rank + 1; waiting += 1) {
        pasts.get(model.removals[waiting][1]).times.push(2 * rank + 1);
      }
    });
    const removalFrom = (token, time) => pasts.get(token)?.times.find((one) => one >= time && one % 2);
    const isPresent = ({ times }, time) => (times.findLast((one) => one <= time) ?? 1) % 2 === 0;
    // Parts that a removed token splits into: its two sides, each split further if it is absent at that
    // time.
    const partsOf = (token, time) => {
      const open = [token], parts = [];
      while (open.length) {
        const id = open.pop(), past = pasts.get(id);
        if (past && !isPresent(past, time)) open.push(past.sides[1], past.sides[0]);
        else parts.push([id, widths.get(id) ?? 1]);
      }
      return parts;
    };
    return bySymbols(model, (initial, done) => {
      const end = initial.length, INSIDE = -2;
      const ids = [...initial], wide = new Int32Array(end).fill(1), heap = new Heap();
      const before = Int32Array.from(ids, (_, at) => at - 1);
      const say = (step) => { if (done) done(step, ids.filter((id) => id !== INSIDE)); };
      const offerPair = (at, passed) => {
        const next = at + wide[at];
        if (at < 0 || next >= end) return;
        const rank = ranking.rank(ids[at], ids[next], passed);
        if (rank >= 0) heap.push(2 * rank * PLACES + at);
      };
      const offerRemoval = (at, time) => {
        const removal = removalFrom(ids[at], time + 1);
        if (removal !== undefined) heap.push(removal * PLACES + at);
      };
      for (let at = 0; at < end; at += 1) offerPair(at, -1);
      while (heap.items.length) {
        const item = heap.pop(), at = item % PLACES, time = (item - at) / PLACES, rank = time >> 1;
        if (time % 2 === 0) {
          const next = at + wide[at], [left, right, token] = merges[rank];
          if (ids[at] !== left || next >= end || ids[next] !== right) continue;
          ids[at] = token;
          wide[at] += wide[next];
          ids[next] = INSIDE;
          if (at + wide[at] < end) before[at + wide[at]] = at;
          say({ rank, pair: [left, right], token });
          offerPair(before[at], rank);
          offerPair(at, rank);
          offerRemoval(at, time);
          continue;
        }
        if (removalFrom(ids[at], time) !== time) continue;
        const token = ids[at], stop = at + wide[at];
        const parts = toSymbols ? initial.slice(at, stop).map((id) => [id, 1]) : partsOf(token, time);
        let place = at, last = before[at];
        for (const [id, size] of parts) {
          ids[place] = id;
          wide[place] = size;
          before[place] = last;
          last = place;
          place += size;
        }
        if (stop < end) before[stop] = last;
        say({ removed: token });
        offerPair(before[at], rank);
        for (place = at; place < stop; place += wide[place]) { offerPair(place, rank); offerRemoval(place, time); }
      }
      return ids.filter((id) => id !== INSIDE);
    });
  };

  // Scaffold-BPE and LiteToken: merges; then each token without an id becomes the fewest tokens that it
  // was merged from. With LiteToken these merge again.
  const demolition = (model, { merges }) => {
    const { size } = model, all = size + model.removed;
    const ranking = listed(merges, all), widths = widthsOf(merges), kept = merges.filter(([, , token]) => token < size);
    const again = model.segmentation === "remerge" ? listed(kept, all) : null;
    const sides = new Map(), fewest = new Map();
    const count = (id) => (id < size ? 1 : fewest.get(id) ?? Infinity);
    const shorterFirst = merges.filter(([, , token]) => token >= size)
      .sort(([, , one], [, , two]) => widths.get(one) - widths.get(two));
    for (const [left, right, token] of shorterFirst) {
      const parts = count(left) + count(right);
      if (parts < count(token)) { fewest.set(token, parts); sides.set(token, [left, right]); }
    }
    return bySymbols(model, (initial, done) => {
      const ids = merged(initial, ranking, false, done), out = [];
      for (const id of ids) {
        const open = [id];
        while (open.length) {
          const one = open.pop(), two = sides.get(one);
          if (two) open.push(two[1], two[0]);
          else out.push(one);
        }
        if (done && sides.has(id)) done({ removed: id }, [...out]);
      }
      return again && out.length > ids.length ? merged(out, again, false, done) : out;
    });
  };

  // Looks up a pre-token as a whole.
  const lookup = (model) => {
    const segment = (part) => {
      const id = model.idOf.get(part);
      return id === undefined ? fallBack(model, part) ?? [model.unk ?? NONE] : [id];
    };
    return { segment, replay: (part) => [{ token: segment(part)[0], rest: "", ids: segment(part) }] };
  };

  // BoundlessBPE: neighbouring pre-tokens merge if each is one token.
  const joiner = ({ supermerges, size, tokens }) => {
    if (!supermerges) return (parts) => parts;
    const ranking = listed(supermerges, size);
    const made = new Set(supermerges.map(([, , token]) => token));
    const words = new Set(supermerges.flatMap(([left, right]) => [left, right]).filter((id) => !made.has(id)));
    return (parts) => {
      const out = [];
      let run = [];
      const finish = () => {
        const ids = run.map(({ ids: [id] }) => id);
        let at = 0;
        for (const token of run.length > 1 ? merged(ids, ranking, false) : ids) {
          const joined = [];
          for (let left = tokens[token].length; left; at += 1) {
            joined.push(run[at]);
            left -= tokens[run[at].ids[0]].length;
          }
          const part = joined.map((one) => one.part).join("");
          out.push(joined.length > 1 ? { part, ids: [token], joined: joined.map((one) => one.ids[0]) } : joined[0]);
        }
        run = [];
      };
      for (const one of parts) {
        if (one.ids.length === 1 && words.has(one.ids[0])) { run.push(one); continue; }
        finish();
        out.push(one);
      }
      finish();
      return out;
    };
  };

  const longestMatch = (model) => {
    const { step, values } = trieOf(model.ordinary);
    const [, prefix] = model.marker;
    let inside = 0;
    for (let at = 0; at < prefix.length && inside >= 0; at += 1) inside = step(inside, prefix.charCodeAt(at));
    const segment = (part, done) => {
      if (model.most !== null && [...part].length > model.most) return [model.unk ?? NONE];
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
            if (done) done(model.unk ?? NONE, part.slice(at), true);
            return [model.unk ?? NONE];
          }
          found = model.unk ?? NONE;
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
        return steps.length ? steps : [{ token: model.unk ?? NONE, rest: "", ids: [model.unk ?? NONE] }];
      },
    };
  };

  const unigram = (model, columns) => {
    const { step, values } = trieOf(model.ordinary);
    const { scores } = columns, round = model.single ? Math.fround : (sum) => sum;
    const MAX_SUM = 100_000;
    // Best path to each offset; among equal paths the first stays.
    const best = (text) => {
      const sums = new Float64Array(text.length + 1).fill(NaN);
      const from = new Int32Array(text.length + 1), pieces = new Int32Array(text.length + 1);
      const offer = (start, end, piece, sum) => {
        if (sum <= sums[end]) return;
        sums[end] = sum;
        from[end] = start;
        pieces[end] = piece;
      };
      sums[0] = 0;
      let farthest = 0;
      for (let at = 0; at < text.length; ) {
        const next = at + width(text.codePointAt(at));
        let before = sums[at], isPiece = false;
        if (model.single && Math.abs(before) > MAX_SUM) {
          // As in SentencePiece: sums start again near 0, because large ones are too coarse in 32 bits.
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
        if (!bytes) ids.push(known ?? model.unk ?? NONE);
        else for (const id of bytes) ids.push(id); // `...bytes` could exceed the limit of arguments
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
    if (model.byMerges) {
      const count = varint();
      columns.isPlain = varint() === 1;
      if (columns.isPlain) {
        // Each merge has its new token (mostly the next id) and the length of its left side.
        let last = -1;
        const made = Array.from({ length: count }, () => {
          const step = varint();
          last += 1 + (step % 2 ? -(step + 1) / 2 : step / 2);
          return last;
        });
        const reserved = new Set(model.reserved), ids = model.tokens.map((token, id) => [token, id]);
        const all = new Map(ids.filter(([, id]) => reserved.has(id)));
        for (const [token, id] of ids) if (!reserved.has(id)) all.set(token, id);
        columns.merges = made.map((id) => {
          const token = model.tokens[id], cut = varint();
          return [all.get(token.slice(0, cut)), all.get(token.slice(cut)), id];
        });
      } else columns.merges = Array.from({ length: count }, () => [varint(), varint(), varint()]);
    } else if (model.segmentation === "ranks" && model.hasRanks) {
      columns.ranks = Array.from({ length: model.size }, varint);
    } else if (model.segmentation === "viterbi") {
      const floats = bytes.slice(at).buffer;
      columns.scores = model.single ? new Float32Array(floats) : new Float64Array(floats);
    }
    return columns;
  };

  // Added tokens, special ones among them: leftmost first, then longest. A match consumes its text even
  // if it is then refused; a special token that is not allowed (`refused`) stays text.
  const finder = (tokens, model, { classes }, refused) => {
    const found = tokens.filter(({ text }) => text);
    if (!found.length) return null;
    const trie = trieOf(found.map(({ text }, place) => [text, place]).reverse());
    const firsts = new Uint8Array(0x10000), space = classes[model.space], word = classes[model.word];
    const bytes = found.map(({ text }) => bytesOf(text).length);
    for (const { text } of found) firsts[text.charCodeAt(0)] = 1;
    const leftmost = (text) => {
      const spans = [];
      for (let at = 0; at < text.length;) {
        const [end, place] = firsts[text.charCodeAt(at)] ? longestAt(trie, text, at) : [-1, -1];
        if (end < 0) { at += 1; continue; }
        spans.push([at, end, found[place]]);
        at = end;
      }
      return spans;
    };
    // As in llama.cpp: the longest first, at any offset.
    const longestFirst = (text) => {
      const all = [], taken = new Uint8Array(text.length), spans = [];
      for (let at = 0; at < text.length; at += 1) {
        for (let node = 0, end = at; end < text.length;) {
          node = trie.step(node, text.charCodeAt(end));
          if (node < 0) break;
          end += 1;
          if (trie.values[node] >= 0) all.push([at, end, trie.values[node]]);
        }
      }
      all.sort((one, two) => bytes[two[2]] - bytes[one[2]] || one[0] - two[0]);
      for (const [start, end, place] of all) {
        if (taken[start] || taken[end - 1]) continue;
        taken.fill(1, start, end);
        spans.push([start, end, found[place]]);
      }
      return spans.sort((one, two) => one[0] - two[0]);
    };
    const isWord = (text, at) => at >= 0 && at < text.length && word[text.codePointAt(at)];
    const isAlone = (text, start, end) => {
      const unit = text.charCodeAt(start - 1);
      return !isWord(text, start - (unit >= 0xdc00 && unit < 0xe000 ? 2 : 1)) && !isWord(text, end);
    };
    // Calls `emit(id, start, end)` for each added token, and with id null for each stretch between.
    return (text, emit) => {
      let before = 0, stripped = 0, done = 0;
      for (const [from, to, token] of (model.byLength ? longestFirst : leftmost)(text)) {
        let start = from, end = to;
        if (refused(token) || (token.alone && !isAlone(text, start, end))) continue;
        if (token.left) {
          const lowest = Math.min(before, start);
          while (start > lowest && space[text.charCodeAt(start - 1)]) start -= 1;
          start = Math.max(start, before);
        }
        if (token.right) {
          end = Math.max(end, stripped);
          while (end < text.length && space[text.charCodeAt(end)]) end += 1;
          stripped = end;
        }
        if (start >= end) continue;
        before = end;
        if (start > done) emit(null, done, start);
        emit(token.id, start, end);
        done = end;
      }
      if (done < text.length) emit(null, done, text.length);
    };
  };

  const KINDS = {
    merges: merging, replay: merging, ranks: merging, symbols: merging,
    events, "events-to-symbols": events, demolish: demolition, remerge: demolition,
    "longest-match": longestMatch, viterbi: unigram, lookup,
  };
  // SentencePiece's BPE merges whole texts. If no token has a word marker after another character,
  // words can be merged one by one.
  const WORD = "\u2581";
  const cutsAtWords = (model, { isPlain }) => (
    !model.isBytes && !model.split.length && (model.segmentation === "ranks" || isPlain) &&
    model.marker[0] === "none" && !model.whole && model.unknown !== "drop" && model.idOf.has(WORD) &&
    !model.idOf.has(model.tokens[model.unk]) && model.ordinary.every(([token]) => !/[^\u2581]\u2581/.test(token)));

  const opened = async (described, tables) => {
    const model = { ...described, isBytes: described.units === "bytes" };
    model.byMerges = ["merges", "replay", "events", "events-to-symbols", "demolish", "remerge"].includes(model.segmentation);
    const columns = readColumns(await unpacked(described.columns), model);
    // If special tokens are allowed, ordinary text may also become some of them (`made`).
    const segmenterWith = (made) => {
      const reserved = new Set(model.reserved.filter((id) => !made.includes(id)));
      const ordinary = model.tokens.map((token, id) => [token, id]).filter(([, id]) => !reserved.has(id));
      const all = { ...model, ordinary, idOf: new Map(ordinary), isOrdinary: (id) => !reserved.has(id) };
      const own = KINDS[model.segmentation](all, columns), cache = new Map();
      const segment = (part) => {
        let ids = cache.get(part);
        if (!ids) {
          ids = own.segment(part);
          if (cache.size >= CACHED) cache.clear();
          if (part.length < 1000) cache.set(part, ids);
        }
        return ids;
      };
      return { segment, replay: own.replay, cuts: cutsAtWords(all, columns) };
    };
    const usual = segmenterWith([]);
    const own = [usual, model.made.length ? segmenterWith(model.made) : usual];
    const steps = [];
    for (const step of model.normalizers) steps.push(normalizer(step, tables, steps));
    const splits = model.split.map((step) => splitter(step, tables));
    if (own.every(({ cuts }) => cuts)) splits.push((text) => text.split(/(?<=[^\u2581])(?=\u2581)/));
    // Without and with special tokens: finders for the text as given and for the normalized text.
    const finders = [false, true].map((special) => {
      const refused = ({ always }) => !special && !always;
      // Of tokens with equal texts the first counts: those that stay text come last, as in the core.
      const searched = [
        ...model.added.filter((token) => !refused(token)),
        ...model.added.filter((token) => token.textOnly && refused(token)),
      ];
      return [false, true].map((later) => (
        finder(searched.filter((token) => Boolean(token.later) === later), model, tables, refused)));
    });
    const joined = joiner(model);
    // Adjacent unknown words become one.
    const fused = (parts) => {
      if (model.segmentation !== "lookup" || !model.fuse || model.unk === null) return parts;
      const out = [];
      for (const one of parts) {
        if (one.ids[0] === model.unk && out.at(-1)?.ids[0] === model.unk) out.at(-1).part += one.part;
        else out.push({ ...one });
      }
      return out;
    };
    const stretch = (text, atStart, { segment }) => {
      let pieces = [text];
      splits.forEach((split, place) => {
        pieces = pieces.length === 1 ? split(pieces[0], atStart && !place)
          : pieces.flatMap((piece) => split(piece, false));
      });
      return joined(fused(pieces.map((part) => ({ part, ids: segment(part) }))));
    };
    // Returns the segmented parts in order; an added token is a part of its own.
    const encode = (given, special) => {
      const text = given.toWellFormed ? given.toWellFormed() : given.replace(/\p{Surrogate}/gu, "\ufffd");
      const parts = [];
      const put = (id) => parts.push({ part: null, ids: [id] });
      const each = (find, found, emit) => {
        if (find) find(found, emit);
        else if (found) emit(null, 0, found.length);
      };
      const [raw, later] = finders[Number(special)];
      if (special) model.before.forEach(put);
      each(raw, text, (id, start, end) => {
        if (id !== null) { put(id); return; }
        const part = text.slice(start, end);
        const normal = steps.reduce((made, step) => step(made, part), part);
        each(later, normal, (one, from, to) => {
          if (one !== null) put(one);
          else for (const found of stretch(normal.slice(from, to), !start && !from, own[Number(special)])) parts.push(found);
        });
      });
      if (special) model.after.forEach(put);
      return parts;
    };
    return {
      name: model.name, segmentation: model.segmentation, isBytes: model.isBytes, unk: model.unk,
      tokens: model.tokens, special: new Set(model.special), replay: usual.replay, encode,
      ids: (text, special) => encode(text, special).flatMap(({ ids }) => ids),
    };
  };

  // Opens the models of a page; a model that the page can't run stays `{name, reason}`.
  const open = async (page) => {
    const { classes, changes, forms } = await inflatedJson(page.unicode);
    const tables = {
      classes: classes.map(classTable),
      changes: changes.map(changeTable),
      forms: forms && normalForms(forms),
      blobs: (await Promise.all(page.blobs.map(unpacked))).map(rulesOf),
    };
    return Promise.all(page.models.map((model) => (model.reason ? model : opened(model, tables))));
  };

  return { open };
})();
