// A function marked SPARSEWOOD_WIDE is also compiled for wider vectors, together with the
// SPARSEWOOD_INLINE functions that it calls; the version is chosen at load time.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__) && __GNUC__ >= 12
#define SPARSEWOOD_WIDE \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define SPARSEWOOD_INLINE __attribute__((always_inline)) inline
#else
#define SPARSEWOOD_WIDE
#define SPARSEWOOD_INLINE inline
#endif
