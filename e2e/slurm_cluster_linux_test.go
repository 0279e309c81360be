package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// A slurmCluster is a Slurm of the test's own on this machine: a munged, a slurmctld and three slurmd, on ports that were free; with accounting a
// MariaDB and a slurmdbd too.
type slurmCluster struct {
	*world
	dir     string
	conf    string
	daemons map[string]*exec.Cmd
}

// newSlurmCluster starts one, whose three nodes have so many processors by their own word. accounts, if not nil, starts what keeps its accounts, and
// adds it to slurm.conf.
func newSlurmCluster(t *testing.T, processors int, accounts func(*slurmCluster)) *slurmCluster {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can start a Slurm")
	}
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(name); err != nil {
			if _, apt := exec.LookPath("apt-get"); os.Getenv("CI") == "true" && apt == nil {
				t.Fatalf("%v: the gate did not install it (out/apt-slurm.txt)", err)
			}
			t.Skipf("%v: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge", err)
		}
	}
	dir, err := os.MkdirTemp("", "plimsoll-slurm-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	c := &slurmCluster{world: newWorld(t), dir: dir, daemons: map[string]*exec.Cmd{}}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	ports := freePorts(t, 4)
	c.conf = filepath.Join(dir, "slurm.conf")
	text := strings.NewReplacer("DIR", dir, "HOST", host, "PORT", ports[0], "NODES", strings.Join(ports[1:], ","), "PROCESSORS", strconv.Itoa(processors)).Replace(`ClusterName=e2e
SlurmctldHost=HOST(127.0.0.1)
SlurmctldPort=PORT
AuthType=auth/munge
AuthInfo=socket=DIR/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=DIR/ctld
SlurmdSpoolDir=DIR/%n
SlurmdPidFile=DIR/%n.pid
SlurmctldPidFile=DIR/ctld.pid
SlurmctldLogFile=DIR/ctld.log
SlurmdLogFile=DIR/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
Licenses=claude:3
MailProg=/bin/true
KillWait=5
MinJobAge=300
NodeName=n[0-2] NodeHostname=HOST NodeAddr=127.0.0.1 Port=[NODES] CPUs=PROCESSORS RealMemory=60000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=last Nodes=n2 MaxTime=INFINITE State=UP GraceTime=1
PartitionName=urgent Nodes=n2 MaxTime=INFINITE State=UP PriorityTier=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
`)
	key := filepath.Join(dir, "key")
	for name, content := range map[string]string{c.conf: text, key: strings.Repeat("plimsoll", 16)} {
		testfile.Write(t, name, content)
	}
	c.variables = append(c.variables, "SLURM_CONF="+c.conf)
	t.Cleanup(func() {
		for _, name := range []string{"n0", "n1", "n2", "ctld", "dbd", "sql", "munge"} { // what they have started has the world's mark
			c.kill(name)
		}
		for _, p := range c.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		_ = os.RemoveAll(dir)
	})
	c.start("munge", "munged", "-F", "--force", "--socket="+filepath.Join(dir, "munge"), "--key-file="+key, "--pid-file="+filepath.Join(dir, "munge.pid"),
		"--log-file="+filepath.Join(dir, "munge.log"), "--seed-file="+filepath.Join(dir, "seed"))
	wait.Within(t, patience, "munge answers", func() bool { return fileExists(t, filepath.Join(dir, "munge")) })
	if accounts != nil {
		accounts(c)
	}
	c.start("ctld", "slurmctld", "-D", "-f", c.conf)
	for _, node := range []string{"n0", "n1", "n2"} {
		c.start(node, "slurmd", "-D", "-f", c.conf, "-N", node)
	}
	wait.Until(t, "three nodes are idle", func() bool {
		out, _ := c.tries("sinfo", "--noheader", "--Node", "--partition=main", "--format=%T")
		return strings.Count(out, "idle") == 3
	}, func() string {
		out, _ := c.tries("sinfo")
		log, _ := os.ReadFile(filepath.Join(dir, "ctld.log"))
		return out + clip(string(log))
	})
	return c
}

// freePorts returns ports of which nobody listens on any.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var list []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		list = append(list, port)
	}
	return list
}

func (c *slurmCluster) start(name string, argv ...string) {
	c.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = c.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.daemons[name] = cmd
}

func (c *slurmCluster) kill(name string) {
	if cmd := c.daemons[name]; cmd != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		delete(c.daemons, name)
	}
}

