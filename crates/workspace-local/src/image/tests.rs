//! Pictures within and beyond what models take.

use super::*;

fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1_u32;
    DynamicImage::ImageRgb8(image::RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        image::Rgb(state.to_be_bytes()[..3].try_into().unwrap())
    }))
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

#[test]
fn a_picture_within_the_limits_is_not_touched() {
    for (format, mime) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = encoded(&noise(8, 4), format);
        assert_eq!(sniff(&bytes), Some(mime));
        let ready = Picture::Ready { media_type: mime, bytes: bytes.clone(), shrunk: None };
        assert_eq!(prepare(mime, bytes, true), ready);
    }
    assert_eq!(sniff(b"BMW is a car"), None);
    assert_eq!(sniff(b""), None);
}

#[test]
fn a_wide_or_heavy_picture_is_shrunk_to_what_models_take() {
    for (width, height) in [(2400, 60), (1120, 1120)] {
        let bytes = encoded(&noise(width, height), ImageFormat::Png);
        let Picture::Ready { media_type, bytes, shrunk } = prepare("image/png", bytes, true) else {
            panic!("omitted")
        };
        assert!(base64_len(bytes.len()) <= IMAGE_BASE64_BYTES_MAX);
        let small = decode(media_type, &bytes).unwrap();
        assert!(small.width() <= IMAGE_SIDE_MAX && small.height() <= IMAGE_SIDE_MAX);
        if width > IMAGE_SIDE_MAX {
            let shrunk = shrunk.unwrap();
            assert_eq!((shrunk.from, shrunk.to), ((2400, 60), (2000, 50)));
            assert!(shrunk.note().contains("by 1.20"), "{}", shrunk.note());
        }
    }
}

#[test]
fn a_bitmap_becomes_a_format_that_models_take() {
    let bytes = encoded(&noise(8, 8), ImageFormat::Bmp);
    assert_eq!(sniff(&bytes), Some("image/bmp"));
    for resize in [true, false] {
        let Picture::Ready { media_type, bytes, shrunk } =
            prepare("image/bmp", bytes.clone(), resize)
        else {
            panic!("omitted")
        };
        assert_eq!((sniff(&bytes), shrunk), (Some(media_type), None));
        assert_ne!(media_type, "image/bmp");
    }
}

#[test]
fn a_broken_or_enormous_picture_is_left_out_with_a_reason() {
    let mut broken = encoded(&noise(8, 8), ImageFormat::Png);
    broken.truncate(40);
    let mut enormous = encoded(&noise(8, 8), ImageFormat::Png);
    enormous[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    for bytes in [broken, enormous] {
        assert!(matches!(prepare("image/png", bytes, true), Picture::Omitted { .. }));
    }
}

#[test]
fn a_picture_that_promises_more_than_a_decoder_may_fill_is_refused() {
    let side = IMAGE_DECODE_SIDE_MAX;
    for (width, height, is_left_out) in
        [(side, 1, false), (1, side, false), (side + 1, 1, true), (1, side + 1, true)]
    {
        let bytes = encoded(&noise(width, height), ImageFormat::Png);
        let picture = prepare("image/png", bytes, true);
        assert_eq!(matches!(picture, Picture::Omitted { .. }), is_left_out, "{width} {height}");
    }
    // Three bytes a pixel: a head that promises more than is taken, and one that promises just as much.
    let rows = |bytes: u64| u32::try_from(bytes / 3 / 16_384).unwrap();
    for (height, is_refused) in
        [(rows(IMAGE_DECODE_BYTES_MAX), false), (rows(IMAGE_DECODE_BYTES_MAX) + 1, true)]
    {
        let mut bytes = encoded(&noise(8, 8), ImageFormat::Bmp);
        bytes[18..22].copy_from_slice(&16_384_u32.to_le_bytes());
        bytes[22..26].copy_from_slice(&height.to_le_bytes());
        let refused = matches!(decode("image/bmp", &bytes), Err(image::ImageError::Limits(_)));
        assert_eq!(refused, is_refused, "{height}");
    }
}
