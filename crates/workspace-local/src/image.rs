//! Makes pictures fit for models: recognised by their first bytes, decoded under limits, shrunk.
//!
//! Files are not opened here; decoders get bytes and nothing else.

use std::io::Cursor;

use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, codecs::jpeg::JpegEncoder,
};
use vocab::limits::{
    IMAGE_BASE64_BYTES_MAX, IMAGE_DECODE_BYTES_MAX, IMAGE_DECODE_SIDE_MAX, IMAGE_SIDE_MAX,
};

/// A picture ready for a model, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// It can be shown.
    Ready {
        /// Its media type.
        media_type: &'static str,
        /// Its bytes.
        bytes: Vec<u8>,
        /// Width and height before and after, where it was shrunk.
        shrunk: Option<Shrunk>,
    },
    /// It cannot be shown.
    Omitted {
        /// Why, for people.
        reason: String,
    },
}

/// How far a picture was shrunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shrunk {
    /// Width and height of the original, upright.
    pub from: (u32, u32),
    /// Width and height as shown.
    pub to: (u32, u32),
}

impl Shrunk {
    /// Writes what a model needs to point at places of the original.
    #[must_use]
    pub fn note(&self) -> String {
        let factor = f64::from(self.from.0) / f64::from(self.to.0.max(1));
        format!(
            "[The picture is {}x{}, shown at {}x{}. Multiply coordinates by {factor:.2} to find them in \
             the original.]",
            self.from.0, self.from.1, self.to.0, self.to.1
        )
    }
}

/// Tells the media type by the first bytes; `image/bmp` too, which models do not take.
#[must_use]
pub fn sniff(first: &[u8]) -> Option<&'static str> {
    match first {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        // The four bytes after the size are reserved, which tells a picture from a text that begins alike.
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some("image/bmp"),
        _ => None,
    }
}

/// Prepares a picture whose media type was [`sniff`]ed.
#[must_use]
pub fn prepare(media_type: &'static str, bytes: Vec<u8>, resize: bool) -> Picture {
    let takes = media_type != "image/bmp";
    if takes && !resize {
        return Picture::Ready { media_type, bytes, shrunk: None };
    }
    let decoded = match decode(media_type, &bytes) {
        Ok(decoded) => decoded,
        Err(error) => {
            return Picture::Omitted { reason: format!("it cannot be decoded: {error}") };
        }
    };
    let from = (decoded.width(), decoded.height());
    let fits = from.0 <= IMAGE_SIDE_MAX && from.1 <= IMAGE_SIDE_MAX;
    if takes && fits && base64_len(bytes.len()) <= IMAGE_BASE64_BYTES_MAX {
        return Picture::Ready { media_type, bytes, shrunk: None };
    }
    shrink(&decoded, from)
}

fn decode(media_type: &str, bytes: &[u8]) -> image::ImageResult<DynamicImage> {
    let format = ImageFormat::from_mime_type(media_type).unwrap_or(ImageFormat::Png);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(IMAGE_DECODE_SIDE_MAX);
    limits.max_image_height = Some(IMAGE_DECODE_SIDE_MAX);
    limits.max_alloc = Some(IMAGE_DECODE_BYTES_MAX);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder()?;
    // Decoders bound what they hold themselves, and not the picture that they fill.
    limits.reserve(decoder.total_bytes())?;
    decoder.set_limits(limits)?;
    let orientation = decoder.orientation()?;
    let mut decoded = DynamicImage::from_decoder(decoder)?;
    decoded.apply_orientation(orientation);
    Ok(decoded)
}

/// Tries sizes and qualities from best to worst until one fits.
fn shrink(decoded: &DynamicImage, from: (u32, u32)) -> Picture {
    const QUALITIES: [u8; 5] = [80, 70, 55, 40, 25];
    const SIDE_MIN: u32 = 100;
    for percent in [100, 75, 50, 35, 25, 12] {
        let side = IMAGE_SIDE_MAX.min(from.0.max(from.1)) * percent / 100;
        if side < SIDE_MIN && percent < 100 {
            break;
        }
        let side = side.max(1);
        let small = if percent == 100 && from.0 <= side && from.1 <= side {
            decoded.clone()
        } else {
            decoded.thumbnail(side, side)
        };
        let to = (small.width(), small.height());
        let shrunk = (to != from).then_some(Shrunk { from, to });
        if let Some((media_type, bytes)) = smallest(&small, &QUALITIES) {
            return Picture::Ready { media_type, bytes, shrunk };
        }
    }
    Picture::Omitted { reason: "it stays too large for a model at every size".into() }
}

fn smallest(small: &DynamicImage, qualities: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    let fits = |bytes: &Vec<u8>| base64_len(bytes.len()) <= IMAGE_BASE64_BYTES_MAX;
    let mut png = Vec::new();
    let png_made = small.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).is_ok();
    let flat = flatten(small);
    for (idx, quality) in qualities.iter().enumerate() {
        let mut jpeg = Vec::new();
        if JpegEncoder::new_with_quality(&mut jpeg, *quality).encode_image(&flat).is_err() {
            continue;
        }
        if idx == 0 && png_made && png.len() <= jpeg.len() && fits(&png) {
            return Some(("image/png", png));
        }
        if fits(&jpeg) {
            return Some(("image/jpeg", jpeg));
        }
    }
    (png_made && fits(&png)).then_some(("image/png", png))
}

/// Lays a picture with transparency on white, since JPEG knows none.
fn flatten(picture: &DynamicImage) -> image::RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let with_alpha = picture.to_rgba8();
    let mut flat = image::RgbImage::new(with_alpha.width(), with_alpha.height());
    for (out, from) in flat.pixels_mut().zip(with_alpha.pixels()) {
        let [red, green, blue, alpha] = from.0.map(u16::from);
        let on_white = |part: u16| ((part * alpha + 255 * (255 - alpha)) / 255).min(255);
        out.0 = [red, green, blue].map(|part| u8::try_from(on_white(part)).unwrap_or(u8::MAX));
    }
    flat
}

/// Returns how long bytes become in base64.
#[must_use]
pub fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

#[cfg(test)]
mod tests;
