//! Any bytes as a GGUF file: refused, or every tensor lies inside them and decodes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_model::gguf::{GgufHeader, MetadataValue};

fuzz_target!(|bytes: &[u8]| {
    // As a whole file, or behind a magic and a version, which a fuzzer need not find.
    let framed = [b"GGUF\x03\0\0\0", bytes].concat();
    for file in [bytes, &framed] {
        let Ok(header) = GgufHeader::read(&mut &*file, file.len() as u64) else { continue };
        let inside: u64 = header.tensors.values().map(|tensor| tensor.bytes()).sum();
        assert!(inside <= file.len() as u64);
        for tensor in header.tensors.values() {
            let size = usize::try_from(tensor.bytes()).expect("inside the file");
            let mut numbers = vec![0.0; tensor.numbers()];
            let decoded = tensor.dtype().decode(&file[..size], &mut numbers);
            assert!(decoded.is_some() || tensor.dtype().block_numbers() == 1);
        }
        for value in header.metadata.values() {
            match value {
                MetadataValue::Texts(texts) => assert_eq!(texts.iter().count(), texts.len()),
                MetadataValue::Numbers(numbers) => {
                    let count = numbers.integers().map(Iterator::count);
                    assert!(count.is_none_or(|count| count == numbers.len()));
                }
                _ => {}
            }
        }
    }
});
