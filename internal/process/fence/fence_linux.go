package fence

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// adopted is true where a process whose parent ends gets another one.
const adopted = true

// maxEnviron is more than arguments and environment of a process may have together: 6 MiB since Linux 4.13 (bprm_stack_limits of fs/exec.c).
const maxEnviron = 8 << 20

// firstNamespace is the PID namespace of the machine itself (PROC_PID_INIT_INO of include/linux/proc_ns.h).
const firstNamespace = 0xEFFFFFFC

// checkNamespace decides for a process whose visible ancestors are all outside. A process in a PID namespace of its own sees none of those above
// it, so it may belong to any run that is alive outside. From the first namespace all processes are seen.
func checkNamespace(claims []admission.Supervisor) Finding {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) == nil && st.Ino == firstNamespace {
		return Finding{}
	}
	for _, c := range claims {
		if !c.Here() && c.Alive() {
			return Finding{c.Run, fmt.Sprintf("run %s lives, and it cannot be told whether this process, which is in another PID namespace, belongs to it", c.Run)}
		}
	}
	return Finding{}
}

// readProgramName returns the name of a process's program, also of one that was replaced since. Those of other users say "".
func readProgramName(pid int) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return filepath.Base(strings.TrimSuffix(path, " (deleted)"))
}

// readCookie returns the ID of the run whose cookie was in the environment of a process when it started; "" for none, and if its environment cannot be read.
func readCookie(pid int) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxEnviron))
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		if id, is := bytes.CutPrefix(entry, []byte(sandbox.CookieName+"=")); is && len(id) > 0 {
			return string(id)
		}
	}
	return ""
}
