//! Names are looked up once a minute, not once a request.
//!
//! With a timeout set, `ureq` starts a thread for every look-up, and looks up before every request,
//! also one over a connection it kept: for a server that answers in 50 ms that was a third of the
//! work. The interface below is one that `ureq` may change with a minor version.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Lifetime of a cached address.
const AGE: Duration = Duration::from_mins(1);
/// A client talks to one machine, and to those it is redirected to.
const KNOWN: usize = 16;

/// A resolver that remembers.
#[derive(Debug, Default)]
pub(super) struct Remembering {
    system: DefaultResolver,
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    place: String,
    addresses: Vec<SocketAddr>,
    until: Instant,
}

impl Resolver for Remembering {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let scheme = uri.scheme_str().unwrap_or_default();
        let place =
            format!("{scheme}://{}", uri.authority().map_or("", |authority| authority.as_str()));
        if let Some(addresses) = self.recall(&place, Instant::now()) {
            let mut found = self.empty();
            for address in addresses {
                found.push(address);
            }
            return Ok(found);
        }
        let found = self.system.resolve(uri, config, timeout)?;
        self.remember(Known { place, addresses: found.to_vec(), until: Instant::now() + AGE });
        Ok(found)
    }
}

impl Remembering {
    fn recall(&self, place: &str, now: Instant) -> Option<Vec<SocketAddr>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = known.iter().find(|entry| entry.place == place && entry.until > now)?;
        Some(entry.addresses.clone())
    }

    fn remember(&self, entry: Known) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|other| other.place != entry.place);
        known.truncate(KNOWN - 1);
        known.insert(0, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(place: &str, port: u16, until: Instant) -> Known {
        let addresses = vec![SocketAddr::from(([127, 0, 0, 1], port))];
        Known { place: place.to_owned(), addresses, until }
    }

    #[test]
    fn an_address_is_believed_until_its_time_is_over() {
        let (resolver, now) = (Remembering::default(), Instant::now());
        resolver.remember(entry("http://a", 1, now + AGE));
        let port = |place: &str, at| resolver.recall(place, at).map(|found| found[0].port());
        assert_eq!(port("http://a", now), Some(1));
        assert_eq!(port("https://a", now), None);
        assert_eq!(port("http://a", now + AGE), None);
        resolver.remember(entry("http://a", 2, now + AGE));
        assert_eq!(port("http://a", now), Some(2));
    }

    #[test]
    fn only_the_latest_are_remembered() {
        let (resolver, now) = (Remembering::default(), Instant::now());
        for n in 0..100u16 {
            resolver.remember(entry(&format!("http://{n}"), n, now + AGE));
        }
        assert!(resolver.recall("http://99", now).is_some());
        assert!(resolver.recall("http://0", now).is_none());
        assert_eq!(resolver.known.lock().unwrap().len(), KNOWN);
    }
}
