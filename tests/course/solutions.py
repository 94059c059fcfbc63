"""A solution of every exercise of the tutorial, as a reader could write it.

Each is put at the end of the code of the pages (`tests.tools.docs.tutorial.code_of`), uses the
names defined in that code, and knows nothing of tokctl.
"""
# ruff: noqa: F821, RUF007, B905

import codecs
import heapq
import unicodedata


def is_mark(character):
    return unicodedata.category(character).startswith("P") or character in "$+<=>^`|~"


def split_punctuation(text):
    spaced = "".join(f" {one} " if is_mark(one) else one for one in text)
    return spaced.split()


def plain(text):
    decomposed = unicodedata.normalize("NFD", text)
    kept = [one for one in decomposed if not unicodedata.category(one).startswith("M")]
    return "".join(one.lower() for one in kept)


def word_ids(counts, size, text):
    frequent = sorted(counts, key=lambda word: -counts[word])[: size - 1]
    ids = {word: id_ for id_, word in enumerate(frequent, 1)}
    return [ids.get(word, 0) for word in text.split()]


def ranked_steps(word, merges):
    """The symbols of a word, and the ranks that were made on the way."""
    ranks = {tuple(pair): rank for rank, pair in reversed(list(enumerate(merges)))}
    symbols, made = tuple(word), []
    while known := [pair for pair in zip(symbols, symbols[1:]) if pair in ranks]:
        pair = min(known, key=ranks.get)
        symbols = merge_word(symbols, pair, pair[0] + pair[1])
        made.append(ranks[pair])
    return list(symbols), made


def encode_by_rank(word, merges):
    return ranked_steps(word, merges)[0]


def train_moving(counts, size):
    return train_fast(counts, size, start_and_letters, moving=True)[1]


def train_lowest_id(counts, size):
    state = first_state(counts, letters)
    vocabulary = alphabet(state)
    merges = []
    while len(vocabulary) < size and (pairs := count_pairs(state)):
        ids = {token: id_ for id_, token in enumerate(vocabulary)}
        best = min(pairs, key=lambda pair: (-pairs[pair], ids[pair[0]], ids[pair[1]]))
        token = joined(*best)
        state = {merge_word(word, best, token): count for word, count in state.items()}
        merges.append(best)
        if token not in ids:
            vocabulary.append(token)
    return merges


def train_by_count(counts, size):
    return train(counts, size, with_hashes, most_frequent, joined_inside)[1]


def match_characters(word, vocabulary):
    tokens, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        ends = [
            end for end in range(start + 1, len(word) + 1) if mark + word[start:end] in vocabulary
        ]
        tokens.append(mark + word[start : ends[-1]] if ends else "[UNK]")
        start = ends[-1] if ends else start + 1
    return tokens


def join_hashes(tokens):
    return " ".join(tokens).replace(" ##", "")


def n_best(word, scores, n):
    best = [[([], 0.0)]]
    for end in range(1, len(word) + 1):
        ways = [
            ([*pieces, word[start:end]], score + scores[word[start:end]])
            for start in range(end)
            if word[start:end] in scores
            for pieces, score in best[start]
        ]
        best.append(sorted(ways, key=lambda way: -way[1])[:n])
    return best[-1]


def pieces_or_unknown(word, scores):
    unknown = min(scores.values()) - 10
    extended = dict.fromkeys(word, unknown) | scores
    found = []
    for piece in best_pieces(word, extended)[0]:
        name = piece if piece in scores else "<unk>"
        if name != "<unk>" or found[-1:] != ["<unk>"]:
            found.append(name)
    return found


def loss(piece, scores):
    pieces, score = best_pieces(piece, {one: n for one, n in scores.items() if one != piece})
    return pieces, scores[piece] - score


def steps_of(word, merges):
    return [(rank + 1, *merges[rank]) for rank in ranked_steps(word, merges)[1]]


def unused_tokens(counts, merges):
    used = {token for word in counts for token in encode_word(word, merges)}
    return [token for token in dict.fromkeys(map("".join, merges)) if token not in used]


def train_quickly(counts, size):
    return train_fast(counts, size, letters)[1]


def word_figures(text, merges):
    words = [encode_word(word, merges, letters) for word in text.split()]
    return sum(map(len, words)) / len(words), sum(len(one) == 1 for one in words) / len(words)


def renyi(counts, size):
    total = sum(counts)
    power = sum((count / total) ** 2.5 for count in counts)
    return math.log2(power) / (1 - 2.5) / math.log2(size)


def score_table(counts, steps):
    state = first_state(counts, with_hashes)
    for _ in range(steps):
        pair = likeliest(state)
        token = joined_inside(*pair)
        state = {merge_word(word, pair, token): count for word, count in state.items()}
    symbols = count_symbols(state)
    rows = [(a, b, n, symbols[a], symbols[b]) for (a, b), n in count_pairs(state).items()]
    return sorted(rows, key=lambda row: -Fraction(row[2], row[3] * row[4]))


