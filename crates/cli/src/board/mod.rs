//! `whet board`: the pages of runs, live, for a browser on this machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use whetstone_serve::board::Board;
use whetstone_serve::http::Server;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Tone};
use crate::train::stop::held_back;

/// `whet board`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct BoardArgs {
    /// The folder with one directory for each run
    #[arg(value_name = "DIR", default_value = "runs")]
    pub dir: PathBuf,

    /// The port to listen on; 0 takes any that is free
    #[arg(long, default_value_t = 8130)]
    pub port: u16,

    /// Address to listen on; any other than localhost lets others read the pages
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub host: IpAddr,

    /// Print one JSON document instead of the address
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  whet board                     serves the runs in `runs` at http://127.0.0.1:8130/
  whet board experiments --port 0 --json | jq -r .url
  ssh -L 8130:127.0.0.1:8130 trainer    then open http://127.0.0.1:8130/ here, with `whet board` there

The first page lists the runs with their state and last metrics; each links to the page that `whet report`
writes, updated live: curves grow and completions arrive as they are recorded. New runs appear without a
reload. The board is read-only, and Ctrl-C ends it at once.

The pages contain completions and hidden tests. The board is for local users: it has no authentication, and
answers only to requests by its own address. With `--host` everybody who can reach that address can read
the pages; an SSH tunnel as above restricts access to users who can log in.";

const EVERYBODY: &str = "everybody who can reach this address reads completions and hidden tests: the board has no password";

#[derive(Serialize)]
struct BoardOutput<'a> {
    url: &'a str,
    dir: String,
}

/// Serves until a signal ends it.
pub(crate) fn run(args: &BoardArgs, printer: Printer) -> anyhow::Result<Exit> {
    let board = open(&args.dir)?;
    let server = Server::listen(args.host, args.port)?;
    if !args.host.is_loopback() {
        printer
            .talk(format_args!("{}: {EVERYBODY}", printer.toned_talk("warning", Tone::Doubtful)));
    }
    // Before any thread starts: all of them inherit the blocked signals.
    let signals = held_back().context("cannot block signals")?;
    let url = server.url();
    if args.json {
        printer.json(&BoardOutput { url: &url, dir: args.dir.display().to_string() })?;
    } else {
        printer.data(&url)?;
    }
    printer.note(format_args!("the runs in `{}`; Ctrl-C ends it", args.dir.display()));
    thread::spawn(move || server.run(move |request| board.answer(request)));
    signals.wait().context("cannot wait for Ctrl-C")?;
    Ok(Exit::Done)
}

fn open(dir: &Path) -> Result<Board, Failure> {
    Board::open(dir).map_err(|err| match err.source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Failure::NoFolder { path: dir.to_owned() }
        }
        _ => Failure::View(err.into()),
    })
}
