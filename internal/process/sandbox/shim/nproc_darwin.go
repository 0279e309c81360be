package shim

// rlimitNproc is RLIMIT_NPROC of sys/resource.h, which package syscall does not name.
const rlimitNproc = 7
