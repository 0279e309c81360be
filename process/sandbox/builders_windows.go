package sandbox

// builders lists the layers of Windows, strongest first.
func builders() []builder {
	return []builder{
		{Job, newJob},
		{Monitor, newPidMonitor},
	}
}
