// What JOSE needs of OpenSSL 3, behind a few functions, each of which fails closed.
//
// libcrypto is loaded when a key is first used, not when the program starts: most daemons never sign, and its
// relocations alone are 0.4 MB of memory that cannot be given back (docs/decisions/0007).
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Loads libcrypto once, without its configuration file; 1 when it is there.
int co_load(void);

enum { CO_SHA256 = 1, CO_SHA384 = 2, CO_SHA512 = 3 };

/// Writes the digest, at most 64 bytes, and answers with its length; 0 on failure.
size_t co_digest(int hash, const uint8_t *bytes, size_t length, uint8_t *out);
/// Writes the HMAC, at most 64 bytes, and answers with its length; 0 on failure.
size_t co_hmac(int hash, const uint8_t *key, size_t key_length, const uint8_t *bytes, size_t length, uint8_t *out);

/// A key; owned by whoever got it.
typedef struct co_key co_key;
void co_key_free(co_key *key);

enum { CO_RSA = 1, CO_P256 = 2, CO_P384 = 3, CO_ED25519 = 4 };

/// Which of the kinds above a key is; 0: none of them, or an RSA key that is too small, too large or with a bad exponent.
int co_key_kind(const co_key *key);

enum {
    CO_PRIVATE_KEY_INFO = 1, // PKCS#8
    CO_RSA_PRIVATE_KEY = 2,  // PKCS#1
    CO_EC_PRIVATE_KEY = 3,   // SEC 1
    CO_PUBLIC_KEY_INFO = 4,  // X.509
    CO_RSA_PUBLIC_KEY = 5,   // PKCS#1
};

/// Reads DER of the given form; NULL when it is not exactly that.
co_key *co_key_from_der(int form, const uint8_t *bytes, size_t length);

typedef struct {
    const uint8_t *bytes;
    size_t length;
} co_bytes;

/// Makes an RSA key of big-endian numbers: n, e, d, p, q, dp, dq, qi. Without d it is public; the last five may be absent together.
co_key *co_key_from_rsa(const co_bytes numbers[8]);
/// Makes a key of CO_P256 or CO_P384 of coordinates of the curve's length; without d it is public.
co_key *co_key_from_ec(int kind, co_bytes x, co_bytes y, co_bytes d);
/// Makes an Ed25519 key; without d it is public. NULL when x does not belong to d.
co_key *co_key_from_ed25519(co_bytes x, co_bytes d);

/// Makes a new key of one of the kinds above; RSA with 2048 bits.
co_key *co_key_generate(int kind);

/// No public or private key of the kinds that are made here is longer.
enum { CO_KEY_LIMIT = 2048 };

/// Writes the public half as CO_PUBLIC_KEY_INFO, or the private one as CO_RSA_PRIVATE_KEY, CO_EC_PRIVATE_KEY or, of
/// Ed25519, CO_PRIVATE_KEY_INFO, and answers with its length; 0 when it is absent or too long.
size_t co_key_to_der(const co_key *key, int is_private, uint8_t out[CO_KEY_LIMIT]);

enum { CO_RS256 = 1, CO_PS256 = 2, CO_ES256 = 3, CO_ES384 = 4, CO_EDDSA = 5 };

/// No signature of the algorithms above is longer: RSA of 8192 bits.
enum { CO_SIGNATURE_LIMIT = 1024 };

/// Writes the signature as JWS has it and answers with its length; 0 when the key cannot sign, or its halves do not match.
size_t co_sign(co_key *key, int algorithm, const uint8_t *bytes, size_t length, uint8_t out[CO_SIGNATURE_LIMIT]);
/// 1 when the signature, in the form of JWS, is that of the key.
int co_verify(
    co_key *key, int algorithm, const uint8_t *bytes, size_t length, const uint8_t *signature, size_t signature_length);
