#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

// What Swift cannot do: macros that combine others, and a builder that keeps the pointers to names that it gets.
static inline EVP_PKEY *ccrypto_public_key(const char *type, OSSL_PARAM_BLD *builder) {
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name((OSSL_LIB_CTX *)0, type, (const char *)0);
    EVP_PKEY *key = (EVP_PKEY *)0;
    if (parameters && context && EVP_PKEY_fromdata_init(context) == 1)
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    return key;
}

/// Null if it is no key.
static inline EVP_PKEY *ccrypto_rsa_key(const BIGNUM *modulus, const BIGNUM *exponent) {
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = (EVP_PKEY *)0;
    if (builder && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent))
        key = ccrypto_public_key("RSA", builder);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

/// An uncompressed point. Null if it is not on the curve.
static inline EVP_PKEY *ccrypto_p256_key(const unsigned char *point, size_t count) {
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = (EVP_PKEY *)0;
    if (builder && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0)
        && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, count))
        key = ccrypto_public_key("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

/// Without the system's openssl.cnf: it can load modules, which a static program cannot, and change what is accepted.
static inline void ccrypto_prepare(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, (void *)0);
}
