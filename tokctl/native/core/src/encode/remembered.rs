//! Pre-tokens that were segmented before are not segmented again, where lengths are asked for
//! beside ids; see `batched` for ids alone.

use super::cache::Cache;
use super::encoder::Encoder;
use super::parts::Cuts;
use super::segmenter::{check_length, Segment, Segmenter};
use super::Interrupt;
use crate::error::{Error, Result};

/// A pre-token longer than this is segmented without a look into the cache.
pub(super) const CACHED_LENGTH: usize = 64;

impl Encoder {
    pub(super) fn segment_cached<'c>(
        &self,
        pre_token: &[u8],
        cache: &'c mut Cache,
        interrupt: Interrupt,
    ) -> Result<&'c [Segment]> {
        if pre_token.len() > CACHED_LENGTH {
            return self.segment_long(pre_token, cache, interrupt);
        }
        cache.get_or_insert(pre_token, |out| {
            self.segmenter.segment(pre_token, out, interrupt)
        })
    }

    fn segment_long<'c>(
        &self,
        pre_token: &[u8],
        cache: &'c mut Cache,
        interrupt: Interrupt,
    ) -> Result<&'c [Segment]> {
        let mut segments = cache.take_scratch();
        let result = match &self.segmenter {
            Segmenter::Merges(merging) if merging.in_parts => {
                check_length(pre_token).and_then(|()| {
                    let mut done = 0usize;
                    Cuts::of(pre_token).parts(|part| {
                        done += 1;
                        if done.is_multiple_of(1 << 14) && interrupt() {
                            return Err(Error::Interrupted);
                        }
                        if part.len() > CACHED_LENGTH {
                            return self.segmenter.segment(part, &mut segments, interrupt);
                        }
                        let found = cache.get_or_insert(part, |out| {
                            self.segmenter.segment(part, out, interrupt)
                        })?;
                        segments.extend_from_slice(found);
                        Ok(())
                    })
                })
            }
            segmenter => segmenter.segment(pre_token, &mut segments, interrupt),
        };
        let kept = cache.keep_scratch(segments);
        result.map(|()| kept)
    }
}
