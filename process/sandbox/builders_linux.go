package sandbox

// builders lists the layers of Linux, strongest first.
func builders() []builder {
	return []builder{
		{Systemd, newSystemd},
		{Cgroup2, newCgroup2},
		{Cgroup1, newCgroup1},
		{Rlimit, newRlimit},
		{Monitor, newMonitor},
	}
}

func newMonitor(spec *Spec, l Limits) (cage, error) {
	if err := spec.remember(Remains{Layer: Monitor}); err != nil {
		return nil, err
	}
	w := newWatched(l)
	return &w, nil
}
