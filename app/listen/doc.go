// Package listen is how commands of Plimsoll take requests over HTTP: the file that tells others the
// address, and the certificate authorities that count on the way to an upstream.
//
//	remove, err := listen.WriteReady(file, server.URL())
//	defer remove()
//
// Functions keep no state. The package is tested through app.Serve and the scripts in
// cmd/plimsoll/testdata.
package listen
