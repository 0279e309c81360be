// Package fence finds out whether this process is inside a run, where an agent may be the one who acts and not the person:
//
//	found := fence.Find([]string{"/run/plimsoll"})
//	if found.Inside() {
//		return fmt.Errorf("only a person may do this: %s", found.Why)
//	}
//
// An agent can give a command another environment, another session and another parent. So the environment is looked at, but does not
// decide alone. What a process cannot shed does: the control group that it sits in, and the processes above it, among which is the
// supervisor that adopts what loses its parent (PR_SET_CHILD_SUBREAPER, on Linux). A supervisor is known by its claim in the ledger, and by the
// name of its program for one whose ledger is elsewhere. Where the processes above cannot be followed to the end, as in a PID namespace of one's own,
// a run that lives elsewhere is enough: what cannot be decided counts as inside.
//
// No fence can tell who is behind a process that something else started for the agent (systemd-run, at, cron, a container's daemon), and one
// that outlives its run without a control group is nobody's child any more. On macOS and Windows nobody adopts for the supervisor.
package fence
