//! `cargo xtask pictures`: the pictures of the README, taken by a browser from the report of a run.
//!
//! The run is a real one: a quickstart that this command makes, or one that is there already. What is taken is the
//! first screen of its report at the width of a desk and of a phone, in light and dark. Whether it came out as asked
//! is read from the files: their width, their background, and their size, because everybody who clones the
//! repository loads them.

mod png;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::browser;
use crate::built::{Program, executable};
use png::Picture;

/// The line of help.
pub const WHAT: &str = "the README's pictures, from the report of a real run [--help]";

const USAGE: &str = "\
usage: cargo xtask pictures [--run DIR] [--whet FILE] [--out DIR]

  --run DIR    a run that is there [a quickstart, made in target/pictures: 5 minutes on two cores]
  --whet FILE  the program [that of `cargo build --release`]
  --out DIR    where the pictures go [docs/pictures]

It takes Chromium.";

/// What the program is built with: the command of the README, which may have built it already.
const BUILD: &[&str] = &["build", "--release", "--locked"];

/// Larger files do not belong into a repository.
const LARGEST_BYTES: usize = 200_000;

/// No picture takes longer, even on a machine that is busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// A picture to be taken.
#[derive(Debug, Clone, Copy)]
struct Shot {
    name: &'static str,
    width: u32,
    height: u32,
    scheme: Scheme,
}

/// What a page is told that its reader prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Light,
    Dark,
}

const SHOTS: [Shot; 4] = [
    Shot { name: "report-light.png", width: 1280, height: 900, scheme: Scheme::Light },
    Shot { name: "report-dark.png", width: 1280, height: 900, scheme: Scheme::Dark },
    Shot { name: "report-phone-light.png", width: 390, height: 844, scheme: Scheme::Light },
    Shot { name: "report-phone-dark.png", width: 390, height: 844, scheme: Scheme::Dark },
];

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    run: Option<PathBuf>,
    whet: Option<PathBuf>,
    out: Option<PathBuf>,
}

/// Runs the command with its arguments; `Err` is what to tell the reader.
pub fn run(root: &Path, words: &[&str], out: &mut dyn Write) -> Result<(), String> {
    if let ["--help" | "-h"] = words {
        return say(out, USAGE);
    }
    let options = Options::parse(words)?;
    let browser = browser::program()?;
    let work = root.join("target/pictures");
    fs::create_dir_all(&work).map_err(|err| format!("{}: {err}", work.display()))?;
    let whet = match options.whet {
        Some(whet) => whet.canonicalize().map_err(|err| format!("{}: {err}", whet.display()))?,
        None => executable(root, BUILD, Program { kind: "bin", name: "whet", folder: "" })?,
    };
    let run = match options.run {
        Some(run) => run,
        None => quickstart(&whet, &work)?,
    };
    let report = report(&whet, &run, &work)?;
    let folder = options.out.unwrap_or_else(|| root.join("docs/pictures"));
    fs::create_dir_all(&folder).map_err(|err| format!("{}: {err}", folder.display()))?;
    for shot in SHOTS {
        let file = folder.join(shot.name);
        let size = take(&browser, &report, &Target { shot, file: &file, work: &work })?;
        say(out, &format!("{}: {} x {}, {size} bytes", file.display(), shot.width, shot.height))?;
    }
    Ok(())
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        for pair in words.chunks(2) {
            let ([name, _] | [name]) = pair else { continue };
            let place = match *name {
                "--run" => &mut options.run,
                "--whet" => &mut options.whet,
                "--out" => &mut options.out,
                _ => return Err(USAGE.to_owned()),
            };
            let [_, value] = pair else { return Err(format!("{name} needs a value")) };
            *place = Some(PathBuf::from(value));
        }
        Ok(options)
    }
}

/// A new quickstart in the folder, with no other settings than its own.
fn quickstart(whet: &Path, work: &Path) -> Result<PathBuf, String> {
    // One of an older version would be resumed or refused.
    let _ = fs::remove_dir_all(work.join("runs"));
    finish(Command::new(whet).arg("quickstart").current_dir(work), "whet quickstart")?;
    Ok(work.join("runs/quickstart"))
}

