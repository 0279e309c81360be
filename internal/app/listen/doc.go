// Package listen takes requests over HTTP for the commands of Plimsoll, each in the same way: the address
// and the token of [serve], TLS, the file that tells others the address, health and metrics, and an
// orderly end.
//
//	err := listen.Until(ctx, listen.Options{
//		Serve: settings.Serve, Door: door, Handler: handler,
//		Ready: func(url string) { fmt.Println("at", url) }, ReadyFile: file, End: agents.Close,
//	})
//
// [Transport] is the other direction: which certificate authorities count on the way to an upstream.
// Functions keep no state. But for the order in which it says that it is ready, the package is tested through app.Serve, the scripts in
// cmd/plimsoll/testdata and e2e.
package listen
