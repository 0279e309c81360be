package shim

// rlimitNproc is RLIMIT_NPROC of asm-generic/resource.h, which package syscall does not name.
const rlimitNproc = 6
