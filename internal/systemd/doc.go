// Package systemd speaks with the service manager that started a daemon: it reports when requests are taken and
// when the end begins, answers the watchdog, takes the socket that was opened for it, and reads the credentials
// that were given to it.
//
//	service, err := systemd.Take() // first of all: it takes the variables out of the environment
//	ln, err := service.Listener()  // nil: open one
//	service.Ready("serving on http://127.0.0.1:4620")
//	service.Watch(ctx, alive, warn) // until ctx ends
//	service.Stopping("ending")
//
// The protocols are those of sd_notify(3), sd_listen_fds(3), sd_watchdog_enabled(3) and systemd.exec(5), section
// Credentials; nothing of systemd is linked or needed. A nil [Service] is one without a service manager: nothing
// is sent, nothing was passed. On systems other than Linux there is no other.
//
// The variables of these protocols are meant for this process. Take removes them, and closes what was passed on
// exec, so that no tool that the daemon starts can speak in its name or hold its socket open.
//
// A Service may be used by several goroutines; Take and Listener are called once, before there are any.
package systemd
