// Package nats is a module of its own for the server that a fleet needs, so that nobody who builds or tests Plimsoll fetches it unasked: the
// tests that want one (internal/testing/natsserver) build it from here.
//
// Its own test checks that what hosts write of a budget is linearizable, with porcupine.
package nats
