#include "COpenSSL.h"
#include "library.h"
#include <limits.h>
#include <string.h>

// What is refused below and above: RFC 7518 §3.3 asks for 2048; a larger modulus than 8192 only costs time.
enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 8192, EXPONENT_BITS_MAX = 64 };

void co_key_free(co_key *key) {
    const struct co_library *c = co_library();
    if (c) c->EVP_PKEY_free((EVP_PKEY *)key);
}

static int rsa_is_fit(const struct co_library *c, const EVP_PKEY *key) {
    int bits = c->EVP_PKEY_get_bits(key);
    if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX) return 0;
    BIGNUM *n = NULL, *e = NULL;
    int fits = c->EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n) == 1
        && c->EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e) == 1 && c->BN_is_odd(n) && c->BN_is_odd(e)
        && !c->BN_is_word(e, 1) && c->BN_num_bits(e) <= EXPONENT_BITS_MAX;
    c->BN_free(n);
    c->BN_free(e);
    return fits;
}

int co_key_kind(const co_key *opaque) {
    const struct co_library *c = co_library();
    const EVP_PKEY *key = (const EVP_PKEY *)opaque;
    if (!c || !key) return 0;
    char name[32] = "", encoding[32] = "";
    switch (c->EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA: return rsa_is_fit(c, key) ? CO_RSA : 0;
    case EVP_PKEY_ED25519: return CO_ED25519;
    case EVP_PKEY_EC:
        // Explicit parameters may describe a curve that only looks like the named one.
        if (c->EVP_PKEY_get_group_name(key, name, sizeof name, NULL) != 1
            || c->EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, encoding, sizeof encoding, NULL) != 1
            || strcmp(encoding, OSSL_PKEY_EC_ENCODING_GROUP) != 0)
            return 0;
        if (strcmp(name, "prime256v1") == 0) return CO_P256;
        if (strcmp(name, "secp384r1") == 0) return CO_P384;
        return 0;
    default: return 0;
    }
}

co_key *co_key_from_der(int form, const uint8_t *bytes, size_t length) {
    const struct co_library *c = co_library();
    if (!c || length == 0 || length > LONG_MAX) return NULL;
    const unsigned char *end = bytes;
    EVP_PKEY *key = NULL;
    long size = (long)length;
    switch (form) {
    case CO_PRIVATE_KEY_INFO: key = c->d2i_AutoPrivateKey(NULL, &end, size); break;
    case CO_RSA_PRIVATE_KEY: key = c->d2i_PrivateKey(EVP_PKEY_RSA, NULL, &end, size); break;
    case CO_EC_PRIVATE_KEY: key = c->d2i_PrivateKey(EVP_PKEY_EC, NULL, &end, size); break;
    case CO_PUBLIC_KEY_INFO: key = c->d2i_PUBKEY(NULL, &end, size); break;
    case CO_RSA_PUBLIC_KEY: key = c->d2i_PublicKey(EVP_PKEY_RSA, NULL, &end, size); break;
    }
    c->ERR_clear_error();
    if (key && end != bytes + length) {
        c->EVP_PKEY_free(key);
        key = NULL;
    }
    return (co_key *)key;
}

static EVP_PKEY *key_from_params(const struct co_library *c, const char *type, OSSL_PARAM_BLD *builder, int is_private) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = c->OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = c->EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!params || !context || c->EVP_PKEY_fromdata_init(context) != 1
        || c->EVP_PKEY_fromdata(context, &key, is_private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    c->EVP_PKEY_CTX_free(context);
    c->OSSL_PARAM_free(params);
    return key;
}

// Numbers are of the "secure" kind, public ones as well: what the builder copies of those is wiped, not only freed.
co_key *co_key_from_rsa(const co_bytes numbers[8]) {
    static const char *const names[8] = {
        OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_FACTOR1,
        OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2,
        OSSL_PKEY_PARAM_RSA_COEFFICIENT1};
    const struct co_library *c = co_library();
    if (!c) return NULL;
    BIGNUM *parts[8] = {NULL};
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *builder = c->OSSL_PARAM_BLD_new();
    int is_complete = builder != NULL;
    for (int index = 0; index < 8 && is_complete; index++) {
        co_bytes number = numbers[index];
        if (!number.bytes) {
            is_complete = index > 1;
            continue;
        }
        is_complete = number.length > 0 && number.length <= RSA_BITS_MAX / 8
            && (parts[index] = c->BN_secure_new()) != NULL
            && c->BN_bin2bn(number.bytes, (int)number.length, parts[index]) != NULL
            && c->OSSL_PARAM_BLD_push_BN(builder, names[index], parts[index]) == 1;
    }
    if (is_complete) key = key_from_params(c, "RSA", builder, numbers[2].bytes != NULL);
    c->OSSL_PARAM_BLD_free(builder);
    for (int index = 0; index < 8; index++) c->BN_clear_free(parts[index]);
    c->ERR_clear_error();
    return (co_key *)key;
}

