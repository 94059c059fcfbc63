//! A chain of decoders as machines that pass tokens on bit by bit.
//!
//! A step of Hugging Face's maps a list of tokens to a list of tokens. Here it takes the
//! same list as events (a token begins, some of its bytes, it ends, no token follows) and
//! passes each on as soon as nothing that comes later can change it. Decoding at once and
//! decoding a stream are therefore the same machine, and both are linear.

use crate::error::{Error, Result};
use crate::memory;

/// One step at work.
pub trait StepNode: Send + Sync {
    /// Another token begins.
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        next.begin()
    }

    /// Some bytes of the token; a token can come in parts, once tokens have been fused.
    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()>;

    /// The token is over.
    fn end(&mut self, next: &mut Flow) -> Result<()> {
        next.end()
    }

    /// A token is skipped between two others.
    fn gap(&mut self, next: &mut Flow) -> Result<()> {
        next.gap()
    }

    /// No token follows.
    fn finish(&mut self, _next: &mut Flow) -> Result<()> {
        Ok(())
    }

    /// Called between two tokens: would a token that is no byte token (see `fallback`) pass as it
    /// is, and change nothing here? `fused`: where tokens begin and end is no longer known.
    fn is_settled(&self, _fused: bool) -> bool {
        false
    }

    /// Does it keep to itself where tokens begin and end, once it is settled?
    fn fuses(&self) -> bool {
        false
    }
}

/// The steps behind a step, and what comes out at the end.
pub struct Flow<'c> {
    nodes: &'c mut [Box<dyn StepNode>],
    out: &'c mut Vec<u8>,
    /// `out` has at most so many bytes.
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

/// The steps of one decoding, from its first token to its last.
pub struct StepChain {
    nodes: Vec<Box<dyn StepNode>>,
    /// What comes out has at most so many bytes, with what is there already.
    pub most: usize,
}

impl StepChain {
    pub fn new(nodes: Vec<Box<dyn StepNode>>) -> Self {
        StepChain {
            nodes,
            most: usize::MAX,
        }
    }

    /// The way in; `out` gets what comes out.
    pub fn flow<'c>(&'c mut self, out: &'c mut Vec<u8>) -> Flow<'c> {
        self.flow_within(self.most, out)
    }

    /// The same; an error where `out` comes to have more bytes.
    pub fn flow_within<'c>(&'c mut self, most: usize, out: &'c mut Vec<u8>) -> Flow<'c> {
        Flow {
            nodes: &mut self.nodes,
            out,
            most,
        }
    }

    /// Called between two tokens: do tokens that are no byte tokens come out as they are, from here
    /// up to the next byte token?
    pub fn is_settled(&self) -> bool {
        let mut fused = false;
        self.nodes.iter().all(|node| {
            let settled = node.is_settled(fused);
            fused |= node.fuses();
            settled
        })
    }

    /// No token follows: what was held back comes out.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.flow(out).finish()
    }
}

/// A step that needs each token whole and makes one of it.
pub trait Each: Send + Sync {
    fn token(&mut self, token: &[u8], next: &mut Flow) -> Result<()>;

    /// What is due once it is certain that another token follows.
    fn begun(&mut self, _next: &mut Flow) -> Result<()> {
        Ok(())
    }
}

/// Collects the parts of a token for an [`Each`].
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
