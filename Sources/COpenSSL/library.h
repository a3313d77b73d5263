// The functions of libcrypto that are used, found by name when it is loaded; the types are those of its headers.
#pragma once
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#define CO_FUNCTIONS(X) \
    X(BN_bin2bn) X(BN_bn2binpad) X(BN_clear_free) X(BN_free) X(BN_is_odd) X(BN_is_word) X(BN_is_zero) X(BN_num_bits) X(BN_secure_new) \
    X(ECDSA_SIG_free) X(ECDSA_SIG_get0) X(ECDSA_SIG_new) X(ECDSA_SIG_set0) X(ERR_clear_error) \
    X(EVP_Digest) X(EVP_DigestSign) X(EVP_DigestSignInit) X(EVP_DigestVerify) X(EVP_DigestVerifyInit) \
    X(EVP_MD_CTX_free) X(EVP_MD_CTX_new) X(EVP_PKEY_CTX_free) X(EVP_PKEY_CTX_new_from_name) \
    X(EVP_PKEY_CTX_new_from_pkey) X(EVP_PKEY_CTX_set_group_name) X(EVP_PKEY_CTX_set_rsa_mgf1_md) X(EVP_PKEY_CTX_set_rsa_padding) \
    X(EVP_PKEY_CTX_set_rsa_pss_saltlen) X(EVP_PKEY_free) X(EVP_PKEY_fromdata) X(EVP_PKEY_fromdata_init) \
    X(EVP_PKEY_generate) X(EVP_PKEY_keygen_init) X(EVP_PKEY_get_base_id) X(EVP_PKEY_get_bits) X(EVP_PKEY_get_bn_param) X(EVP_PKEY_get_group_name) \
    X(EVP_PKEY_get_raw_public_key) X(EVP_PKEY_get_utf8_string_param) X(EVP_PKEY_new_raw_private_key) \
    X(EVP_PKEY_new_raw_public_key) X(EVP_PKEY_public_check) X(EVP_sha256) X(EVP_sha384) X(EVP_sha512) X(HMAC) \
    X(OPENSSL_init_crypto) X(OSSL_PARAM_BLD_free) X(OSSL_PARAM_BLD_new) X(OSSL_PARAM_BLD_push_BN) \
    X(OSSL_PARAM_BLD_push_octet_string) X(OSSL_PARAM_BLD_push_utf8_string) X(OSSL_PARAM_BLD_to_param) \
    X(OSSL_PARAM_free) X(d2i_AutoPrivateKey) X(d2i_ECDSA_SIG) X(d2i_PUBKEY) X(d2i_PrivateKey) X(d2i_PublicKey) \
    X(i2d_ECDSA_SIG) X(i2d_PUBKEY) X(i2d_PrivateKey)

struct co_library {
#define CO_DECLARE(name) __typeof__(name) *name;
    CO_FUNCTIONS(CO_DECLARE)
#undef CO_DECLARE
};

/// The functions; NULL when libcrypto is not there.
const struct co_library *co_library(void);
