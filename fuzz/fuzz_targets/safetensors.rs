//! Any bytes as a safetensors file: refused, or every tensor lies inside them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_model::safetensors::SafetensorsHeader;

fuzz_target!(|bytes: &[u8]| {
    // As a whole file, or as a header alone with its length in front and some numbers behind.
    let mut framed = (bytes.len() as u64).to_le_bytes().to_vec();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(&[0; 64]);
    for file in [bytes, &framed] {
        let Ok(header) = SafetensorsHeader::read(&mut &*file, file.len() as u64) else { continue };
        let inside: u64 = header.tensors.values().map(|tensor| tensor.bytes()).sum();
        assert!(inside + 8 <= file.len() as u64);
    }
});
