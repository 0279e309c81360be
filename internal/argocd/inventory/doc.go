// Package inventory answers questions about everything that an Argo CD instance has: pages
// of sorted listings, and searches over all kinds at once.
//
//	v := inventory.New(inventory.Options{})
//	defer v.Close()
//
//	l, err := v.List(ctx, client, inventory.ListRequest{
//		Kind:   argocd.Applications,
//		Health: []string{"degraded"},
//		Page:   2,
//	})
//	l.Items      // 20 summaries
//	l.Pagination // page 2 of 4, 21 to 40 of 76
//	l.Counts     // over all 76: by health, by sync, the ten largest projects and the rest
//
//	found, err := v.Search(ctx, client, inventory.SearchRequest{Pattern: "payments-(dev|stg)"})
//	found.Items  // kind, summary, and the fields that match
//	found.Totals // matches of each kind, exactly
//
// Argo CD has no pages, no order and no search: a client that wants 20 applications gets all. So
// every question is one pass over whole lists, an object at a time, and answers are exact
// because every object was read. A list that breaks off is an error; nothing of it is shown.
//
// # Rows
//
// A summary is a flat JSON object without what is empty. For 20 applications of a real
// list it comes to 5.9 KB as a rule and 6.6 KB at most, for which two names are short:
//
//	{"name":"shop","namespace":"argocd","project":"default","health":"Healthy",
//	 "sync":"OutOfSync","dest":"https://10.42.0.1:6443 shop-prod",
//	 "repo":"https://git.example.net/shop.git","path":"deploy","rev":"main","operation":"Failed"}
//
//	dest       cluster (address, or name where only that was given) and namespace, with
//	           a space between; where that would not be clear an object with server, name
//	           and namespace
//	rev        the target revision
//	chart      in the place of path for Helm repositories
//	sources    [{repo, path, chart, rev, ref}] of applications with several, the first 20
//	operation  the phase of the last operation, unless it is Succeeded
//	hydration  the phase of the last hydration of a source hydrator, unless it is Hydrated;
//	           rev is the branch that is synced, hydrate_to the one that is written before
//	deleting   true when it is being deleted
//
// Projects have description, repos, destinations (two of each, and more_repos,
// more_destinations), roles, sync_windows. Application sets have project, generators
// ("matrix(git,clusters)"), template (the name that applications get), the template's
// source, health, applications, and error when the server says there is one. Clusters have
// server, version, connection, message unless it is Successful, applications, namespaces.
// A status that is not set is "none". Texts for people end after 120 characters with "…".
// Passwords in URLs are masked. What is in no list that names its fields (conditions of an
// application) is not in a row: reading summaries takes a sixth of the bytes.
//
// # What a search looks into
//
// Names, namespaces, projects, labels (key, value, key=value), annotations (key, value),
// and
//
//	applications      of every source repoURL, path, chart and targetRevision; the destination
//	projects          description, sourceRepos, destinations, names of roles
//	applicationsets   name, sources and destination of the template; every repoURL in generators
//	clusters          server, namespaces
//
// A pattern is RE2 and matches each of them by itself. An invalid one is a [BadPattern]
// and is never taken literally. More than Options.MaxMatches are a [TooMany] with the
// exact totals and no rows. A kind that the server refuses (403, 404) is in Found.Failed;
// all other errors are errors of the whole.
//
// # Memory and disk
//
// Rows are sorted in runs of Options.RunBytes that are written to an unlinked scratch file
// and merged. Nothing grows with the list: 100,000 applications keep 3.4 MiB alive while
// any page is made. The first pages need no disk, since what cannot be on them is dropped
// as it comes; the last page of 100,000 needs 55 MB for a moment. Projects beyond 4096 are
// counted through a sort as well. Each bound counts in [Stats] what it did; a full disk
// and Options.MaxScratchBytes are errors that name the folder.
//
// # Snapshots and sharing
//
// With Options.SnapshotTTL the sorted rows of a question (who asks, kind, query, filters)
// stay on the disk for that long, counted from when the reading began, and all its pages
// come from them: no row is twice or missing because something changed between two pages.
// Passes are shared by all who ask the same. Without it, every question is answered from a
// reading that begins after it was asked; those that wait for their turn
// (Options.MaxSorts) share one. A pass ends when the last that waits for it has gone.
//
// # Concurrency
//
// An Inventory may be used by many goroutines. It has one goroutine per pass, and four
// more in a search. ListRequest.Full is called from that of its caller, for the objects of
// the page only: until then whole objects lie on the disk as the server sent them.
//
// # How it is tested
//
// The recorded lists of a real server give the known totals, rows are compared field by
// field with the objects, 35 searches with a plain walk over the decoded JSON; sorts with
// a stable sort in memory, at any memory; time is testing/synctest; objects and patterns are
// fuzzed; the live heap is measured while 100,000 objects pass.
package inventory
