//! Chain of decoder steps that process tokens incrementally.
//!
//! A step of Hugging Face's chain maps a list of tokens to a list of tokens. A step of this chain
//! receives the list as events (a token begins, some of its bytes, it ends, no token follows). It
//! passes each event on as soon as no later event can change it. Decoding at once and decoding a
//! stream thus use one chain, and both are linear.

use crate::error::{Error, Result};
use crate::memory;

/// State of one decoder step.
pub trait StepNode: Send + Sync {
    /// Begin a token.
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        next.begin()
    }

    /// Take some bytes of the current token. A token can come in parts, once tokens have been
    /// fused.
    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()>;

    /// End the current token.
    fn end(&mut self, next: &mut Flow) -> Result<()> {
        next.end()
    }

    /// Note a skipped token between two others.
    fn gap(&mut self, next: &mut Flow) -> Result<()> {
        next.gap()
    }

    /// End the list of tokens.
    fn finish(&mut self, _next: &mut Flow) -> Result<()> {
        Ok(())
    }

    /// Return whether the next token, unless it is a byte token (see `steps::byte`), would pass
    /// unchanged and leave the state of this step unchanged.
    ///
    /// Called between two tokens. `fused` says whether an earlier step hides where tokens begin and
    /// end.
    fn is_settled(&self, _fused: bool) -> bool {
        false
    }

    /// Return whether this step, once settled, hides where tokens begin and end.
    fn fuses(&self) -> bool {
        false
    }
}

/// The steps after a step, and the output of the last one.
pub struct Flow<'c> {
    nodes: &'c mut [Box<dyn StepNode>],
    out: &'c mut Vec<u8>,
    /// Maximum length of `out` in bytes.
    most: usize,
}

impl Flow<'_> {
    fn step(
        &mut self,
        work: impl FnOnce(&mut Box<dyn StepNode>, &mut Flow) -> Result<()>,
    ) -> Result<()> {
        match self.nodes.split_first_mut() {
            Some((node, nodes)) => work(
                node,
                &mut Flow {
                    nodes,
                    out: self.out,
                    most: self.most,
                },
            ),
            None => Ok(()),
        }
    }

    pub fn begin(&mut self) -> Result<()> {
        self.step(|node, next| node.begin(next))
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, more: usize) -> Result<()> {
        if more > self.most.saturating_sub(self.out.len()) {
            let most = self.most >> 20;
            let message = format!("the decoders make more than {most} MB of the tokens");
            return Err(Error::TooLarge(message));
        }
        memory::reserve(self.out, more)
    }

    #[inline]
    pub fn bytes(&mut self, text: &[u8]) -> Result<()> {
        if self.nodes.is_empty() {
            let room = self.out.capacity().min(self.most);
            if text.len() > room.saturating_sub(self.out.len()) {
                self.make_room(text.len())?;
            }
            self.out.extend_from_slice(text);
            return Ok(());
        }
        match text {
            [] => Ok(()),
            _ => self.step(|node, next| node.bytes(text, next)),
        }
    }

    pub fn end(&mut self) -> Result<()> {
        self.step(|node, next| node.end(next))
    }

    pub fn gap(&mut self) -> Result<()> {
        self.step(|node, next| node.gap(next))
    }

    /// Pass on a whole token.
    pub fn token(&mut self, text: &[u8]) -> Result<()> {
        self.begin()?;
        self.bytes(text)?;
        self.end()
    }

    fn finish(&mut self) -> Result<()> {
        self.step(|node, next| {
            node.finish(next)?;
            next.finish()
        })
    }
}

/// Steps of one decoding, from its first token to its last.
pub struct StepChain {
    nodes: Vec<Box<dyn StepNode>>,
    /// Maximum length of the output in bytes, including what it contained before.
    pub most: usize,
}

impl StepChain {
    pub fn new(nodes: Vec<Box<dyn StepNode>>) -> Self {
        StepChain {
            nodes,
            most: usize::MAX,
        }
    }

    /// Return the flow into the first step; the last step appends to `out`.
    pub fn flow<'c>(&'c mut self, out: &'c mut Vec<u8>) -> Flow<'c> {
        self.flow_within(self.most, out)
    }

    /// Like [`Self::flow`], with an error if `out` would exceed `most` bytes.
    pub fn flow_within<'c>(&'c mut self, most: usize, out: &'c mut Vec<u8>) -> Flow<'c> {
        Flow {
            nodes: &mut self.nodes,
            out,
            most,
        }
    }

    /// Return whether tokens come out unchanged from now on, up to the next byte token. Called
    /// between two tokens.
    pub fn is_settled(&self) -> bool {
        let mut fused = false;
        self.nodes.iter().all(|node| {
            let settled = node.is_settled(fused);
            fused |= node.fuses();
            settled
        })
    }

    /// End the list of tokens, and append the output that was held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.flow(out).finish()
    }
}

/// Step that needs each token as a whole, and makes one token of it.
pub trait Each: Send + Sync {
    fn token(&mut self, token: &[u8], next: &mut Flow) -> Result<()>;

    /// Emit output that is due once another token is known to follow.
    fn begun(&mut self, _next: &mut Flow) -> Result<()> {
        Ok(())
    }
}

/// Adapter that collects the parts of a token for an [`Each`].
pub struct Whole<E> {
    each: E,
    token: Vec<u8>,
}

impl<E: Each> Whole<E> {
    pub fn new(each: E) -> Self {
        Whole {
            each,
            token: Vec::new(),
        }
    }
}

impl<E: Each> StepNode for Whole<E> {
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        next.begin()?;
        self.each.begun(next)
    }

    fn bytes(&mut self, text: &[u8], _next: &mut Flow) -> Result<()> {
        memory::reserve(&mut self.token, text.len())?;
        self.token.extend_from_slice(text);
        Ok(())
    }

    fn end(&mut self, next: &mut Flow) -> Result<()> {
        self.each.token(&self.token, next)?;
        self.token.clear();
        next.end()
    }
}
