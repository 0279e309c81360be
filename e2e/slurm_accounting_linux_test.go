package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// What a controller has forgotten, Slurm's accounting still knows: how a job ended is told from there when no report came. The controller is started
// anew without its state, as after its disk was lost. By night only: it needs a MariaDB.
func TestSlurmAccounting(t *testing.T) {
	long(t, "it starts a Slurm with a database")
	for _, name := range []string{"slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("GATE_NIGHTLY") == "true" {
				t.Fatal(err)
			}
			t.Skipf("%v: apt-get install --no-install-recommends slurmdbd mariadb-server-core; the gate has them by night", err)
		}
	}
	c := newSlurmCluster(t, 8, keepAccounts)
	never := "echo begun; while :; do sleep 0.1; done"
	begin := func(name string) {
		c.name([]string{"--name", name}, "sh", "-c", never)
		c.reaches(name, "running")
	}
	begin("cancelled")
	c.slurm("scancel", "--signal=KILL", "--full", c.number("cancelled")) // no report: nobody is left to write one
	// Two for a node that takes one of them.
	c.name([]string{"--name", "first", "--queue", "last", "--cpus", "8"}, "sh", "-c", never)
	c.name([]string{"--name", "waits", "--queue", "last", "--cpus", "8"}, "sh", "-c", never)
	c.slurm("scancel", "--name=waits")
	c.slurm("scancel", "--name=first")
	begin("down")
	c.slurm("scontrol", "update", "NodeName="+strings.TrimSpace(c.slurm("squeue", "--noheader", "--name=down", "--format=%N")), "State=DOWN", "Reason=test")

	numbers := map[string]string{}
	for _, job := range []string{"cancelled", "down", "waits"} {
		numbers[job] = c.number(job)
		wait.Until(t, "the accounting has "+job, func() bool {
			out, _ := c.tries("sacct", "--noheader", "--parsable2", "--allocations", "--jobs="+numbers[job], "--format=State,End")
			return out != "" && !strings.Contains(out, "Unknown") && !strings.Contains(out, "RUNNING") && !strings.Contains(out, "PENDING")
		}, func() string {
			out, _ := c.tries("sacct", "--allocations")
			return out
		})
	}
	c.kill("ctld")
	c.start("ctld", "slurmctld", "-D", "-c", "-f", c.conf)
	wait.Until(t, "the controller answers and knows none of them", func() bool {
		out, err := c.tries("squeue", "--noheader", "--states=all")
		return err == nil && strings.TrimSpace(out) == ""
	}, func() string {
		out, _ := c.tries("squeue", "--states=all")
		return out
	})
	for _, want := range []listedRun{
		{Job: "cancelled", Outcome: "signalled", Reason: "slurm: CANCELLED", Node: "n0"},
		{Job: "down", Outcome: "failed", Reason: "slurm: NODE_FAIL", Node: "n0"},
		{Job: "waits", Outcome: "signalled", Reason: "slurm: CANCELLED"},
	} {
		if e := c.row(want.Job); e.Outcome != want.Outcome || !strings.HasSuffix(e.Reason, want.Reason) || e.Node != want.Node || e.ExitCode == 0 {
			t.Errorf("got %+v, want %+v", e, want)
		}
	}
}

// keepAccounts starts a MariaDB and a slurmdbd for a cluster.
func keepAccounts(c *slurmCluster) {
	t := c.t
	ports := freePorts(t, 2)
	data, first, conf := filepath.Join(c.dir, "sql"), filepath.Join(c.dir, "first.sql"), filepath.Join(c.dir, "slurmdbd.conf")
	text := strings.NewReplacer("DIR", c.dir, "SQL", ports[0], "PORT", ports[1]).Replace(`AuthType=auth/munge
AuthInfo=socket=DIR/munge
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=PORT
SlurmUser=root
LogFile=DIR/dbd.log
PidFile=DIR/dbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=SQL
StorageUser=slurm
StoragePass=plimsoll
`)
	sql := "CREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'plimsoll';\nGRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';\n"
	slurm := testfile.Read(t, c.conf)
	slurm = append(slurm, "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort="+ports[1]+"\nAccountingStoragePass="+filepath.Join(c.dir, "munge")+"\n"...)
	for name, content := range map[string]string{conf: text, first: sql, c.conf: string(slurm)} {
		testfile.Write(t, name, content)
	}
	c.slurm("mariadb-install-db", "--no-defaults", "--user=root", "--datadir="+data, "--skip-test-db", "--auth-root-authentication-method=normal")
	c.start("sql", "mariadbd", "--no-defaults", "--user=root", "--datadir="+data, "--socket="+filepath.Join(c.dir, "sql.socket"), "--pid-file="+filepath.Join(c.dir, "sql.pid"),
		"--bind-address=127.0.0.1", "--port="+ports[0], "--init-file="+first, "--log-error="+filepath.Join(c.dir, "sql.log"), "--skip-name-resolve")
	wait.Within(t, patience, "the database answers", func() bool { return fileExists(t, filepath.Join(c.dir, "sql.socket")) })
	c.start("dbd", "slurmdbd", "-D") // its file stands beside slurm.conf
	wait.Until(t, "slurmdbd takes the cluster", func() bool {
		_, err := c.tries("sacctmgr", "--immediate", "add", "cluster", "e2e")
		return err == nil
	}, func() string {
		out, _ := c.tries("sacctmgr", "--immediate", "add", "cluster", "e2e")
		log, _ := os.ReadFile(filepath.Join(c.dir, "dbd.log"))
		return out + clip(string(log))
	})
}
