//! Where the libraries of NVIDIA lie, and opening them.
//!
//! A library is opened by its path; afterwards the loader finds it by name, which is how the bindings
//! ask for it. A missing one is thus a sentence of ours, never their panic.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A library that is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Library {
    /// What it is called in messages.
    pub(crate) name: &'static str,
    /// The package that has it.
    pub(crate) package: &'static str,
    /// File names, newest first.
    pub(crate) files: &'static [&'static str],
    /// Folders of pip's packages, below `nvidia`.
    pub(crate) pip_folders: &'static [&'static str],
}

/// The driver, which comes with the kernel module.
pub(crate) const DRIVER: Library =
    Library { name: "libcuda.so.1", package: "", files: &["libcuda.so.1"], pip_folders: &[] };

/// The compiler of kernels.
pub(crate) const NVRTC: Library = Library {
    name: "NVRTC (libnvrtc.so)",
    package: "nvidia-cuda-nvrtc",
    files: &["libnvrtc.so.13", "libnvrtc.so.12"],
    pip_folders: &["cu13/lib", "cuda_nvrtc/lib"],
};

/// Products of matrices.
pub(crate) const CUBLASLT: Library = Library {
    name: "cuBLASLt (libcublasLt.so)",
    package: "nvidia-cublas",
    files: &["libcublasLt.so.13", "libcublasLt.so.12"],
    pip_folders: &["cu13/lib", "cublas/lib"],
};

/// The folders in which to look, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folders {
    /// Folders of a toolkit.
    pub(crate) toolkits: Vec<PathBuf>,
    /// Folders in which pip's packages have a folder `nvidia`.
    pub(crate) site_packages: Vec<PathBuf>,
}

impl Folders {
    /// Those of this machine: `CUDA_HOME`, the usual folder, and Python's packages beside
    /// `VIRTUAL_ENV` or in the home folder.
    pub(crate) fn of_this_machine() -> Self {
        let set = |value: &OsString| !value.is_empty();
        let variable = |name: &str| std::env::var_os(name).filter(set).map(PathBuf::from);
        let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable);
        let homes = homes.chain([PathBuf::from("/usr/local/cuda")]);
        let toolkits = homes.flat_map(|home| [home.join("lib64"), home.join("lib")]).collect();
        let roots = [variable("VIRTUAL_ENV"), variable("HOME").map(|home| home.join(".local"))];
        let roots = roots.into_iter().flatten().chain(["/usr/local", "/usr"].map(PathBuf::from));
        let site_packages = roots.flat_map(|root| python_folders(&root.join("lib"))).collect();
        Self { toolkits, site_packages }
    }

    /// The folders for one library.
    pub(crate) fn of(&self, library: &Library) -> Vec<PathBuf> {
        let below = |root: &PathBuf| {
            let root = root.join("nvidia");
            library.pip_folders.iter().map(move |folder| root.join(folder)).collect::<Vec<_>>()
        };
        self.toolkits.iter().cloned().chain(self.site_packages.iter().flat_map(below)).collect()
    }

    /// The library's file, if one of the folders has it.
    pub(crate) fn find(&self, library: &Library) -> Option<PathBuf> {
        let folders = self.of(library);
        let files = |folder: &PathBuf| library.files.iter().map(|file| folder.join(file)).collect();
        let mut all = folders.iter().flat_map(|folder| -> Vec<PathBuf> { files(folder) });
        all.find(|path| path.is_file())
    }
}

/// `lib/python3.12/site-packages` and its like, in the order of their names.
fn python_folders(lib: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(lib) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut pythons: Vec<String> = names.filter(|name| name.starts_with("python3")).collect();
    pythons.sort();
    let folders = pythons.iter().flat_map(|python| {
        ["site-packages", "dist-packages"].map(|packages| lib.join(python).join(packages))
    });
    folders.filter(|folder| folder.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    #[test]
    fn a_toolkit_comes_before_pip_and_newer_before_older() {
        let root = tempfile::tempdir().unwrap();
        let [toolkit, packages] = ["toolkit", "packages"].map(|name| root.path().join(name));
        let folders =
            Folders { toolkits: vec![toolkit.clone()], site_packages: vec![packages.clone()] };
        assert_eq!(folders.find(&NVRTC), None);
        let pip = packages.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
        touch(&pip);
        assert_eq!(folders.find(&NVRTC), Some(pip));
        assert_eq!(folders.find(&CUBLASLT), None);
        let newer = packages.join("nvidia/cu13/lib/libnvrtc.so.13");
        touch(&newer);
        assert_eq!(folders.find(&NVRTC), Some(newer));
        touch(&toolkit.join("libnvrtc.so.12"));
        assert_eq!(folders.find(&NVRTC), Some(toolkit.join("libnvrtc.so.12")));
    }

    #[test]
    fn the_packages_of_every_python_are_looked_in() {
        let root = tempfile::tempdir().unwrap();
        let site = root.path().join("python3.12/site-packages");
        std::fs::create_dir_all(&site).unwrap();
        std::fs::create_dir_all(root.path().join("perl5")).unwrap();
        assert_eq!(python_folders(root.path()), [site]);
        assert!(python_folders(&root.path().join("absent")).is_empty());
    }
}
