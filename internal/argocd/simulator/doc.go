// Package simulator plays the API server of an Argo CD installation of any size, for tests, demonstrations and measurements.
//
//	s, err := simulator.New(simulator.Options{Applications: 100_000})
//	http.ListenAndServe("127.0.0.1:8080", s)
//
// Answers, errors and headers are those recorded from Argo CD 3.5.1, special cases as frequent as there; tests compare both. A seed
// gives the same objects each time. Writes change what later answers say, up to 10,000 objects and 64 MiB of each kind. It reads no
// repository and no cluster; there is no RBAC beside [Access] and no single sign-on, and sync windows block nothing.
//
// All methods may be called from any goroutine. Objects are written from templates and not held: a list of 100,000 applications,
// 900 MB, needs 80 KiB for each request, and about 3 seconds of a core for a gigabyte. A cut connection, or a client that has gone,
// ends a request with [http.ErrAbortHandler]: who calls ServeHTTP without a server has to recover from it.
package simulator
