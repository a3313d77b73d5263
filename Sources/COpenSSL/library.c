#include "library.h"
#include "COpenSSL.h"
#include <dlfcn.h>
#include <pthread.h>

static struct co_library functions;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    // The soname of the ABI that the headers describe; it is never closed, as libcrypto does not unload well.
    void *handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
#define CO_FIND(name) \
    if (!(*(void **)&functions.name = dlsym(handle, #name))) return;
    CO_FUNCTIONS(CO_FIND)
#undef CO_FIND
    // A configuration file could bring in engines and providers, and an environment variable names it.
    is_loaded = functions.OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) == 1;
}

const struct co_library *co_library(void) {
    pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}

int co_load(void) { return co_library() != NULL; }
