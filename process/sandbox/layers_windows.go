package sandbox

// builders lists the layers of Windows, strongest first.
func builders() []builder {
	return []builder{
		{Job, newJob},
		{Monitor, newPidMonitor},
	}
}

// layerNote returns a remark about a layer that works.
func layerNote(layer Layer) string {
	switch layer {
	case Job:
		return "at the limit an allocation fails, nothing is killed; it counts committed memory, page file included; pids counts processes, not threads"
	case Monitor:
		return "memory is the private commit charge, sampled: a fast process can pass the limit for a moment"
	}
	return ""
}

// remedy describes the changes needed for kernel enforcement.
const remedy = `To have it: start plimsoll outside of a job object that forbids nested ones (Windows 8 and later nest them).
To go on with the strongest layer there is: --enforcement best-effort. To see all layers: plimsoll doctor.`
