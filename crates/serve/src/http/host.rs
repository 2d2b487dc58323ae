//! Check of the `Host` header.
//!
//! Any web page can let its own name resolve to 127.0.0.1 (DNS rebinding): the browser then takes
//! the board for that page's server and lets the page read it. The name is in the `Host` header, so
//! only addresses are accepted, and `localhost`, which does not resolve through DNS.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::request::Refusal;

pub(super) const MISDIRECTED: Refusal = Refusal {
    status: 421,
    reason: "This board answers under its address alone, not under this name: open it as it was printed.",
};

/// The hosts that a server answers for.
#[derive(Debug, Clone, Copy)]
pub struct Hosts {
    bound: SocketAddr,
}

impl Hosts {
    /// Those of a server that listens on an address.
    pub fn new(bound: SocketAddr) -> Self {
        Self { bound }
    }

    /// The address.
    pub fn bound(&self) -> SocketAddr {
        self.bound
    }

    /// Whether a `Host` header names the server.
    pub fn answer_for(&self, header: &str) -> bool {
        let (name, port) = match header.strip_suffix(&format!(":{}", self.bound.port())) {
            Some(name) => (name, self.bound.port()),
            None => (header, 80),
        };
        port == self.bound.port() && self.is_ours(name)
    }

    fn is_ours(&self, name: &str) -> bool {
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let address = match bare {
            Some(bare) => bare.parse().map(IpAddr::V6).ok(),
            None => name.parse().map(IpAddr::V4).ok(),
        };
        address.is_some_and(|address| self.is_address(address))
    }

    fn is_address(&self, address: IpAddr) -> bool {
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        // A server bound to all addresses does not know which those are; but any address is safe,
        // as it is not a name.
        self.bound.ip().is_unspecified()
            || address == self.bound.ip()
            || loopback.contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bound: &str, yes: &[&str], no: &[&str]) {
        let hosts = Hosts::new(bound.parse().unwrap());
        for header in yes {
            assert!(hosts.answer_for(header), "{bound} is {header}");
        }
        for header in no {
            assert!(!hosts.answer_for(header), "{bound} is not {header}");
        }
    }

    #[test]
    fn only_addresses_of_the_server_and_localhost_are_answered_for() {
        check(
            "127.0.0.1:8130",
            &["127.0.0.1:8130", "localhost:8130", "LOCALHOST:8130", "[::1]:8130"],
            &[
                "",
                ":8130",
                "localhost",
                "127.0.0.1",
                "127.0.0.1:8131",
                "localhost:81300",
                "evil.test:8130",
                "localhost.evil.test:8130",
                "localhost.:8130",
                "0.0.0.0:8130",
                "10.0.0.7:8130",
                "::1:8130",
                "[127.0.0.1]:8130",
                "user@localhost:8130",
                " localhost:8130",
                "localhost:8130:8130",
                "127.1:8130",
                "2130706433:8130",
            ],
        );
        check("10.0.0.7:80", &["10.0.0.7", "10.0.0.7:80", "localhost"], &["10.0.0.8", "board"]);
        check("0.0.0.0:8130", &["10.0.0.7:8130", "[fe80::1]:8130"], &["board:8130", "10.0.0.7"]);
        check("[::1]:8130", &["[::1]:8130"], &["[::2]:8130"]);
    }
}
