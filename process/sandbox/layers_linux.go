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

// remedy describes what to install or change for kernel enforcement.
const remedy = `To have it: log in through systemd with a user manager (on a server: loginctl enable-linger USER),
or run in a container whose cgroup is writable and holds no other processes,
or run as root where cgroup v1 is mounted.
To go on with the strongest layer there is: --enforcement best-effort. To see all layers: plimsoll doctor.`
