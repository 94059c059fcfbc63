//! Trainings small enough to check by hand, and odd or large inputs.

use super::*;

fn counts(words: &[(&str, u64)]) -> Counts {
    let mut counts = Counts::default();
    for (word, count) in words {
        counts.push(word.as_bytes(), *count);
    }
    counts
}

fn options(vocab_size: u64) -> UnigramTrainingOptions {
    UnigramTrainingOptions {
        vocab_size,
        ..UnigramTrainingOptions::default()
    }
}

fn train(words: &[(&str, u64)], options: &UnigramTrainingOptions) -> UnigramTraining {
    train_unigram(&counts(words), options, &mut |_| true).unwrap()
}

fn texts(training: &UnigramTraining) -> Vec<&str> {
    let pieces = training.pieces.iter();
    pieces
        .map(|piece| std::str::from_utf8(&piece.text).unwrap())
        .collect()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

/// Return a pseudo-random text of `words` words, identical in every run.
fn story(words: usize) -> Counts {
    let syllables = ["ka", "lo", "mi", "ne", "ru", "shta", "e", "o"];
    let (mut state, mut counts) = (7u32, Counts::default());
    let mut draw = |most: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % most
    };
    for _ in 0..words {
        let mut word = String::from("\u{2581}");
        for _ in 0..draw(5) + 1 {
            word += syllables[draw(syllables.len())];
        }
        counts.push(word.as_bytes(), draw(9) as u64 + 1);
    }
    counts
}

#[test]
fn characters_alone_get_digamma_estimates() {
    let training = train(&[("a", 2), ("b", 1)], &options(2));
    // ψ(2) - ψ(3) = -1/2, ψ(1) - ψ(3) = -3/2.
    assert_eq!(texts(&training), ["a", "b"]);
    assert!(near(training.pieces[0].score, -0.5));
    assert!(near(training.pieces[1].score, -1.5));
    assert!(!training.exhausted);
}

#[test]
fn one_step_of_em_by_hand() {
    let once = UnigramTrainingOptions {
        sub_iterations: 1,
        ..options(4)
    };
    let training = train(&[("ab", 3)], &once);
    // The seed is a 3, b 3, ab 6, with probabilities 1/4, 1/4, 1/2. So "ab" has 1/2 + 1/16, and a
    // and b are expected 3 * 1/9 times: too rarely for an estimate.
    assert_eq!(texts(&training), ["ab", "a", "b"]);
    let scores: Vec<f64> = training.pieces.iter().map(|piece| piece.score).collect();
    assert!(near(scores[0], 0.0) && near(scores[1], -0.0001) && near(scores[2], -0.0002));
    let [round] = &training.rounds[..] else {
        panic!("one round")
    };
    assert!(near(round.objective, -(9f64 / 16.0).ln()));
    assert_eq!((round.pieces, round.tokens), (3, 3));
    assert!(training.exhausted);
    assert_eq!(training.alphabet_size, 2);
}

#[test]
fn one_pruning_by_hand() {
    let once = UnigramTrainingOptions {
        sub_iterations: 1,
        ..options(5)
    };
    let training = train(&[("ab", 4), ("cd", 2)], &once);
    // Without cd, its 2 of 6 tokens become 2 c and 2 d of 8.
    let loss = 2.0 / 6.0 * ((2f64 / 6.0).ln() - 2.0 * (2f64 / 8.0).ln());
    assert_eq!(training.rounds[0].dropped, 1);
    assert_eq!(training.rounds[0].highest[0].text, b"cd");
    assert!(near(training.rounds[0].highest[0].loss.unwrap(), loss));
    assert_eq!(training.rounds.len(), 2);
    let found: BTreeSet<_> = texts(&training).into_iter().collect();
    assert_eq!(found, BTreeSet::from(["a", "ab", "b", "c", "d"]));
}

#[test]
fn a_repeated_word_is_one_piece_though_it_is_one_pre_token() {
    let training = train(&[("\u{2581}hello", 9), ("\u{2581}world", 7)], &options(100));
    assert_eq!(texts(&training)[..2], ["\u{2581}hello", "\u{2581}world"]);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let counts = story(40_000);
    let with = |threads| {
        let options = UnigramTrainingOptions {
            threads,
            ..options(300)
        };
        train_unigram(&counts, &options, &mut |_| true).unwrap()
    };
    let one = with(1);
    assert!(one.rounds.len() > 3 && one.pieces.len() == 300);
    assert_eq!(with(2), one);
    assert_eq!(with(3), one);
    let bits = |training: UnigramTraining| -> Vec<u64> {
        let pieces = training.pieces.iter();
        pieces.map(|piece| piece.score.to_bits()).collect()
    };
    assert_eq!(bits(with(3)), bits(one));
}

#[test]
fn pieces_are_in_order_and_all_characters_among_them() {
    let training = train_unigram(&story(3_000), &options(60), &mut |_| true).unwrap();
    assert_eq!(training.pieces.len(), 60);
    for pair in training.pieces.windows(2) {
        let equal = pair[0].score == pair[1].score;
        assert!(pair[0].score > pair[1].score || (equal && pair[0].text < pair[1].text));
    }
    let found = texts(&training);
    for character in "\u{2581}kalomineurush".chars() {
        assert!(found.contains(&character.to_string().as_str()));
    }
    let sum: f64 = training.pieces.iter().map(|piece| piece.score.exp()).sum();
    // The characters without an estimate come on top.
    assert!(sum < 1.01 && sum > 0.9, "{sum}");
}

