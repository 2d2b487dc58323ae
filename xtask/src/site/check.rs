//! The built site, read as a browser would: every link and anchor is there, and nothing comes from another host.
//!
//! Links of readers (`<a href>`) may lead elsewhere; what a page loads by itself may not. Of scripts, strings that
//! are addresses are looked at: one that is not known to be harmless is a problem.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use super::html::{Attribute, attributes};
use super::links::{is_outside, resolve};

/// Addresses in scripts that are never requested: names of namespaces, and where mdBook sends Rust code from elements
/// of the class [`PLAYGROUND`].
const HARMLESS: [&str; 2] = ["http://www.w3.org/", "https://play.rust-lang.org/"];

/// No page has an element of it.
const PLAYGROUND: &str = "playground";

/// Files of the site by path, and the anchors of its pages.
struct Site {
    files: BTreeMap<String, Vec<u8>>,
    anchors: BTreeMap<String, BTreeSet<String>>,
}

/// What was looked at.
#[derive(Debug)]
pub(super) struct Checked {
    /// HTML pages.
    pub(super) pages: usize,
    /// Links and resources inside the site.
    pub(super) links: usize,
}

/// Every problem of the site in `folder`, one a line.
pub(super) fn check(folder: &Path) -> Result<Checked, String> {
    let site = Site::read(folder).map_err(|err| format!("{}: {err}", folder.display()))?;
    if !site.files.contains_key("index.html") {
        return Err(format!("{} has no index.html: build the site first", folder.display()));
    }
    let mut problems = Vec::new();
    let mut links = 0;
    for (path, text) in site.texts("html") {
        let all = attributes(&text);
        if all.iter().any(is_playground) {
            problems.push(format!("{path}: sends code to play.rust-lang.org"));
        }
        let targets: Vec<Attribute> = all.into_iter().filter(is_target).collect();
        links += targets.iter().filter(|target| !is_outside(&target.value)).count();
        let dead = targets.iter().filter_map(|target| site.problem(path, target));
        problems.extend(dead.map(|problem| format!("{path}: {problem}")));
    }
    for (path, text) in site.texts("css") {
        let found = resources(&text).filter_map(|url| site.dead_resource(path, url));
        problems.extend(found.map(|problem| format!("{path}: {problem}")));
    }
    for (path, text) in site.texts("js") {
        problems.extend(requests(&text).map(|url| format!("{path}: names the address {url}")));
    }
    if problems.is_empty() {
        return Ok(Checked { pages: site.anchors.len(), links });
    }
    Err(format!("{}\n{} problems", problems.join("\n"), problems.len()))
}

/// Whether an attribute names something that has to be there.
fn is_target(attribute: &Attribute) -> bool {
    ["href", "src", "srcset", "action", "poster", "data"].contains(&attribute.name.as_str())
}

fn is_playground(attribute: &Attribute) -> bool {
    let mut classes = attribute.value.split_whitespace();
    attribute.name == "class" && classes.any(|class| class == PLAYGROUND)
}

impl Site {
    fn read(folder: &Path) -> io::Result<Self> {
        let mut site = Self { files: BTreeMap::new(), anchors: BTreeMap::new() };
        site.read_folder(folder, "")?;
        let anchors = site.texts("html").map(|(path, text)| {
            let named = attributes(&text).into_iter().filter(|attribute| attribute.name == "id");
            (path.to_owned(), named.map(|attribute| attribute.value).collect())
        });
        site.anchors = anchors.collect();
        Ok(site)
    }

    fn read_folder(&mut self, root: &Path, inside: &str) -> io::Result<()> {
        for entry in fs::read_dir(root.join(inside))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            if entry.file_type()?.is_dir() {
                self.read_folder(root, &path)?;
            } else {
                self.files.insert(path, fs::read(entry.path())?);
            }
        }
        Ok(())
    }

    /// Path and text of every file with this ending.
    fn texts<'a>(&'a self, ending: &str) -> impl Iterator<Item = (&'a str, String)> {
        let ending = format!(".{ending}");
        let files = self.files.iter().filter(move |(path, _)| path.ends_with(&ending));
        files.map(|(path, bytes)| (path.as_str(), String::from_utf8_lossy(bytes).into_owned()))
    }

    fn problem(&self, page: &str, target: &Attribute) -> Option<String> {
        let Attribute { tag, name, value } = target;
        let is_for_readers = tag == "a" && name == "href";
        match () {
            () if is_for_readers && is_outside(value) => None,
            () if is_for_readers => self.dead_link(page, value),
            // A picture for each screen: addresses with a density behind them.
            () if name == "srcset" => {
                let mut urls = value.split(',').filter_map(|one| one.split_whitespace().next());
                urls.find_map(|url| self.dead_resource(page, url))
            }
            () => self.dead_resource(page, value),
        }
    }

    fn dead_resource(&self, page: &str, url: &str) -> Option<String> {
        if url.starts_with("data:") {
            return None;
        }
        if is_outside(url) || url.starts_with("//") {
            return Some(format!("loads `{url}` from another host"));
        }
        self.dead_link(page, url)
    }

    fn dead_link(&self, page: &str, target: &str) -> Option<String> {
        let decoded = decoded(target);
        let Some((path, anchor)) = resolve(page, &decoded) else {
            return Some(format!("`{target}` leads out of the site"));
        };
        let path = path.split('?').next().unwrap_or(&path);
        if !self.files.contains_key(path) {
            return Some(format!("`{target}` leads to no file"));
        }
        let anchor = anchor.filter(|anchor| !anchor.is_empty())?;
        let is_there = self.anchors.get(path).is_some_and(|all| all.contains(anchor));
        (!is_there).then(|| format!("`{target}` leads to no element with that id"))
    }
}

