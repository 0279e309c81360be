package sandbox

// builders lists the layers of macOS, strongest first.
func builders() []builder {
	return []builder{
		{Rlimit, newRlimit},
		{Monitor, newPidMonitor},
	}
}

// layerNote returns a remark about a layer that works.
func layerNote(layer Layer) string {
	if layer == Monitor {
		return "memory is the physical footprint, sampled: a fast process can pass the limit for a moment"
	}
	return ""
}

// remedy describes the changes needed for kernel enforcement.
const remedy = `macOS has no memory limit for a tree of processes. To have one, run the agent in a Linux virtual machine or container.
To go on with the strongest layer there is: --enforcement best-effort. To see all layers: plimsoll doctor.`