#[test]
fn nothing_gives_nothing() {
    for words in [&[][..], &[("", 5)], &[("abc", 0)]] {
        let training = train(words, &options(10));
        assert!(training.pieces.is_empty() && training.rounds.is_empty());
        assert!(training.exhausted);
        let required = UnigramTrainingOptions {
            required: vec!['b', 'a'],
            ..options(2)
        };
        let training = train(words, &required);
        assert_eq!(texts(&training), ["a", "b"]);
        assert!(!training.exhausted);
    }
}

#[test]
fn one_letter_words_and_long_words() {
    let letters = train(&[("x", 1), ("y", 1 << 60), ("日", 7)], &options(10));
    assert_eq!(texts(&letters), ["y", "日", "x"]);
    let long = "x".repeat(100_000);
    let training = train(&[(&long, 1)], &options(10));
    assert_eq!(training.pieces.len(), 10);
    assert!(training.pieces.iter().all(|piece| piece.score.is_finite()));
    assert!(training.pieces.iter().all(|piece| piece.text.len() <= 16));
    let short = UnigramTrainingOptions {
        max_piece_length: 1,
        ..options(10)
    };
    assert_eq!(texts(&train(&[(&long, 1)], &short)), ["x"]);
}

#[test]
fn no_piece_has_a_character_outside_the_alphabet() {
    let only = UnigramTrainingOptions {
        alphabet: Some(vec!['b', 'a']),
        required: vec!['z', 'c'],
        ..options(100)
    };
    let training = train(&[("ab-ab-abc", 50), ("--", 3)], &only);
    let found = texts(&training);
    assert!(found.contains(&"ab") && found.contains(&"abc") && found.contains(&"z"));
    assert!(found.iter().all(|text| !text.contains('-')));
    assert_eq!(training.alphabet_size, 4);
}

#[test]
fn special_tokens_and_byte_tokens_never_become_pieces() {
    let words = [("<s>", 90), ("<0x41>", 80), ("s>", 5)];
    let special = UnigramTrainingOptions {
        special_tokens: vec![b"<s>".to_vec()],
        byte_fallback: true,
        ..options(400)
    };
    let training = train(&words, &special);
    let found = texts(&training);
    assert!(!found.contains(&"<s>") && !found.contains(&"<0x41>"));
    assert!(found.contains(&"s>") && found.len() < 400 - 257);
    assert!(texts(&train(&words, &options(400))).contains(&"<s>"));

    let spelled_like = UnigramTrainingOptions {
        special_tokens: vec![b"<".to_vec()],
        ..options(400)
    };
    let result = train_unigram(&counts(&words), &spelled_like, &mut |_| true);
    assert!(matches!(result, Err(Error::Invalid(_))));
}

#[test]
fn a_vocabulary_has_a_least_size() {
    let special = |vocab_size| UnigramTrainingOptions {
        special_tokens: vec![b"<unk>".to_vec()],
        byte_fallback: true,
        required: vec!['q'],
        ..options(vocab_size)
    };
    let words = counts(&[("abab", 10)]);
    let result = train_unigram(&words, &special(259), &mut |_| true);
    let (requested, least) = (259, 260);
    assert_eq!(result, Err(Error::VocabularyTooSmall { requested, least }));
    let training = train_unigram(&words, &special(260), &mut |_| true).unwrap();
    assert_eq!(training.pieces.len(), 3);
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let refused = |counts: &Counts, options: UnigramTrainingOptions| {
        let result = train_unigram(counts, &options, &mut |_| true);
        matches!(result, Err(Error::Invalid(_) | Error::TooLarge(_)))
    };
    let change = |change: &dyn Fn(&mut UnigramTrainingOptions)| {
        let mut options = options(100);
        change(&mut options);
        options
    };
    let words = counts(&[("ab", 2)]);
    assert!(refused(&words, change(&|o| o.shrinking_factor = 1.0)));
    assert!(refused(&words, change(&|o| o.shrinking_factor = f64::NAN)));
    assert!(refused(&words, change(&|o| o.sub_iterations = 0)));
    assert!(refused(&words, change(&|o| o.max_piece_length = 0)));
    assert!(refused(&words, change(&|o| o.max_piece_length = 256)));
    assert!(refused(&words, change(&|o| o.vocab_size = u64::MAX)));
    assert!(refused(&counts(&[("ab", u64::MAX)]), options(9)));
    let mut bytes = Counts::default();
    bytes.push(b"\xff", 1);
    assert!(refused(&bytes, options(9)));
}

#[test]
fn progress_can_stop_the_training_at_any_call() {
    let counts = story(2_000);
    let mut calls = 0;
    let mut sizes = Vec::new();
    let mut count = |size| {
        calls += 1;
        sizes.push(size);
        true
    };
    train_unigram(&counts, &options(60), &mut count).unwrap();
    assert_eq!(sizes.last(), Some(&60));
    for stop in [1, 2, 3, 5, 10, 20, calls / 2] {
        let mut left = stop;
        let mut until = |_| {
            left -= 1;
            left > 0
        };
        let result = train_unigram(&counts, &options(60), &mut until);
        assert_eq!(result, Err(Error::Interrupted));
    }
}