def step_of(token, counts):
    merges = train(counts, 10**9, with_hashes, likeliest, joined_inside)[1]
    made = [joined_inside(*pair) for pair in merges]
    return made.index(token) + 1 if token in made else None


def utf8(text):
    data = []
    for point in map(ord, text):
        if point < 0x80:
            data.append(point)
            continue
        following = 1 if point < 0x800 else 2 if point < 0x10000 else 3
        start = {1: 0b11000000, 2: 0b11100000, 3: 0b11110000}[following]
        data.append(start | point >> 6 * following)
        data += [0b10000000 | point >> 6 * at & 0b111111 for at in range(following - 1, -1, -1)]
    return bytes(data)


def stream(tokens):
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [*map(decoder.decode, tokens), decoder.decode(b"", final=True)]


def text_of(ids, vocabulary):
    return bytes_of(vocabulary[id_] for id_ in ids).decode("utf-8", errors="replace")


def kind(character):
    if character.isspace():
        return "space"
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "other"


def split_gpt2(text):
    found, at = [], 0
    while at < len(text):
        endings = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
        ending = next((one for one in endings if text.startswith(one, at)), None)
        start = at + (text[at] == " ")
        if ending:
            end = at + len(ending)
        elif start < len(text) and kind(text[start]) != "space":
            end = start
            while end < len(text) and kind(text[end]) == kind(text[start]):
                end += 1
        else:
            end = at
            while end < len(text) and kind(text[end]) == "space":
                end += 1
            if end < len(text) and end - at > 1:
                end -= 1
        found.append(text[at:end])
        at = end
    return found


def digit_groups(digits, right):
    first = len(digits) % 3 if right else 0
    groups = [digits[at : at + 3] for at in range(first, len(digits), 3)]
    return [digits[:first], *groups] if first else groups


def encode_long(word, ranks):
    ends = list(range(1, len(word) + 1))  # where the part that starts here ends
    starts = list(range(-1, len(word)))  # where the part before the one that starts here starts
    alive = [True] * len(word)
    heap = []

    def look(start):
        if start >= 0 and ends[start] < len(word):
            end = ends[ends[start]]
            if (rank := ranks.get(word[start:end])) is not None:
                heapq.heappush(heap, (rank, start, end))

    for start in range(len(word)):
        look(start)
    while heap:
        _, start, end = heapq.heappop(heap)
        middle = ends[start]
        if not alive[start] or middle == len(word) or ends[middle] != end or middle >= end:
            continue
        alive[middle] = False
        ends[start] = end
        if end < len(word):
            starts[end] = start
        look(start)
        look(starts[start])
    return [ranks[word[at : ends[at]]] for at in range(len(word)) if alive[at]]


def cut_at_special(text, special):
    return [(part, part in special) for part in cut_special(text, special)]


def frame_pair(first, second):
    tokens = ["[CLS]", *first, "[SEP]"]
    types = [0] * len(tokens)
    if second is not None:
        tokens += [*second, "[SEP]"]
        types += [1] * (len(second) + 1)
    return tokens, types


def out_of_reach(ranks):
    return [token for token, rank in ranks.items() if merge_by_rank(token, ranks) != [rank]]


def typo_costs(word, merges):
    typos = {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)}
    return {typo: len(encode_word(typo, merges, letters)) for typo in typos - {word}}


def allowed(tokens, most, forbidden):
    def is_allowed(token):
        words = [word for word in token.split(" ") if word]
        return len(words) <= most and not any(text in token for text in forbidden)

    return [token for token in tokens if is_allowed(token)]


def train_superwords(lines, size, transition, most, forbidden):
    words = [word for line in lines for word in split(line, GPT2)]
    vocabulary, merges = train_bytes(words, transition)
    state = lines_as_tokens(lines, merges)

    def best_pair():
        pairs = count_pairs(state)
        fitting = [pair for pair in pairs if is_allowed("".join(pair))]
        return min(
            fitting,
            key=lambda pair: (-pairs[pair], *(vocabulary[one] for one in pair)),
            default=None,
        )

    def is_allowed(token):
        words = [word for word in token.split("Ġ") if word]
        return len(words) <= most and not any(spelled(one) in token for one in forbidden)

    def spelled(text):
        return "".join(spell_bytes(text))

    while len(vocabulary) < size and (best := best_pair()):
        token = joined(*best)
        state = {merge_word(line, best, token): count for line, count in state.items()}
        merges.append(best)
        vocabulary.setdefault(token, len(vocabulary))
    return merges


def taken_back(prompt, rest, merges):
    alone = encode_word(prompt, merges, spell_bytes)
    whole = encode_word(prompt + rest, merges, spell_bytes)
    same = 0
    while same < len(alone) and alone[same] == whole[same]:
        same += 1
    return len(alone) - same
