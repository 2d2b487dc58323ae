//! Pages, pictures and linked files of the repository, copied to where mdBook reads them.
//!
//! Folders stay as they are in the repository, so links between pages need no change but for the name of README.md,
//! which mdBook makes the index of its folder. A link to another file of the
//! repository would be dead on a site: a short text file becomes a page of its own, of anything else the name is
//! left, as code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::links::{is_outside, links, resolve};
use super::pages::{Page, SECTIONS, section_of, summary};

/// Longer files are named and not shown.
const SHOWN_BYTES: u64 = 64 << 10;

const PICTURES: [&str; 4] = ["png", "svg", "jpg", "gif"];

/// What was copied, in figures.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Staged {
    /// Pages of the repository.
    pub(super) pages: usize,
    /// Files that became pages because a page links to them.
    pub(super) files: Vec<String>,
    /// Linked files that are only named.
    pub(super) named: Vec<String>,
}

/// What a site has beside its pages, by path.
#[derive(Debug, Default)]
struct Beside {
    pages: BTreeMap<String, Page>,
    pictures: Vec<String>,
    named: Vec<String>,
}

/// Writes everything into `source`, which is made anew.
pub(super) fn stage(root: &Path, source: &Path) -> Result<Staged, String> {
    // What an older run left would be part of this site.
    let _ = fs::remove_dir_all(source);
    let mut pages = collect(root)?;
    let mut beside = Beside::default();
    for page in &mut pages {
        page.text = rewritten(root, page, &mut beside)?;
    }
    let files: Vec<Page> = beside.pages.into_values().collect();
    for page in pages.iter().chain(&files) {
        write(source, &page.path, page.text.as_bytes())?;
    }
    for picture in &beside.pictures {
        write(source, picture, &read(root, picture)?)?;
    }
    write(source, "SUMMARY.md", summary(&pages, &files).as_bytes())?;
    let files = files.into_iter().map(|page| page.path).collect();
    Ok(Staged { pages: pages.len(), files, named: beside.named })
}

/// Every page of the table, in its order.
fn collect(root: &Path) -> Result<Vec<Page>, String> {
    let mut pages = Vec::new();
    for entry in SECTIONS.iter().flat_map(|section| section.pages) {
        match entry.strip_suffix('/') {
            Some(folder) => pages.extend(folder_pages(root, folder)?),
            None => pages.push(page(root, entry)?),
        }
    }
    Ok(pages)
}

