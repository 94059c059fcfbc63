//! Training and encoding together, as the Python binding uses them.

use tokctl_core::count::{Counter, Counts};
use tokctl_core::encode::{Encoder, Merging, Segmenter};
use tokctl_core::model::{Alphabet, Marker, Merges, Units};
use tokctl_core::normalize::Chain;
use tokctl_core::pretokenize::{PreTokenizer, Scanner};
use tokctl_core::train::alphabet::Limits;
use tokctl_core::train::{train, Criterion, Options, Stop, Ties, Training};
use tokctl_core::Error;

fn words(text: &str) -> Counts {
    let mut counter = Counter::new(Scanner::Whitespace.into(), Chain::default(), 2);
    counter.feed(text.as_bytes()).unwrap();
    counter.finish(1).unwrap()
}

fn options(marker: Marker, criterion: Criterion, vocab_size: u64) -> Options {
    Options {
        criterion,
        ties: Ties::RewrittenLast,
        units: Units::Characters,
        marker,
        vocab_size,
        special_tokens: Vec::new(),
        reserved: Vec::new(),
        initial_alphabet: Vec::new(),
        bare_characters: false,
        min_frequency: 1,
        max_token_length: None,
        max_words: None,
        forbidden: Vec::new(),
        whole_characters: false,
        initial_tokens: Vec::new(),
        limits: Limits::default(),
        extend: None,
        removal: None,
    }
}

fn names(training: &Training) -> Vec<String> {
    let name = |id| String::from_utf8_lossy(training.vocabulary.token(id).unwrap()).into_owned();
    let merges = training.merges.iter();
    merges
        .map(|m| format!("{} {}", name(m.left), name(m.right)))
        .collect()
}

const TOY: &str = "low low low low low lower lower newest newest newest newest newest newest \
                   widest widest widest longer";

#[test]
fn the_first_notebook() {
    let options = options(Marker::End("_".into()), Criterion::Count, 21);
    let training = train(&words(TOY), &options, None, &mut |_| true).unwrap();
    assert_eq!(
        names(&training),
        ["e s", "es t", "est _", "l o", "lo w", "n e", "ne w", "new est_", "low _"]
    );
    assert_eq!(training.stop, Stop::VocabularyFull);
    assert_eq!(training.merges[0].count, 9);
}

#[test]
fn the_second_notebook() {
    let options = options(Marker::Continuation("_".into()), Criterion::Likelihood, 100);
    let training = train(&words(TOY), &options, None, &mut |_| true).unwrap();
    let merges = names(&training);
    assert_eq!(merges[..5], ["_n _g", "w _i", "wi _d", "l _o", "lo _ng"]);
    assert_eq!(merges.len(), 17);
    assert_eq!(training.stop, Stop::Exhausted);
}

#[test]
fn a_callback_that_says_no_stops_the_training() {
    let options = options(Marker::None, Criterion::Count, 21);
    let stopped = train(&words(TOY), &options, None, &mut |_| false);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}

#[test]
fn a_vocabulary_below_the_alphabet_names_the_least() {
    let options = options(Marker::None, Criterion::Count, 3);
    let refused = train(&words(TOY), &options, None, &mut |_| true);
    let error = Error::VocabularyTooSmall {
        requested: 3,
        least: 11,
    };
    assert_eq!(refused.unwrap_err(), error);
}

/// Return a byte-level encoder whose merges make ever longer runs of `a`.
fn encoder() -> Encoder {
    let ids = |byte: &[u8]| (byte == b"a").then_some(0);
    Encoder::new(
        Chain::default(),
        PreTokenizer::default(),
        Segmenter::Merges(Merging {
            unknown: Some(9),
            ..Merging::new(
                Alphabet::bytes(ids),
                Merges::new([(0, 0, 1), (1, 1, 2), (2, 2, 3), (3, 0, 4)].into_iter()),
            )
        }),
    )
}

#[test]
fn short_and_long_pre_tokens_are_segmented_alike() {
    let encoder = encoder();
    for length in 1..60usize {
        let mut ids = Vec::new();
        encoder
            .ids(&b"a".repeat(length), None, &mut ids, &|| false)
            .unwrap();
        // Runs of eight, and a rest; the last run absorbs a rest of one.
        let rest: &[u32] = match length % 8 {
            0 | 1 => &[],
            2 => &[1],
            3 => &[1, 0],
            4 => &[2],
            5 => &[2, 0],
            6 => &[2, 1],
            _ => &[2, 1, 0],
        };
        let mut expected = vec![3; length / 8];
        match (length % 8, expected.last_mut()) {
            (1, Some(last)) => *last = 4,
            (1, None) => expected.push(0),
            _ => expected.extend(rest),
        }
        assert_eq!(ids, expected, "{length}");
    }
}

#[test]
fn what_has_no_id_is_unknown_and_its_place_is_kept() {
    let tokens = encoder().tokens(b"aaxa", None, &|| false).unwrap();
    let places: Vec<_> = tokens.iter().map(|t| (t.id, t.start, t.end)).collect();
    assert_eq!(places, [(1, 0, 2), (9, 2, 3), (0, 3, 4)]);
}

#[test]
fn an_interrupt_stops_a_long_pre_token() {
    let text = b"a".repeat(1 << 20);
    let stopped = encoder().ids(&text, None, &mut Vec::new(), &|| true);
    assert_eq!(stopped, Err(Error::Interrupted));
}
