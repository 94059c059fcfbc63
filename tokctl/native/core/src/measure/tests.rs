use super::words::align;
use super::*;
use crate::encode::Token;

fn tokens(spans: &[(usize, usize)]) -> Vec<Token> {
    let token = |&(start, end)| Token {
        id: 1,
        start,
        end,
        pre_token: 0,
    };
    spans.iter().map(token).collect()
}

fn options(words: WordRule, unknown: Option<u32>) -> MeasureOptions {
    MeasureOptions {
        unknown,
        words,
        boundaries: true,
        lines: true,
        threads: 1,
        chunk: 1,
    }
}

/// Return (words, whole, split) of a text that is cut at the offsets `cuts`.
fn counted(
    text: &str,
    spans: &[(usize, usize)],
    cuts: &[usize],
    rule: WordRule,
) -> (u64, u64, u64) {
    let options = options(rule, None);
    let tokens = tokens(spans);
    let mut shares = Shares::new(text.len(), &options);
    let (mut start, mut first) = (0, 0);
    for &end in cuts.iter().chain([&text.len()]) {
        // An empty token at a cut belongs to the range after the cut.
        let inside = |token: &&Token| token.end <= end && (token.start < end || end == text.len());
        let count = tokens[first..].iter().take_while(inside).count();
        let own = &tokens[first..first + count];
        shares.join(RangeCounts::of(
            text.as_bytes(),
            (start, end),
            own,
            &options,
        ));
        (start, first) = (end, first + count);
    }
    let totals = shares.finish(Vec::new()).totals;
    (totals[WORDS], totals[WHOLE], totals[SPLIT])
}

fn words(text: &str, spans: &[(usize, usize)]) -> (u64, u64, u64) {
    counted(text, spans, &[], WordRule::Spaces)
}

#[test]
fn words_are_whole_or_split() {
    assert_eq!(words("ab cd", &[(0, 2), (2, 5)]), (2, 2, 0));
    assert_eq!(words("ab cd", &[(0, 2), (3, 5)]), (2, 2, 0));
    assert_eq!(words("ab cd", &[(0, 1), (1, 2), (2, 5)]), (2, 1, 1));
    // A start marker that is a symbol of its own makes a second token, and so does an end marker.
    assert_eq!(words("ab cd", &[(0, 0), (0, 2), (3, 5)]), (2, 1, 1));
    let marked = [(0, 2), (2, 2), (3, 5), (5, 5)];
    assert_eq!(words("ab cd", &marked), (2, 0, 2));
    // One token over two words, and a word without a token.
    assert_eq!(words("ab cd", &[(0, 5)]), (2, 2, 0));
    assert_eq!(words("ab cd", &[(0, 2)]), (2, 1, 0));
    assert_eq!(words("  ", &[(0, 2)]), (0, 0, 0));
}

#[test]
fn a_cut_between_a_word_and_its_end_marker_changes_nothing() {
    for spans in [
        &[(0, 2), (2, 2), (3, 5), (5, 5)][..],
        &[(0, 1), (1, 2), (2, 2), (3, 5)],
        &[(2, 2), (2, 2), (2, 5)],
        &[(2, 2), (2, 5)],
        &[(0, 2), (2, 5)],
    ] {
        assert_eq!(
            counted("ab cd", spans, &[2], WordRule::Spaces),
            words("ab cd", spans),
            "{spans:?}"
        );
    }
}

#[test]
fn words_of_unicode_hold_a_letter_or_a_number() {
    let found = |text: &str| {
        let mut found = Vec::new();
        WordRule::Unicode.each(text.as_bytes(), |start, end| {
            found.push(text[start..end].to_string());
        });
        found
    };
    assert_eq!(
        found("The quick (“brown”) fox can’t jump 32.3 feet, right?"),
        ["The", "quick", "brown", "fox", "can’t", "jump", "32.3", "feet", "right"]
    );
    assert_eq!(
        found("日本 カタカナ ½ … 👍 ☃"),
        ["日", "本", "カタカナ", "½"]
    );
    // A byte that is not UTF-8 separates words.
    let mut places = Vec::new();
    WordRule::Unicode.each(b"ab\xFFcd \xE2\x82 e", |a, b| places.push((a, b)));
    assert_eq!(places, [(0, 2), (3, 5), (9, 10)]);
}

#[test]
fn the_unknown_token_keeps_no_word() {
    let mut whole = Vec::new();
    let spans = tokens(&[(0, 2), (3, 5)]);
    align(b"ab cd", 0, &spans, (WordRule::Spaces, Some(1)), |word| {
        whole.push(word.whole);
    });
    assert_eq!(whole, [false, false]);
}

