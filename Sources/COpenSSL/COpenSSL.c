#include "COpenSSL.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

struct co_key {
    EVP_PKEY *pkey;
};

static co_key *wrap(EVP_PKEY *pkey) {
    if (!pkey) return NULL;
    co_key *key = OPENSSL_zalloc(sizeof *key);
    if (key) key->pkey = pkey;
    else EVP_PKEY_free(pkey);
    return key;
}

void co_key_free(co_key *key) {
    if (!key) return;
    EVP_PKEY_free(key->pkey);
    OPENSSL_free(key);
}

static int no_passphrase(char *buffer, int size, int is_writing, void *data) {
    (void)buffer, (void)size, (void)is_writing, (void)data;
    return -1;
}

co_key *co_key_from_pem(const uint8_t *bytes, size_t length, bool is_private) {
    if (length > INT_MAX) return NULL;
    BIO *bio = BIO_new_mem_buf(bytes, (int)length);
    if (!bio) return NULL;
    EVP_PKEY *pkey = is_private ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL)
                                : PEM_read_bio_PUBKEY(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    return wrap(pkey);
}

static EVP_PKEY *from_data(const char *type, OSSL_PARAM_BLD *builder, bool is_private) {
    EVP_PKEY *pkey = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (params && context && EVP_PKEY_fromdata_init(context) > 0
        && EVP_PKEY_fromdata(context, &pkey, is_private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, params) <= 0)
        pkey = NULL;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return pkey;
}

co_key *co_key_from_rsa(const uint8_t *const parts[8], const size_t lengths[8]) {
    static const char *const names[8] = {
        OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_FACTOR1,
        OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2,
        OSSL_PKEY_PARAM_RSA_COEFFICIENT1};
    BIGNUM *numbers[8] = {0};
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    bool is_good = builder != NULL;
    for (int index = 0; index < 8 && is_good; index++) {
        if (!parts[index]) continue;
        is_good = lengths[index] <= 2048 && (numbers[index] = BN_secure_new())
            && BN_bin2bn(parts[index], (int)lengths[index], numbers[index])
            && OSSL_PARAM_BLD_push_BN(builder, names[index], numbers[index]);
    }
    EVP_PKEY *pkey = is_good ? from_data("RSA", builder, parts[2] != NULL) : NULL;
    OSSL_PARAM_BLD_free(builder);
    for (int index = 0; index < 8; index++) BN_clear_free(numbers[index]);
    return wrap(pkey);
}

co_key *co_key_from_ec(
    int bits, const uint8_t *x, size_t x_length, const uint8_t *y, size_t y_length, const uint8_t *d, size_t d_length) {
    size_t size = (size_t)bits / 8;
    if ((bits != 256 && bits != 384) || x_length != size || y_length != size || (d && d_length != size)) return NULL;
    uint8_t point[1 + 2 * 48] = {POINT_CONVERSION_UNCOMPRESSED};
    memcpy(point + 1, x, size);
    memcpy(point + 1 + size, y, size);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *number = d ? BN_secure_new() : NULL;
    bool is_good = builder
        && OSSL_PARAM_BLD_push_utf8_string(
               builder, OSSL_PKEY_PARAM_GROUP_NAME, bits == 256 ? "prime256v1" : "secp384r1", 0)
        && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * size);
    if (is_good && d)
        is_good = number && BN_bin2bn(d, (int)d_length, number)
            && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number);
    EVP_PKEY *pkey = is_good ? from_data("EC", builder, d != NULL) : NULL;
    OSSL_PARAM_BLD_free(builder);
    BN_clear_free(number);
    // A point off the curve is found here, where the provider has not found it already.
    if (pkey) {
        EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(pkey, NULL);
        if (!context || EVP_PKEY_public_check(context) <= 0) {
            EVP_PKEY_free(pkey);
            pkey = NULL;
        }
        EVP_PKEY_CTX_free(context);
    }
    return wrap(pkey);
}

co_key *co_key_from_ed25519(const uint8_t *bytes, size_t length, bool is_private) {
    if (length != 32) return NULL;
    return wrap(
        is_private ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, bytes, length)
                   : EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, length));
}

static bool has_curve(const EVP_PKEY *pkey, const char *curve) {
    char name[64];
    size_t length = 0;
    return EVP_PKEY_get_group_name((EVP_PKEY *)pkey, name, sizeof name, &length) > 0 && strcmp(name, curve) == 0;
}

