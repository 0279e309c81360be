// Package window wires the window plane, for the proxy of a run and for the daemon, and is the
// commands that show what was cut: `plimsoll runs --cuts`.
//
//	plane, err := window.Open(app, settings, window.Options{Journal: events, Upstreams: upstreams, Warn: app.Warn})
//	defer plane.Close()
//	server, err := plane.Proxy.Listen(proxy.ListenOptions{Addr: "127.0.0.1:0"})
//
// A part that can't be opened (a state directory that is not ours) is said and left out: the proxy
// works without it. A [Plane] is safe for concurrent use; it is closed once. The package is tested by
// its own tests, through app.Serve and by e2e.
package window
