//go:build !unix

package run

func ignoresHangup() bool { return false }