static bool is_strong_rsa(const EVP_PKEY *pkey) {
    int bits = EVP_PKEY_get_bits(pkey);
    if (bits < 2048 || bits > 16384) return false;
    BIGNUM *exponent = NULL;
    bool is_good = EVP_PKEY_get_bn_param(pkey, OSSL_PKEY_PARAM_RSA_E, &exponent) > 0 && BN_is_odd(exponent)
        && !BN_is_one(exponent) && BN_num_bits(exponent) <= 64;
    BN_free(exponent);
    return is_good;
}

bool co_key_suits(const co_key *key, int algorithm) {
    if (!key) return false;
    int type = EVP_PKEY_get_base_id(key->pkey);
    switch (algorithm) {
    case CO_RS256:
    case CO_PS256: return type == EVP_PKEY_RSA && is_strong_rsa(key->pkey);
    case CO_ES256: return type == EVP_PKEY_EC && has_curve(key->pkey, "prime256v1");
    case CO_ES384: return type == EVP_PKEY_EC && has_curve(key->pkey, "secp384r1");
    case CO_EDDSA: return type == EVP_PKEY_ED25519;
    default: return false;
    }
}

static const EVP_MD *digest(int algorithm) {
    switch (algorithm) {
    case CO_HS384:
    case CO_ES384: return EVP_sha384();
    case CO_HS512:
    case CO_EDDSA: return EVP_sha512();
    default: return EVP_sha256();
    }
}

static bool pad(EVP_PKEY_CTX *context, int algorithm) {
    if (algorithm != CO_PS256) return true;
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) > 0
        && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) > 0
        && EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) > 0;
}

static size_t field(int algorithm) { return algorithm == CO_ES384 ? 48 : 32; }

static bool is_ecdsa(int algorithm) { return algorithm == CO_ES256 || algorithm == CO_ES384; }

static size_t raw_from_der(const uint8_t *der, size_t length, size_t size, uint8_t *raw, size_t capacity) {
    ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &der, (long)length);
    bool is_good = signature && capacity >= 2 * size
        && BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw, (int)size) > 0
        && BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw + size, (int)size) > 0;
    ECDSA_SIG_free(signature);
    return is_good ? 2 * size : 0;
}

static int der_from_raw(const uint8_t *raw, size_t size, uint8_t **der) {
    ECDSA_SIG *signature = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, (int)size, NULL), *s = BN_bin2bn(raw + size, (int)size, NULL);
    int length = -1;
    if (signature && r && s && ECDSA_SIG_set0(signature, r, s)) {
        length = i2d_ECDSA_SIG(signature, der);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(signature);
    return length;
}

size_t co_sign(
    const co_key *key, int algorithm, const uint8_t *data, size_t length, uint8_t *signature, size_t capacity) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *parameters = NULL;
    uint8_t der[160];
    uint8_t *out = is_ecdsa(algorithm) ? der : signature;
    size_t size = is_ecdsa(algorithm) ? sizeof der : capacity;
    bool is_good = context
        && EVP_DigestSignInit(
               context, &parameters, algorithm == CO_EDDSA ? NULL : digest(algorithm), NULL, key->pkey) > 0
        && pad(parameters, algorithm) && EVP_DigestSign(context, out, &size, data, length) > 0;
    EVP_MD_CTX_free(context);
    if (!is_good) return 0;
    return is_ecdsa(algorithm) ? raw_from_der(der, size, field(algorithm), signature, capacity) : size;
}

bool co_verify(
    const co_key *key, int algorithm, const uint8_t *data, size_t length, const uint8_t *signature,
    size_t signature_length) {
    uint8_t *der = NULL;
    if (is_ecdsa(algorithm)) {
        if (signature_length != 2 * field(algorithm)) return false;
        int der_length = der_from_raw(signature, field(algorithm), &der);
        if (der_length <= 0) return false;
        signature = der;
        signature_length = (size_t)der_length;
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *parameters = NULL;
    bool is_good = context
        && EVP_DigestVerifyInit(
               context, &parameters, algorithm == CO_EDDSA ? NULL : digest(algorithm), NULL, key->pkey) > 0
        && pad(parameters, algorithm)
        && EVP_DigestVerify(context, signature, signature_length, data, length) == 1;
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    return is_good;
}

size_t co_hmac(
    int algorithm, const uint8_t *key, size_t key_length, const uint8_t *data, size_t length, uint8_t out[64]) {
    unsigned int size = 0;
    if (key_length > INT_MAX || !HMAC(digest(algorithm), key, (int)key_length, data, length, out, &size)) return 0;
    return size;
}

size_t co_hash(int algorithm, const uint8_t *data, size_t length, uint8_t out[64]) {
    unsigned int size = 0;
    return EVP_Digest(data, length, out, &size, digest(algorithm), NULL) > 0 ? size : 0;
}
