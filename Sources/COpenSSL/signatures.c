#include "COpenSSL.h"
#include "library.h"
#include <limits.h>
#include <string.h>

static const EVP_MD *digest(const struct co_library *c, int hash) {
    switch (hash) {
    case CO_SHA256: return c->EVP_sha256();
    case CO_SHA384: return c->EVP_sha384();
    case CO_SHA512: return c->EVP_sha512();
    default: return NULL;
    }
}

size_t co_digest(int hash, const uint8_t *bytes, size_t length, uint8_t *out) {
    const struct co_library *c = co_library();
    const EVP_MD *md = c ? digest(c, hash) : NULL;
    unsigned int size = 0;
    if (!md || c->EVP_Digest(bytes, length, out, &size, md, NULL) != 1) return 0;
    return size;
}

size_t co_hmac(int hash, const uint8_t *key, size_t key_length, const uint8_t *bytes, size_t length, uint8_t *out) {
    const struct co_library *c = co_library();
    const EVP_MD *md = c ? digest(c, hash) : NULL;
    unsigned int size = 0;
    if (!md || key_length > INT_MAX || !c->HMAC(md, key, (int)key_length, bytes, length, out, &size)) return 0;
    return size;
}

// What each algorithm is: the kind of key, the hash, and half the length of a raw ECDSA signature.
struct scheme {
    int kind, hash, half;
};

static struct scheme scheme(int algorithm) {
    switch (algorithm) {
    case CO_RS256:
    case CO_PS256: return (struct scheme){CO_RSA, CO_SHA256, 0};
    case CO_ES256: return (struct scheme){CO_P256, CO_SHA256, 32};
    case CO_ES384: return (struct scheme){CO_P384, CO_SHA384, 48};
    case CO_EDDSA: return (struct scheme){CO_ED25519, 0, 0};
    default: return (struct scheme){-1, 0, 0};
    }
}

static int set_padding(const struct co_library *c, int algorithm, EVP_PKEY_CTX *context) {
    switch (algorithm) {
    case CO_RS256: return c->EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
    case CO_PS256:
        return c->EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
            && c->EVP_PKEY_CTX_set_rsa_mgf1_md(context, c->EVP_sha256()) == 1
            && c->EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
    default: return 1;
    }
}

static size_t raw_from_der(const struct co_library *c, const uint8_t *der, size_t length, int half, uint8_t *out) {
    const unsigned char *end = der;
    ECDSA_SIG *pair = c->d2i_ECDSA_SIG(NULL, &end, (long)length);
    if (!pair) return 0;
    const BIGNUM *r = NULL, *s = NULL;
    c->ECDSA_SIG_get0(pair, &r, &s);
    int fits = c->BN_bn2binpad(r, out, half) == half && c->BN_bn2binpad(s, out + half, half) == half;
    c->ECDSA_SIG_free(pair);
    return fits ? 2 * (size_t)half : 0;
}

// r and s below the order are OpenSSL's to check; zero is refused here as well: it once was accepted by others.
static size_t der_from_raw(const struct co_library *c, const uint8_t *raw, int half, uint8_t *out, size_t room) {
    size_t length = 0;
    BIGNUM *r = c->BN_bin2bn(raw, half, NULL), *s = c->BN_bin2bn(raw + half, half, NULL);
    ECDSA_SIG *pair = c->ECDSA_SIG_new();
    if (r && s && pair && !c->BN_is_zero(r) && !c->BN_is_zero(s) && c->ECDSA_SIG_set0(pair, r, s) == 1) {
        r = s = NULL;
        int size = c->i2d_ECDSA_SIG(pair, NULL);
        if (size > 0 && (size_t)size <= room) {
            unsigned char *end = out;
            length = (size_t)c->i2d_ECDSA_SIG(pair, &end);
        }
    }
    c->BN_free(r);
    c->BN_free(s);
    c->ECDSA_SIG_free(pair);
    return length;
}

size_t co_sign(co_key *opaque, int algorithm, const uint8_t *bytes, size_t length, uint8_t out[CO_SIGNATURE_LIMIT]) {
    const struct co_library *c = co_library();
    struct scheme kind = scheme(algorithm);
    if (!c || co_key_kind(opaque) != kind.kind) return 0;
    EVP_PKEY *key = (EVP_PKEY *)opaque;
    EVP_PKEY_CTX *context = NULL;
    EVP_MD_CTX *state = c->EVP_MD_CTX_new();
    uint8_t signature[CO_SIGNATURE_LIMIT];
    size_t size = sizeof signature;
    if (!state || c->EVP_DigestSignInit(state, &context, digest(c, kind.hash), NULL, key) != 1
        || !set_padding(c, algorithm, context) || c->EVP_DigestSign(state, signature, &size, bytes, length) != 1)
        size = 0;
    c->EVP_MD_CTX_free(state);
    if (size && kind.half) {
        size = raw_from_der(c, signature, size, kind.half, out);
    } else {
        memcpy(out, signature, size);
    }
    c->ERR_clear_error();
    // A private part that is not of the public part, or a fault of the machine, must not leave: it can give the key away.
    return size && co_verify(opaque, algorithm, bytes, length, out, size) ? size : 0;
}

int co_verify(
    co_key *opaque, int algorithm, const uint8_t *bytes, size_t length, const uint8_t *signature,
    size_t signature_length) {
    const struct co_library *c = co_library();
    struct scheme kind = scheme(algorithm);
    if (!c || co_key_kind(opaque) != kind.kind || signature_length > CO_SIGNATURE_LIMIT) return 0;
    EVP_PKEY *key = (EVP_PKEY *)opaque;
    uint8_t der[2 * 48 + 16];
    if (kind.half) {
        if (signature_length != 2 * (size_t)kind.half) return 0;
        signature_length = der_from_raw(c, signature, kind.half, der, sizeof der);
        if (!signature_length) return 0;
        signature = der;
    }
    EVP_PKEY_CTX *context = NULL;
    EVP_MD_CTX *state = c->EVP_MD_CTX_new();
    int is_valid = state && c->EVP_DigestVerifyInit(state, &context, digest(c, kind.hash), NULL, key) == 1
        && set_padding(c, algorithm, context)
        && c->EVP_DigestVerify(state, signature, signature_length, bytes, length) == 1;
    c->EVP_MD_CTX_free(state);
    c->ERR_clear_error();
    return is_valid;
}