co_key *co_key_from_ec(int kind, co_bytes x, co_bytes y, co_bytes d) {
    const struct co_library *c = co_library();
    size_t length = kind == CO_P256 ? 32 : 48;
    if (!c || (kind != CO_P256 && kind != CO_P384) || x.length != length || y.length != length
        || (d.bytes && d.length != length))
        return NULL;
    uint8_t point[1 + 2 * 48] = {4};
    memcpy(point + 1, x.bytes, length);
    memcpy(point + 1 + length, y.bytes, length);
    EVP_PKEY *key = NULL;
    BIGNUM *secret = d.bytes ? c->BN_secure_new() : NULL;
    OSSL_PARAM_BLD *builder = c->OSSL_PARAM_BLD_new();
    if (builder && (!d.bytes || (secret && c->BN_bin2bn(d.bytes, (int)d.length, secret)))
        && c->OSSL_PARAM_BLD_push_utf8_string(
               builder, OSSL_PKEY_PARAM_GROUP_NAME, kind == CO_P256 ? "prime256v1" : "secp384r1", 0)
            == 1
        && c->OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * length) == 1
        && (!secret || c->OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, secret) == 1))
        key = key_from_params(c, "EC", builder, secret != NULL);
    c->OSSL_PARAM_BLD_free(builder);
    c->BN_clear_free(secret);
    // The point must be on the curve, and not the one at infinity.
    EVP_PKEY_CTX *context = key ? c->EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL) : NULL;
    if (key && (!context || c->EVP_PKEY_public_check(context) != 1)) {
        c->EVP_PKEY_free(key);
        key = NULL;
    }
    c->EVP_PKEY_CTX_free(context);
    c->ERR_clear_error();
    return (co_key *)key;
}

co_key *co_key_from_ed25519(co_bytes x, co_bytes d) {
    const struct co_library *c = co_library();
    if (!c || x.length != 32 || (d.bytes && d.length != 32)) return NULL;
    EVP_PKEY *key = d.bytes ? c->EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, d.bytes, 32)
                            : c->EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x.bytes, 32);
    uint8_t derived[32];
    size_t length = sizeof derived;
    if (key
        && (c->EVP_PKEY_get_raw_public_key(key, derived, &length) != 1 || length != 32
            || memcmp(derived, x.bytes, 32) != 0)) {
        c->EVP_PKEY_free(key);
        key = NULL;
    }
    c->ERR_clear_error();
    return (co_key *)key;
}

co_key *co_key_generate(int kind) {
    static const char *const types[] = {[CO_RSA] = "RSA", [CO_P256] = "EC", [CO_P384] = "EC", [CO_ED25519] = "ED25519"};
    const struct co_library *c = co_library();
    if (!c || kind < CO_RSA || kind > CO_ED25519) return NULL;
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = c->EVP_PKEY_CTX_new_from_name(NULL, types[kind], NULL);
    int is_ready = context && c->EVP_PKEY_keygen_init(context) == 1;
    if (is_ready && (kind == CO_P256 || kind == CO_P384))
        is_ready = c->EVP_PKEY_CTX_set_group_name(context, kind == CO_P256 ? "prime256v1" : "secp384r1") == 1;
    if (!is_ready || c->EVP_PKEY_generate(context, &key) != 1) key = NULL;
    c->EVP_PKEY_CTX_free(context);
    c->ERR_clear_error();
    return (co_key *)key;
}

size_t co_key_to_der(const co_key *opaque, int is_private, uint8_t out[CO_KEY_LIMIT]) {
    const struct co_library *c = co_library();
    const EVP_PKEY *key = (const EVP_PKEY *)opaque;
    if (!c || !key) return 0;
    int size = is_private ? c->i2d_PrivateKey(key, NULL) : c->i2d_PUBKEY(key, NULL);
    if (size > 0 && size <= CO_KEY_LIMIT) {
        unsigned char *end = out;
        size = is_private ? c->i2d_PrivateKey(key, &end) : c->i2d_PUBKEY(key, &end);
    } else {
        size = 0;
    }
    c->ERR_clear_error();
    return size > 0 ? (size_t)size : 0;
}
