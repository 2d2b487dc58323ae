//! Downloads from a hub: what a user sees of them.

use std::cell::RefCell;

use whetstone_remote::hub::{DownloadEvent, Progress};

use crate::observer::Observer;

/// Shows how far downloads are, and says how many bytes came.
pub(crate) fn on_download(observer: &dyn Observer) -> impl Fn(DownloadEvent<'_>) + '_ {
    let bar = RefCell::new(None);
    move |download| match download {
        DownloadEvent::Part(Progress { bytes, total }) => {
            let mut bar = bar.borrow_mut();
            bar.get_or_insert_with(|| observer.download())(bytes, total.unwrap_or(bytes));
        }
        DownloadEvent::Done { repo, path, bytes } => {
            // The bar goes before the line comes.
            bar.take();
            observer.note(&format_args!("{}: {path} downloaded, {bytes} bytes", repo.id()));
        }
    }
}
