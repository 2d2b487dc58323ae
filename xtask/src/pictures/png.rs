//! What a picture of the browser shows, as far as a program can say: its size and its first pixel.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// The start of every PNG file.
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A PNG file of which enough is read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Picture {
    /// Pixels from left to right.
    pub(super) width: u32,
    /// Red, green and blue of the upper left pixel.
    pub(super) corner: [u8; 3],
}

impl Picture {
    /// Reads a file as a browser writes it, with eight bits for each of three or four channels.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(SIGNATURE)?;
        let (mut width, mut data) = (None, Vec::new());
        while let Some((name, chunk, after)) = chunk(rest) {
            match name {
                b"IHDR" => {
                    let is_rgb = matches!(chunk.get(8..10)?, [8, 2 | 6]);
                    width = is_rgb.then(|| number(chunk)).flatten();
                }
                b"IDAT" => data.extend_from_slice(chunk),
                _ => {}
            }
            rest = after;
        }
        // A filter, then the pixel: whatever the filter, nothing is above it or to its left.
        let mut first = [0; 4];
        ZlibDecoder::new(data.as_slice()).read_exact(&mut first).ok()?;
        let [_, red, green, blue] = first;
        Some(Self { width: width?, corner: [red, green, blue] })
    }

    /// Whether the background is dark.
    pub(super) fn is_dark(&self) -> bool {
        self.corner.iter().all(|channel| *channel < 96)
    }
}

/// Name and bytes of the next chunk, and what follows its checksum.
fn chunk(bytes: &[u8]) -> Option<(&[u8; 4], &[u8], &[u8])> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let name = bytes.get(4..8)?.try_into().ok()?;
    let end = length.checked_add(8)?;
    Some((name, bytes.get(8..end)?, bytes.get(end.checked_add(4)?..)?))
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn chunk_of(name: &[u8], bytes: &[u8]) -> Vec<u8> {
        let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        [&length[..], name, bytes, &[0; 4]].concat()
    }

    /// Two pixels, the left one of this colour.
    fn picture(corner: [u8; 3]) -> Vec<u8> {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&[1]).unwrap();
        zlib.write_all(&corner).unwrap();
        zlib.write_all(&[0; 3]).unwrap();
        let header = [&2_u32.to_be_bytes()[..], &1_u32.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
        let data = zlib.finish().unwrap();
        let (one, two) = data.split_at(3);
        [SIGNATURE, &chunk_of(b"IHDR", &header), &chunk_of(b"IDAT", one), &chunk_of(b"IDAT", two)]
            .concat()
    }

    #[test]
    fn width_and_first_pixel_are_read() {
        let dark = Picture::read(&picture([20, 23, 26])).unwrap();
        assert_eq!(dark, Picture { width: 2, corner: [20, 23, 26] });
        assert!(dark.is_dark() && !Picture::read(&picture([250, 249, 246])).unwrap().is_dark());
    }

    #[test]
    fn what_is_not_a_whole_picture_is_refused() {
        let whole = picture([1, 2, 3]);
        for end in [0, 7, 20, 40, whole.len() - 8] {
            assert_eq!(Picture::read(&whole[..end]), None, "{end}");
        }
    }
}