/// Every page of a folder: its README.md, then the others by name.
fn folder_pages(root: &Path, folder: &str) -> Result<Vec<Page>, String> {
    let entries = fs::read_dir(root.join(folder)).map_err(|err| format!("{folder}: {err}"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_page = |name: &String| Path::new(name).extension().is_some_and(|kind| kind == "md");
    let mut names: Vec<String> = names.filter(is_page).collect();
    names.sort_by_key(|name| (name != "README.md", name.clone()));
    names.iter().map(|name| page(root, &format!("{folder}/{name}"))).collect()
}

fn page(root: &Path, path: &str) -> Result<Page, String> {
    let text = String::from_utf8(read(root, path)?).map_err(|_| format!("{path} is not UTF-8"))?;
    Ok(Page { path: path.to_owned(), text })
}

/// The text of a page with links that hold on the site.
fn rewritten(root: &Path, page: &Page, beside: &mut Beside) -> Result<String, String> {
    let mut text = page.text.clone();
    for link in links(&page.text).into_iter().rev() {
        let target = &page.text[link.target.clone()];
        if is_outside(target) {
            continue;
        }
        let (path, _) = resolve(&page.path, target)
            .ok_or_else(|| format!("{}: `{target}` leads out of the repository", page.path))?;
        if path == page.path || section_of(&path).is_some() {
            text.replace_range(link.target, &target.replace("README.md", "index.md"));
            continue;
        }
        let shown = &page.text[link.text.clone()];
        match beside.place(root, &path)? {
            Place::Picture => {}
            Place::Page => {
                let file = target.split('#').next().unwrap_or(target);
                text.replace_range(link.target, &format!("{file}.md"));
            }
            Place::Name if shown.contains(&path) => text.replace_range(link.whole, shown),
            Place::Name => text.replace_range(link.whole, &format!("{shown} (`{path}`)")),
        }
    }
    Ok(text)
}

/// Where a linked file is on the site.
enum Place {
    /// Beside the pages, as it is.
    Picture,
    /// On a page of its own.
    Page,
    /// Nowhere: it is named.
    Name,
}

impl Beside {
    fn place(&mut self, root: &Path, path: &str) -> Result<Place, String> {
        let file = root.join(path);
        let length = fs::metadata(&file).map_err(|err| format!("{path}: {err}"))?;
        let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or("");
        if PICTURES.contains(&ending) {
            self.pictures.push(path.to_owned());
            return Ok(Place::Picture);
        }
        let is_short = length.is_file() && length.len() <= SHOWN_BYTES;
        let text = if is_short { fs::read_to_string(&file).ok() } else { None };
        let Some(text) = text else {
            self.named.push(path.to_owned());
            return Ok(Place::Name);
        };
        let page = Page { path: format!("{path}.md"), text: as_code(path, ending, &text) };
        self.pages.insert(path.to_owned(), page);
        Ok(Place::Page)
    }
}

/// A file as a page, in a block that nothing in it closes.
fn as_code(path: &str, ending: &str, text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let line = if text.ends_with('\n') { "" } else { "\n" };
    format!("# `{path}`\n\n{fence}{ending}\n{text}{line}{fence}\n")
}

fn read(root: &Path, path: &str) -> Result<Vec<u8>, String> {
    fs::read(root.join(path)).map_err(|err| format!("{path}: {err}"))
}

fn write(source: &Path, path: &str, bytes: &[u8]) -> Result<(), String> {
    let target = source.join(path);
    let folder = target.parent().unwrap_or(source);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&target, bytes))
        .map_err(|err| format!("cannot write {}: {err}", target.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(text: &str, files: &[(&str, &[u8])]) -> (String, Beside) {
        let root = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            write(root.path(), path, bytes).unwrap();
        }
        let page = Page { path: "docs/guides/look.md".to_owned(), text: text.to_owned() };
        let mut beside = Beside::default();
        (rewritten(root.path(), &page, &mut beside).unwrap(), beside)
    }

    #[test]
    fn links_between_pages_stay_and_others_are_never_dead() {
        let long = vec![b'a'; (64 << 10) + 1];
        let files: [(&str, &[u8]); 4] = [
            ("configs/a.toml", b"a = 1"),
            ("data.jsonl", &long),
            ("docs/pictures/b.png", b"\x89PNG"),
            ("crates/core/src/lib.rs", b"//! ```\n"),
        ];
        let (text, beside) = rewrite(
            "[1](alarms.md#a) [2](https://a.b) [7](../adr/README.md#b) [3](../../configs/a.toml#x) [4](../../data.jsonl)\n\
             ![5](../pictures/b.png) [`crates/core`](../../crates/core) [6](#own)\n",
            &files,
        );
        assert_eq!(
            text,
            "[1](alarms.md#a) [2](https://a.b) [7](../adr/index.md#b) [3](../../configs/a.toml.md) 4 (`data.jsonl`)\n\
             ![5](../pictures/b.png) `crates/core` [6](#own)\n"
        );
        assert_eq!(
            beside.pages["configs/a.toml"].text,
            "# `configs/a.toml`\n\n```toml\na = 1\n```\n"
        );
        assert_eq!(beside.pictures, ["docs/pictures/b.png"]);
        assert_eq!(beside.named, ["crates/core", "data.jsonl"]);
    }

    #[test]
    fn a_file_with_fences_is_in_a_longer_one() {
        assert_eq!(as_code("a.rs", "rs", "```\n"), "# `a.rs`\n\n````rs\n```\n````\n");
    }

    #[test]
    fn everything_of_this_repository_is_staged() {
        let source = tempfile::tempdir().unwrap();
        let staged = stage(&crate::root(), source.path()).unwrap();
        let summary = fs::read_to_string(source.path().join("SUMMARY.md")).unwrap();
        assert_eq!(summary.matches("](").count(), staged.pages + staged.files.len());
        assert!(staged.files.contains(&"LICENSE.md".to_owned()), "{:?}", staged.files);
        assert_eq!(staged.named, Vec::<String>::new());
    }
}
