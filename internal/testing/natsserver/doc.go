// Package natsserver starts real servers of NATS for tests, alone or as a cluster on 127.0.0.1.
//
//	s := natsserver.Start(t)             // with JetStream, at s.URL
//	c := natsserver.Cluster(t, 3)        // c[0].URL, …
//	c[0].Kill(); c[0].Start()            // kill -9, and again with what it had stored
//
// The server is built from the module e2e/nats. Where that cannot be fetched the test is skipped, and fails in CI.
package natsserver
