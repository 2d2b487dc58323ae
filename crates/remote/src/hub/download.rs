//! The bytes of one file, fetched once, resumed where a transfer broke, and checked.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use super::cache::RepoCache;
use super::digest::Hash;
use super::wire::Described;
use super::{HubError, HubSettings, Origin, Progress};
use crate::http::{self, HttpError, Opened, Redirects};
use crate::retry::OnRetry;
use crate::shown;

const PIECE_BYTES: usize = 64 << 10;
/// However far each comes.
const MOST_TRANSFERS: u32 = 100;

/// One download.
pub(super) struct Download<'a> {
    pub(super) http: &'a http::Client,
    pub(super) store: &'a http::Client,
    pub(super) settings: &'a HubSettings,
    pub(super) on_retry: &'a OnRetry,
    pub(super) cache: &'a RepoCache,
    pub(super) url: String,
    pub(super) file: &'a Described,
}

/// Why a transfer ended early.
enum Break {
    /// Another may come further.
    Passing(HttpError),
    /// It may not.
    Final(HubError),
}

impl Download<'_> {
    /// Sees to it that the bytes are in the cache.
    pub(super) fn run(&self, progress: &mut dyn FnMut(Progress)) -> Result<Origin, HubError> {
        self.check_size(self.file.bytes.unwrap_or(0))?;
        let _lock = self.cache.lock(&self.file.etag)?;
        let blob = self.cache.blob(&self.file.etag);
        if blob.is_file() {
            // Another process fetched it while this one waited for the lock.
            return Ok(Origin::Cache);
        }
        let incomplete = self.cache.incomplete(&self.file.etag);
        let was_begun = fs::metadata(&incomplete).is_ok_and(|found| found.len() > 0);
        let mut fetched = self.fetch(&incomplete, progress)?;
        if let (Err(_), true) = (self.check(&incomplete), was_begun) {
            // A partial file of an earlier process may be corrupt: retry once from the beginning.
            discard(&incomplete)?;
            fetched += self.fetch(&incomplete, progress)?;
        }
        if let Err(err) = self.check(&incomplete) {
            discard(&incomplete)?;
            return Err(err);
        }
        fs::rename(&incomplete, &blob).map_err(HubError::at("name", &blob))?;
        Ok(Origin::Downloaded(fetched))
    }

    /// Downloads the missing bytes; returns their number.
    fn fetch(
        &self,
        incomplete: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<u64, HubError> {
        let file = File::options().append(true).create(true).open(incomplete);
        let mut file = file.map_err(HubError::at("open", incomplete))?;
        let (mut fetched, mut tries, mut pauses) = (0, 0, self.settings.pauses());
        for transfers in 1.. {
            let before = length(&file, incomplete)?;
            let outcome = self.transfer(&mut file, before, incomplete, progress);
            let after = length(&file, incomplete)?;
            fetched += after.saturating_sub(before);
            tries += 1;
            if after > before && transfers < MOST_TRANSFERS {
                // Progress resets the number of tries and the pauses.
                (tries, pauses) = (1, self.settings.pauses());
            }
            match outcome {
                Ok(()) => break,
                Err(Break::Final(err)) => return Err(err),
                Err(Break::Passing(source)) if tries >= self.settings.max_tries => {
                    let url = shown::address(&self.url, None);
                    let tries = transfers;
                    return Err(HubError::Transfer { url, tries, bytes: after, source });
                }
                Err(Break::Passing(err)) => {
                    let pause = pauses.after(&err);
                    self.on_retry.tell(&self.settings.retry(tries, pause, &err));
                    std::thread::sleep(pause);
                }
            }
        }
        file.sync_all().map_err(HubError::at("write", incomplete))?;
        Ok(fetched)
    }

    /// One transfer, from byte `from` to the end or to where it breaks.
    fn transfer(
        &self,
        file: &mut File,
        from: u64,
        incomplete: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Break> {
        if from > 0 && Some(from) == self.file.bytes {
            return Ok(());
        }
        let opened = self.open(from)?;
        let mut bytes = from;
        if opened.status != 206 {
            // The whole file comes, whatever is here already.
            file.set_len(0).map_err(|err| Break::disk(incomplete, err))?;
            bytes = 0;
        }
        let total = self.file.bytes;
        progress(Progress { bytes, total });
        let (url, mut body) = (opened.url.clone(), opened.into_reader());
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = body.read(&mut piece).map_err(|err| self.http.broken(&url, err))?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            self.check_size(bytes)?;
            file.write_all(&piece[..read]).map_err(|err| Break::disk(incomplete, err))?;
            progress(Progress { bytes, total });
        }
        Ok(())
    }

    /// An answer that has the bytes from `from` on, or all of them.
    fn open(&self, from: u64) -> Result<Opened, Break> {
        let opened = self.follow(from)?;
        let is_rest = |range: &str| range.starts_with(&format!("bytes {from}-"));
        let is_html = opened.headers.get("content-type").is_some_and(|kind| kind.contains("html"));
        let extension = Path::new(&self.url).extension().and_then(|ending| ending.to_str());
        let is_page =
            is_html && !extension.is_some_and(|ending| ending.eq_ignore_ascii_case("html"));
        match opened.status {
            200 if is_page => Err(self.not_a_hub("a web page")),
            200 => Ok(opened),
            206 if opened.headers.get("content-range").is_some_and(is_rest) => Ok(opened),
            206 => Err(self.not_a_hub("another part of the file than was asked for")),
            // More is here than there is: it is not this file's beginning.
            416 if from > 0 => self.open(0),
            status => match self.http.read(opened)?.success(self.http.secret()) {
                Err(err) => Err(err.into()),
                Ok(_) => Err(self.not_a_hub(&format!("status {status}"))),
            },
        }
    }

    /// Asks the hub, and whom it names instead. Only the hub gets our token.
    fn follow(&self, from: u64) -> Result<Opened, Break> {
        let mut url = self.url.clone();
        for _ in 0..5 {
            let opened = self.http.open(&url, from, Redirects::Show)?;
            let Some(location) = opened.redirect() else { return Ok(opened) };
            match self.settings.own_address(location) {
                Some(own) => url = own,
                None => return Ok(self.store.open(location, from, Redirects::Follow)?),
            }
        }
        Err(HttpError::Redirects { url: shown::address(&url, None) }.into())
    }

    fn not_a_hub(&self, what: &str) -> Break {
        let reason = format!("it sends {what}");
        Break::Final(HubError::NotAHub { url: shown::address(&self.url, None), reason })
    }

    fn check_size(&self, bytes: u64) -> Result<(), HubError> {
        let limit_bytes = self.settings.file_limit_bytes;
        if bytes > limit_bytes {
            let url = shown::address(&self.url, None);
            return Err(HubError::TooLarge { url, bytes, limit_bytes });
        }
        match self.file.bytes {
            Some(announced) if bytes > announced => {
                Err(self.damaged(format!("more than the {announced} bytes it was said to have")))
            }
            _ => Ok(()),
        }
    }

    /// Whether the file matches the announced hash.
    fn check(&self, path: &Path) -> Result<(), HubError> {
        let length = fs::metadata(path).map_err(HubError::at("look at", path))?.len();
        if let Some(announced) = self.file.bytes.filter(|&announced| announced != length) {
            return Err(self.damaged(format!("{length} bytes instead of {announced}")));
        }
        let Some(hash) = Hash::of_etag(&self.file.etag) else { return Ok(()) };
        let found = hash.of_file(path).map_err(HubError::at("read", path))?;
        if found != self.file.etag {
            return Err(self.damaged(format!("its hash is {found} and not {}", self.file.etag)));
        }
        Ok(())
    }

    fn damaged(&self, reason: String) -> HubError {
        HubError::Damaged { url: shown::address(&self.url, None), reason }
    }
}

fn discard(incomplete: &Path) -> Result<(), HubError> {
    fs::remove_file(incomplete).map_err(HubError::at("remove", incomplete))
}

fn length(file: &File, path: &Path) -> Result<u64, HubError> {
    Ok(file.metadata().map_err(HubError::at("look at", path))?.len())
}

impl Break {
    fn disk(path: &Path, source: std::io::Error) -> Self {
        Self::Final(HubError::at("write", path)(source))
    }
}

impl From<HttpError> for Break {
    fn from(err: HttpError) -> Self {
        if err.is_passing() { Self::Passing(err) } else { Self::Final(err.into()) }
    }
}

impl From<HubError> for Break {
    fn from(err: HubError) -> Self {
        Self::Final(err)
    }
}
