// Package simulator plays the API server of an Argo CD installation of any size, for
// tests, demonstrations and measurements without a cluster.
//
//	s, err := simulator.New(simulator.Options{Applications: 100_000})
//	http.ListenAndServe("127.0.0.1:8080", s)
//	fmt.Println(s.Counts().Health["Degraded"], s.Requests("applications"))
//
// The answers, errors and headers are those that were recorded from Argo CD 3.5.1: there
// are no pages, parameters the server ignores are ignored, fields= knows the paths the
// server knows, an empty list is null, a missing application is forbidden. Nothing of the
// program depends on this package; what is written for it must fit a real server.
//
// # What there is
//
// 819 applications, 236 projects, 287 application sets and 13 clusters, unless [Options]
// say otherwise; the names, sizes and special cases are as frequent as in the recorded
// installation: applications of several sources, never reconciled, with a destination by
// name, with Helm values, with more than 30 resources. An application has about 9 KB. A
// seed gives the same objects each time, and [Simulator.Counts] says how many of each
// health, sync status and project there are.
//
// Lists, single objects, resource trees, managed resources with differences, events, logs,
// sync windows, manifests, actions, accounts, repositories and certificates can be read.
// Without [Options].Token everybody is the administrator; users see
// the projects of their [Access]. A token that expires, and other things that go wrong, are
// [Faults]; they can be changed while it runs.
//
// Writes change what later answers say: applications, projects and application sets can
// be created, changed and deleted, applications synced and rolled back. An operation runs
// for [Options].SyncTakes, so that it can be seen and terminated.
//
// What it does not do: it reads no repository and no cluster, has no rules of RBAC beside
// [Access], no single sign-on and no passwords; sync windows are shown and block nothing.
//
// # Concurrency and memory
//
// All methods may be called from any goroutine. Objects are written from templates, one for
// each kind, and not held: a list of 100,000 applications, 900 MB, needs a buffer of 80 KiB for each
// request that reads it. Names are found again by arithmetic. Generating costs about 3
// seconds of one core for a gigabyte, a tenth of that with fields=. Clusters alone are
// found by looking at all of them.
//
// Of writes it keeps the changed objects, at most 10,000 and 64 MiB of each kind; beyond
// that writes are refused with code 8, as with a full etcd. A request's body is read up to 4 MiB.
//
// [Faults].CutAfter and a client that has gone end a request with [http.ErrAbortHandler]:
// who calls ServeHTTP without a server has to recover from it.
//
// # How it is tested
//
// Every recorded answer is asked for again and compared: status, headers, body. The paths
// in generated lists are compared with those of the recorded ones in both directions, so
// is the order of keys and the frequency of special cases. Names are sorted and found for
// many sizes. Large lists pass while the live heap is watched. Requests of any kind are
// fuzzed, and what they change is listed afterwards.
package simulator
