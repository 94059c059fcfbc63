//! Map from characters to numbers.

use super::NO_ID;

/// Map from characters to ids in pages of 256, so that a look-up reads two entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct CharIds {
    /// Index of each page in `ids`, or [`Self::NO_PAGE`]. Pages after the last one with ids are
    /// missing.
    pages: Vec<u32>,
    ids: Vec<[u32; Self::PAGE]>,
}

impl CharIds {
    const PAGE: usize = 256;
    const NO_PAGE: u32 = u32::MAX;

    pub fn insert(&mut self, code: u32, id: u32) {
        let code = code as usize;
        let page = code / Self::PAGE;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, Self::NO_PAGE);
        }
        if self.pages[page] == Self::NO_PAGE {
            self.pages[page] = self.ids.len() as u32;
            self.ids.push([NO_ID; Self::PAGE]);
        }
        self.ids[self.pages[page] as usize][code % Self::PAGE] = id;
    }

    /// Return the id of a character, or [`NO_ID`].
    #[inline(always)]
    pub fn get(&self, code: u32) -> u32 {
        let page = self.pages.get(code as usize / Self::PAGE).copied();
        let ids = self.ids.get(page.unwrap_or(Self::NO_PAGE) as usize);
        ids.map_or(NO_ID, |ids| ids[code as usize % Self::PAGE])
    }
}
