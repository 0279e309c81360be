package sandbox

// builders lists the layers of macOS, strongest first.
func builders() []builder {
	return []builder{
		{Rlimit, newRlimit},
		{Monitor, newPidMonitor},
	}
}
