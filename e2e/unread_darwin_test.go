package e2e

// unread asks how much of a pipe waits to be read: FIONREAD of sys/filio.h.
const unread = 0x4004667f
