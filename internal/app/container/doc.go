// Package container does for an image without a shell and without curl what it cannot do itself: it asks the daemon beside it for its
// health, and puts a copy of this program into a volume, from where another image runs it.
//
//	err := container.Health(ctx, c, container.HealthOptions{})
//	path, err := container.CopyTo("/plimsoll-bin")
//
// Both are for the probes and the init containers of a pod, and for a container's HEALTHCHECK; docs/kubernetes.md shows them at
// work. They keep no state and may be called from any goroutine.
package container