#[test]
fn lines_add_up_and_a_token_is_where_it_starts() {
    let text = b"ab c\n\n d\n";
    // ab | c\n\n | d | an end marker after the last byte.
    let spans = tokens(&[(0, 2), (2, 6), (6, 8), (9, 9)]);
    let options = options(WordRule::Spaces, Some(1));
    let mut shares = Shares::new(text.len(), &options);
    shares.join(RangeCounts::of(text, (0, 2), &spans[..1], &options));
    shares.join(RangeCounts::of(text, (2, 6), &spans[1..2], &options));
    shares.join(RangeCounts::of(text, (6, 9), &spans[2..], &options));
    let found = shares.finish(Vec::new());
    // Bytes, characters, spaces, words, whole, split, tokens, unknown.
    let expected = [
        [5, 5, 2, 2, 0, 0, 2, 2],
        [1, 1, 1, 0, 0, 0, 0, 0],
        [3, 3, 2, 1, 0, 0, 2, 2],
    ];
    assert_eq!(found.lines.unwrap(), expected);
    assert_eq!(found.totals, [9, 9, 5, 3, 0, 0, 4, 4]);
    assert_eq!(found.boundaries.unwrap().count(), 0);
}

#[test]
fn boundaries_are_strictly_inside_words() {
    // "abc def": a|bc| def against ab|c |d|ef.
    let of = |spans| Boundaries::of_share(b"abc def", 0, &tokens(spans));
    let first = of(&[(0, 1), (1, 3), (3, 7)]);
    let second = of(&[(0, 2), (2, 4), (4, 5), (5, 7)]);
    assert_eq!((first.count(), second.count()), (1, 2));
    assert_eq!((shared(&first, &second), shared(&second, &second)), (0, 2));
    // Far into a text.
    let long: Vec<(usize, usize)> = (0..200).map(|at| (at, at + 1)).collect();
    let word = vec![b'a'; 200];
    assert_eq!(Boundaries::of_share(&word, 0, &tokens(&long)).count(), 199);
    let (text, far) = (vec![b'a'; 130], [(1000, 1001), (1001, 1127), (1127, 1130)]);
    let mut all = Boundaries::of_text(1130);
    all.join(1000, &Boundaries::of_share(&text, 1000, &tokens(&far)));
    assert_eq!(all.count(), 2);
}

#[test]
fn boundaries_of_documents_lie_one_behind_the_other() {
    let long: Vec<(usize, usize)> = (0..100).map(|at| (at, at + 1)).collect();
    let alone = Boundaries::of_share(&[b'a'; 100], 0, &tokens(&long));
    assert_eq!(alone.count(), 99);
    for start in [0, 1, 27, 28, 63, 64, 100] {
        let mut all = Boundaries::of_text(200);
        all.join_shifted(start, &alone);
        assert_eq!(all.count(), 99, "{start}");
        // Only the boundaries of this document count, not those around it.
        let ends = [start, start + 100, 200];
        assert_eq!(shared_weighted(&all, &all, &ends, &[5, 3, 7]), 3 * 99);
        let ends = [start, start + 50, start + 100];
        assert_eq!(shared_weighted(&all, &all, &ends, &[5, 1, 2]), 49 + 2 * 50);
    }
}

#[test]
fn lines_stand_there_as_often_as_their_document_counts() {
    let mut found = Column::new();
    let documents = [(2, 3), (0, 1 << 50), (1, 1)];
    weighted_column([7, 8, 9].into_iter(), documents.into_iter(), &mut found).unwrap();
    assert_eq!(found, [7, 8, 7, 8, 7, 8, 9]);
    let many = [(2, MOST_LINES / 2), (1, 1)];
    let refused = weighted_column([7, 8, 9].into_iter(), many.into_iter(), &mut Column::new());
    assert!(refused.is_err());
}

#[test]
fn resamples_are_those_of_the_definition() {
    use crate::random::SplitMix64;
    let column: Column = (0..2500).map(|line| line * line % 1009).collect();
    let ones: Column = vec![1; 2500];
    let found = resample(&[&column, &ones], 9, 7, 2, &|| false).unwrap();
    let mut seeds = SplitMix64::new(7);
    for sums in &found {
        let mut numbers = SplitMix64::new(seeds.next_u64());
        let draw = (0..2500).map(|_| (u128::from(numbers.next_u64()) * 2500) >> 64);
        let sum: u64 = draw.map(|line| u64::from(column[line as usize])).sum();
        assert_eq!(*sums, [sum, 2500]);
    }
    assert_eq!(
        found,
        resample(&[&column, &ones], 9, 7, 1, &|| false).unwrap()
    );
    assert!(resample(&[&column, &vec![1]], 9, 7, 1, &|| false).is_err());
    assert_eq!(resample(&[], 2, 7, 1, &|| false), Ok(vec![vec![]; 2]));
}