// tries runs one of Slurm's commands.
func (c *slurmCluster) tries(argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = c.environment()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// slurm is one that must succeed.
func (c *slurmCluster) slurm(argv ...string) string {
	c.t.Helper()
	out, err := c.tries(argv...)
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return out
}

// submit returns the arguments that submit a command. Its state goes to the test's folders, and it has the test's mark.
func (c *slurmCluster) submit(flags []string, command ...string) []string {
	argv := []string{plimsoll, "submit", "--on", "slurm", "--env", "PLIMSOLL_STATE_DIR", "--env", cookieName, "--memory-max", "300M"}
	return append(append(append(argv, flags...), "--"), command...)
}

// name submits a command and returns the name that was printed.
func (c *slurmCluster) name(flags []string, command ...string) string {
	c.t.Helper()
	r := c.run(nil, c.submit(flags, command...)...)
	if r.status != 0 {
		c.t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	return strings.TrimSpace(r.stdout)
}

// An attended is a submitter that stays.
type attended struct {
	c        *slurmCluster
	cmd      *exec.Cmd
	out, err *lockedText
}

func (c *slurmCluster) attend(flags []string, command ...string) *attended {
	c.t.Helper()
	argv := c.submit(append([]string{"--wait"}, flags...), command...)
	a := &attended{c, exec.Command(argv[0], argv[1:]...), &lockedText{}, &lockedText{}}
	a.cmd.Dir, a.cmd.Env, a.cmd.Stdout, a.cmd.Stderr = c.work, c.environment(), a.out, a.err
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := a.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return a
}

// says waits until a text was printed.
func (a *attended) says(text string) {
	a.c.t.Helper()
	wait.Within(a.c.t, patience, text, func() bool { return strings.Contains(a.out.String(), text) || strings.Contains(a.err.String(), text) }, a.state)
}

func (a *attended) state() string {
	queue, _ := a.c.tries("squeue", "--states=all")
	return "out: " + clip(a.out.String()) + "\nerr: " + clip(a.err.String()) + "\n" + queue
}

func (a *attended) ends() int {
	a.c.t.Helper()
	ended := make(chan int, 1)
	go func() {
		_ = a.cmd.Wait()
		ended <- status(a.cmd.ProcessState)
	}()
	select {
	case code := <-ended:
		return code
	case <-time.After(patience):
		_ = a.cmd.Process.Kill()
		a.c.t.Fatalf("%v does not end\n%s", short(a.cmd.Args), a.state())
	}
	return -1
}

// A listedRun is a row of plimsoll runs.
type listedRun struct {
	ID, Kind, Job, Engine, Node, Outcome, Reason string
	ExitCode                                     int `json:"exit_code"`
}

func (c *slurmCluster) list() []listedRun {
	c.t.Helper()
	r := c.run(nil, plimsoll, "runs", "--json")
	var list []listedRun
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		c.t.Fatalf("%v\n%s\n%s", err, r.stdout, r.stderr)
	}
	return list
}

// row is the newest row of a job.
func (c *slurmCluster) row(job string) listedRun {
	c.t.Helper()
	for _, e := range c.list() {
		if e.Job == job {
			return e
		}
	}
	c.t.Fatalf("%s is not listed: %+v", job, c.list())
	return listedRun{}
}

// reaches waits until a job has an outcome.
func (c *slurmCluster) reaches(job, outcome string) (e listedRun) {
	c.t.Helper()
	wait.Within(c.t, patience, job+" is "+outcome, func() bool {
		e = c.row(job)
		return e.Outcome == outcome
	}, func() string { return fmt.Sprintf("%+v\n%s", e, c.slurm("squeue", "--states=all")) })
	return e
}

// because waits until a job's reason ends in this.
func (c *slurmCluster) because(job, reason string) {
	c.t.Helper()
	wait.Within(c.t, patience, reason, func() bool { return strings.HasSuffix(c.row(job).Reason, reason) }, func() string { return fmt.Sprintf("%+v", c.row(job)) })
}

// word is Slurm's own word for a job.
func (c *slurmCluster) word(job string) string {
	c.t.Helper()
	return strings.TrimSpace(c.slurm("squeue", "--noheader", "--states=all", "--name="+job, "--format=%T"))
}

// number is Slurm's number of a job.
func (c *slurmCluster) number(job string) string {
	c.t.Helper()
	return strings.TrimSpace(c.slurm("squeue", "--noheader", "--states=all", "--name="+job, "--format=%i"))
}