/// An address with its `%xx` as letters.
fn decoded(target: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = target.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Addresses that a style sheet loads.
fn resources(css: &str) -> impl Iterator<Item = &str> {
    let urls = css.split("url(").skip(1).filter_map(|rest| rest.split(')').next());
    let imports = css.split("@import").skip(1).filter_map(|rest| rest.split(';').next());
    let imports = imports.filter(|import| !import.contains("url("));
    urls.chain(imports).map(|url| url.trim().trim_matches(['"', '\'']))
}

/// Strings of a script that are addresses of other hosts. A quote behind a backslash is text of a longer string.
fn requests(script: &str) -> impl Iterator<Item = &str> {
    let quoted = ["\"http", "'http", "`http", "\"//", "'//", "`//"];
    let found = quoted.into_iter().flat_map(|start| script.match_indices(start));
    let strings = found.filter(|(at, _)| !script[..*at].ends_with('\\'));
    let urls = strings.filter_map(|(at, _)| script[at + 1..].split(['"', '\'', '`', '\n']).next());
    urls.filter(|url| names_host(url) && !HARMLESS.iter().any(|known| url.starts_with(known)))
}

fn names_host(url: &str) -> bool {
    let host = |rest: &str| {
        let host = rest.split('/').next().unwrap_or(rest);
        host.contains('.') && host.chars().all(|c| c.is_ascii_alphanumeric() || "-.:".contains(c))
    };
    is_outside(url) || url.strip_prefix("//").is_some_and(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(files: &[(&str, &str)]) -> Result<Checked, String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        check(folder.path())
    }

    /// The problem of a page, which is the only one.
    #[track_caller]
    fn broken(body: &str, expected: &str) {
        let index = "<h1 id=\"top\"><a href=\"a/b.html?x#c\"></a>";
        let problems = checked(&[("index.html", index), ("a/b.html", &format!("<p id=c>{body}"))]);
        assert_eq!(problems.unwrap_err(), format!("a/b.html: {expected}\n1 problems"));
    }

    #[test]
    fn a_site_whose_links_hold_is_counted() {
        let page = "<h1 id=\"a-测\"><a href=\"#a-%E6%B5%8B\"><a href=\"https://a.b\"><img src=\"c%20d.png\">\
            <source srcset=\"c%20d.png 2x\"><img src=\"data:,\"><a href=\"#\">";
        let files = [
            ("index.html", page),
            ("c d.png", ""),
            ("e.css", "a { b: url('c%20d.png') } /* https://a.b */"),
            (
                "f.js",
                "a = \"http://www.w3.org/2000/svg\" + '///' + '//(a.b)' + '\\\"http://c'; // https://a.b\n",
            ),
        ];
        let checked = checked(&files).unwrap();
        assert_eq!((checked.pages, checked.links), (1, 5));
    }

    #[test]
    fn links_and_pictures_that_are_not_there_are_problems() {
        broken("<a href=\"c.html\">", "`c.html` leads to no file");
        broken(
            "<a href=\"../index.html#no\">",
            "`../index.html#no` leads to no element with that id",
        );
        broken("<img src=\"c.png\">", "`c.png` leads to no file");
        broken("<source srcset=\"../index.html, c.png 2x\">", "`c.png` leads to no file");
        broken("<a href=\"../../index.html\">", "`../../index.html` leads out of the site");
    }

    #[test]
    fn what_comes_from_another_host_is_a_problem() {
        let loads = |url: &str| format!("loads `{url}` from another host");
        broken("<script src=\"https://a.b/c.js\"></script>", &loads("https://a.b/c.js"));
        broken("<link rel=stylesheet href=//a.b/c.css>", &loads("//a.b/c.css"));
        let css = "@import \"https://a.b\"; @font-face { src: url(http://c.d/e.woff) }";
        let problems = checked(&[("index.html", ""), ("a.css", css)]).unwrap_err();
        assert!(problems.contains("a.css: loads `http://c.d/e.woff`"), "{problems}");
        assert!(problems.contains("a.css: loads `https://a.b`"), "{problems}");
        let problems =
            checked(&[("index.html", ""), ("a.js", "load('https://a.b/c')")]).unwrap_err();
        assert_eq!(problems, "a.js: names the address https://a.b/c\n1 problems");
        let problems = checked(&[("index.html", ""), ("a.js", "load(`//a.b/c`)")]).unwrap_err();
        assert_eq!(problems, "a.js: names the address //a.b/c\n1 problems");
        broken("<pre class=\"a playground\">", "sends code to play.rust-lang.org");
    }

    #[test]
    fn a_folder_without_a_site_is_a_problem() {
        assert!(checked(&[("a.html", "")]).unwrap_err().contains("has no index.html"));
    }
}
