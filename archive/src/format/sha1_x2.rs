//! Two SHA-1 digests in little more time than one (FIPS 180-4 section 6.1): of a payload, and of a
//! block that consists of a head and the same payload.
//!
//! Each round of SHA-1 depends on the previous one, so a single chain leaves a processor with SHA
//! instructions half idle. Here two chains are interleaved.

/// A SHA-1 digest.
pub type Sha1 = [u8; 20];

/// Returns the digest of `payload`, and the digest of `head` followed by `payload`. Returns `None`
/// on a processor without SHA instructions.
pub fn sha1_x2(head: &[u8], payload: &[u8]) -> Option<[Sha1; 2]> {
    #[cfg(target_arch = "x86_64")]
    return x86::sha1_x2(head, payload);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (head, payload);
        None
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Sha1;
    use core::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_extract_epi32, _mm_loadu_si128, _mm_set_epi32, _mm_set_epi64x,
        _mm_sha1msg1_epu32, _mm_sha1msg2_epu32, _mm_sha1nexte_epu32, _mm_sha1rnds4_epu32,
        _mm_shuffle_epi8, _mm_xor_si128,
    };

    const BLOCK: usize = 64;
    /// Initial state: FIPS 180-4 section 5.3.1.
    const BEGIN: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

    type State = [u32; 5];

    pub fn sha1_x2(head: &[u8], payload: &[u8]) -> Option<[Sha1; 2]> {
        let has_sha = is_x86_feature_detected!("sha")
            && is_x86_feature_detected!("ssse3")
            && is_x86_feature_detected!("sse4.1");
        // SAFETY: the processor has the features that `digest_both` is compiled for.
        has_sha.then(|| unsafe { digest_both(head, payload) })
    }

    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn digest_both(head: &[u8], payload: &[u8]) -> [Sha1; 2] {
        // Fill up to the first block that contains only payload.
        let fill = (BLOCK - head.len() % BLOCK) % BLOCK;
        let (filling, rest) = payload.split_at(fill.min(payload.len()));
        let begin = [head, filling].concat();
        let n_begin = begin.len() / BLOCK * BLOCK;
        let [whole] = compress([BEGIN], [&begin[..n_begin]]);
        // Zero if the payload does not fill the block.
        let n_both = rest.len() / BLOCK * BLOCK;
        let [alone, whole] = compress([BEGIN, whole], [&payload[..n_both], &rest[..n_both]]);
        let tail = [&begin[n_begin..], &rest[n_both..]].concat();
        let n_bytes = head.len() + payload.len();
        [end(alone, &payload[n_both..], payload.len()), end(whole, &tail, n_bytes)]
    }

    /// Processes the last bytes of a message of `n_bytes` and returns the digest.
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn end(state: State, tail: &[u8], n_bytes: usize) -> Sha1 {
        let n_whole = tail.len() / BLOCK * BLOCK;
        let state = compress([state], [&tail[..n_whole]]);
        let tail = &tail[n_whole..];
        let mut last = [0; 2 * BLOCK];
        last[..tail.len()].copy_from_slice(tail);
        last[tail.len()] = 0x80;
        let n = if tail.len() < BLOCK - 8 { BLOCK } else { 2 * BLOCK };
        last[n - 8..n].copy_from_slice(&(8 * n_bytes as u64).to_be_bytes());
        let [state] = compress(state, [&last[..n]]);
        let mut digest = [0; 20];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        digest
    }

    /// Compresses whole blocks, the same number for each chain.
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn compress<const N: usize>(mut states: [State; N], blocks: [&[u8]; N]) -> [State; N] {
        let order = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
        let zero = _mm_set_epi64x(0, 0);
        let (mut abcd, mut e) = ([zero; N], [zero; N]);
        for chain in 0..N {
            let [s0, s1, s2, s3, s4] = states[chain].map(u32::cast_signed);
            abcd[chain] = _mm_set_epi32(s0, s1, s2, s3);
            e[chain] = _mm_set_epi32(s4, 0, 0, 0);
        }
        for at in (0..blocks[0].len()).step_by(BLOCK) {
            let mut words = [[zero; 4]; N];
            let (mut now, mut before, mut next) = (abcd, abcd, [zero; N]);
            for chain in 0..N {
                let (sixteens, _) = blocks[chain][at..at + BLOCK].as_chunks::<16>();
                for (word, bytes) in words[chain].iter_mut().zip(sixteens) {
                    *word = _mm_shuffle_epi8(load(bytes), order);
                }
                next[chain] = _mm_add_epi32(e[chain], words[chain][0]);
            }
            // Each kind has five times four rounds.
            macro_rules! twenty_rounds {
                ($kind:literal) => {
                    for _ in 0..5 {
                        for chain in 0..N {
                            let [w0, w1, w2, w3] = words[chain];
                            before[chain] = now[chain];
                            now[chain] = _mm_sha1rnds4_epu32::<$kind>(before[chain], next[chain]);
                            next[chain] = _mm_sha1nexte_epu32(before[chain], w1);
                            let mixed = _mm_xor_si128(_mm_sha1msg1_epu32(w0, w1), w2);
                            words[chain] = [w1, w2, w3, _mm_sha1msg2_epu32(mixed, w3)];
                        }
                    }
                };
            }
            twenty_rounds!(0);
            twenty_rounds!(1);
            twenty_rounds!(2);
            twenty_rounds!(3);
            for chain in 0..N {
                abcd[chain] = _mm_add_epi32(abcd[chain], now[chain]);
                e[chain] = _mm_sha1nexte_epu32(before[chain], e[chain]);
            }
        }
        for chain in 0..N {
            let (abcd, e) = (abcd[chain], e[chain]);
            states[chain] = [
                _mm_extract_epi32::<3>(abcd),
                _mm_extract_epi32::<2>(abcd),
                _mm_extract_epi32::<1>(abcd),
                _mm_extract_epi32::<0>(abcd),
                _mm_extract_epi32::<3>(e),
            ]
            .map(i32::cast_unsigned);
        }
        states
    }

    #[target_feature(enable = "sse2")]
    fn load(bytes: &[u8; 16]) -> __m128i {
        // SAFETY: the reference is valid for 16 bytes, and this load needs no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha1::Digest;

    fn by_sha1_crate(head: &[u8], payload: &[u8]) -> [Sha1; 2] {
        let whole = sha1::Sha1::new().chain_update(head).chain_update(payload);
        [sha1::Sha1::digest(payload).into(), whole.finalize().into()]
    }

    #[test]
    fn heads_and_payloads_of_all_lengths_around_a_block() {
        let bytes: Vec<u8> = (0..400_u32).map(|n| (n * 7 % 251) as u8).collect();
        for head in (0..=70).chain([127, 128, 129, 200]) {
            for payload in (0..=140).chain([191, 192, 193, 255, 256, 300]) {
                let (head, payload) = (&bytes[..head], &bytes[10..10 + payload]);
                let Some(pair) = sha1_x2(head, payload) else { return };
                assert_eq!(pair, by_sha1_crate(head, payload));
            }
        }
    }

    proptest! {
        #[test]
        fn both_digests_equal_those_of_the_sha1_crate(
            head in prop::collection::vec(any::<u8>(), 0..900),
            payload in prop::collection::vec(any::<u8>(), 0..5_000),
        ) {
            if let Some(pair) = sha1_x2(&head, &payload) {
                prop_assert_eq!(pair, by_sha1_crate(&head, &payload));
            }
        }
    }
}
