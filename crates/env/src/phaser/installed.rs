//! Where Phaser is installed.

use std::env;
use std::path::PathBuf;

use whetstone_sandbox::phaser::{InstallError, Installation, Version};

/// The folder for what `whet` installs: `$XDG_DATA_HOME/whetstone`, or `.local/share/whetstone` of the home folder.
pub fn data_folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    Some(data.join("whetstone"))
}

/// The newest version 3 of Phaser that is installed, else version 4.
///
/// # Errors
///
/// If what is installed is damaged, or of another engine.
pub fn installed() -> Result<Option<Installation>, InstallError> {
    let Some(folder) = data_folder() else { return Ok(None) };
    for version in [Version::V3, Version::V4] {
        if let Some(found) = Installation::find(&folder, version)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