/// The report, written beside the pictures: the folder of the run stays as it is.
fn report(whet: &Path, run: &Path, work: &Path) -> Result<PathBuf, String> {
    let page = work.join("report.html");
    finish(Command::new(whet).arg("report").arg(run).arg("--out").arg(&page), "whet report")?;
    page.canonicalize().map_err(|err| format!("{}: {err}", page.display()))
}

fn finish(command: &mut Command, name: &str) -> Result<(), String> {
    let status = command.status().map_err(|err| format!("cannot start `{name}`: {err}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{name}` ended with {status}")) }
}

/// A picture, its file, and a folder for the browser.
struct Target<'a> {
    shot: Shot,
    file: &'a Path,
    work: &'a Path,
}

/// Takes one picture and looks at it; its size in bytes.
fn take(browser: &Path, page: &Path, target: &Target) -> Result<usize, String> {
    let Target { shot, file, work } = target;
    let taken = work.join(shot.name);
    // A picture of an earlier run would be taken for this one.
    let _ = fs::remove_file(&taken);
    photograph(browser, page, &Target { shot: *shot, file: &taken, work })?;
    let bytes = fs::read(&taken).map_err(|err| format!("the browser took no picture: {err}"))?;
    judge(shot, &bytes)?;
    fs::write(file, &bytes).map_err(|err| format!("{}: {err}", file.display()))?;
    Ok(bytes.len())
}

fn photograph(browser: &Path, page: &Path, target: &Target) -> Result<(), String> {
    let Shot { width, height, scheme, .. } = target.shot;
    let scheme = match scheme {
        Scheme::Dark => 0,
        Scheme::Light => 1,
    };
    let mut child = Command::new(browser)
        // As root in a container the browser's own jail cannot be built; the page is one of ours.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--hide-scrollbars", "--no-first-run", "--disable-extensions"])
        .args(["--force-device-scale-factor=1", "--virtual-time-budget=10000"])
        .arg(format!("--user-data-dir={}", target.work.join("profile").display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--screenshot={}", target.file.display()))
        .arg(format!("file://{}", page.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|err| format!("cannot start {}: {err}", browser.display()))?;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        match child.try_wait().map_err(|err| err.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("the browser ended with {status}")),
            None => sleep(Duration::from_millis(50)),
        }
    }
    // It may have ended just now, which is as good.
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("the browser took no picture in {} s", PATIENCE.as_secs()))
}

/// Whether a picture is what was asked for.
fn judge(shot: &Shot, bytes: &[u8]) -> Result<(), String> {
    let name = shot.name;
    let picture = Picture::read(bytes).ok_or_else(|| format!("{name} is not a picture"))?;
    if picture.width != shot.width {
        return Err(format!("{name} is {} pixels wide, not {}", picture.width, shot.width));
    }
    if picture.is_dark() != (shot.scheme == Scheme::Dark) {
        return Err(format!("{name} is not {:?}: {:?}", shot.scheme, picture.corner));
    }
    if bytes.len() > LARGEST_BYTES {
        return Err(format!("{name} has {} bytes, more than {LARGEST_BYTES}", bytes.len()));
    }
    Ok(())
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_paths_and_nothing_else_is_taken() {
        let options = Options::parse(&["--run", "a", "--out", "b"]).unwrap();
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(options, Options { run: path("a"), whet: None, out: path("b") });
        assert_eq!(Options::parse(&["--whet"]).unwrap_err(), "--whet needs a value");
        assert_eq!(Options::parse(&["--fast"]).unwrap_err(), USAGE);
    }

    #[test]
    fn the_pictures_of_the_repository_are_as_asked() {
        for shot in SHOTS {
            let file = crate::root().join("docs/pictures").join(shot.name);
            judge(&shot, &fs::read(&file).unwrap()).unwrap();
        }
    }

    #[test]
    fn a_picture_of_another_scheme_or_width_is_refused() {
        let bytes = fs::read(crate::root().join("docs/pictures/report-dark.png")).unwrap();
        let light = judge(&SHOTS[0], &bytes).unwrap_err();
        assert!(light.starts_with("report-light.png is not Light: "), "{light}");
        let phone = judge(&SHOTS[3], &bytes).unwrap_err();
        assert_eq!(phone, "report-phone-dark.png is 1280 pixels wide, not 390");
    }
}
