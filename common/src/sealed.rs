//! Sealed records: a magic line, the XXH3 of the record (8 bytes, little-endian), and the record. A
//! file that holds one is recognized, and damage to it is found.

use xxhash_rust::xxh3::xxh3_64;

/// Returns the record behind its magic line and its checksum.
#[must_use]
pub fn seal(magic: &[u8], record: &[u8]) -> Vec<u8> {
    [magic, &xxh3_64(record).to_le_bytes(), record].concat()
}

/// Returns the record in a sealed file.
///
/// # Errors
/// Returns a text that completes "the file is …".
pub fn unseal<'a>(magic: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], String> {
    let rest = bytes
        .strip_prefix(magic)
        .ok_or("damaged, or written by another version: its magic number is missing")?;
    let (sum, record) = rest.split_first_chunk::<8>().ok_or("damaged: it is too short")?;
    if xxh3_64(record) != u64::from_le_bytes(*sum) {
        return Err("damaged: its checksum is wrong".to_owned());
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_round_trips_and_damage_is_found_at_every_byte() {
        let magic = b"magic 1\n";
        let sealed = seal(magic, b"a record");
        assert_eq!(unseal(magic, &sealed), Ok(&b"a record"[..]));
        for at in 0..sealed.len() {
            assert!(unseal(magic, &sealed[..at]).is_err(), "cut at {at}");
            let mut bytes = sealed.clone();
            bytes[at] ^= 1;
            assert!(unseal(magic, &bytes).is_err(), "byte {at}");
        }
    }
}
