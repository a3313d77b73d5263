#ifndef CHATAUTH_COPENSSL_H
#define CHATAUTH_COPENSSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The algorithms of JSON Web Signatures (RFC 7518 §3.1, RFC 8037 §3.1).
enum {
    CO_HS256 = 0, CO_HS384, CO_HS512, CO_RS256, CO_PS256, CO_ES256, CO_ES384, CO_EDDSA
};

/// A public or private key of one of the asymmetric algorithms.
typedef struct co_key co_key;

/// Frees a key and wipes what is private in it; NULL is allowed.
void co_key_free(co_key *key);

/// Reads PEM: PKCS#8, PKCS#1 or SEC 1 private keys without a passphrase, or a SubjectPublicKeyInfo. NULL where it is none.
co_key *co_key_from_pem(const uint8_t *bytes, size_t length, bool is_private);

/// An RSA key of its modulus and exponent, most significant byte first; `d` and the rest of a private key may be NULL.
/// The order in `parts` is n, e, d, p, q, dp, dq, qi, each with its length. NULL where they are no key.
co_key *co_key_from_rsa(const uint8_t *const parts[8], const size_t lengths[8]);

/// A key on P-256 (`bits` 256) or P-384 (384); `d` may be NULL. NULL where the point is not on the curve.
co_key *co_key_from_ec(
    int bits, const uint8_t *x, size_t x_length, const uint8_t *y, size_t y_length, const uint8_t *d, size_t d_length);

/// An Ed25519 key: 32 bytes, private where `is_private`. NULL otherwise.
co_key *co_key_from_ed25519(const uint8_t *bytes, size_t length, bool is_private);

/// Whether `key` is of the kind that `algorithm` needs, and strong enough for it: RSA of 2048 bits at least with an odd exponent
/// of 3 or more, the right curve.
bool co_key_suits(const co_key *key, int algorithm);

/// Signs; the signature is in the form of RFC 7518 (r ‖ s for ECDSA). Its length, or 0 where the library fails.
size_t co_sign(
    const co_key *key, int algorithm, const uint8_t *data, size_t length, uint8_t *signature, size_t capacity);

/// Whether `signature` is of `data` by the key; false for any other length or form than RFC 7518's.
bool co_verify(
    const co_key *key, int algorithm, const uint8_t *data, size_t length, const uint8_t *signature, size_t signature_length);

/// HMAC of HS256, HS384 or HS512 into 64 bytes. Its length, or 0 where the library fails.
size_t co_hmac(
    int algorithm, const uint8_t *key, size_t key_length, const uint8_t *data, size_t length, uint8_t out[64]);

/// The hash that belongs to an algorithm, into 64 bytes (SHA-512 for EdDSA). Its length, or 0 where the library fails.
size_t co_hash(int algorithm, const uint8_t *data, size_t length, uint8_t out[64]);

#endif
