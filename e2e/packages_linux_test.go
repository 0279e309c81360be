package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// packagesName is the variable that names a folder with the deb, the rpm and the image of this program; in a throw-away machine also
// with a deb and an rpm of version 0.2.0, and with man, bash-completion and rpm for there (tools-CODENAME.tar).
const packagesName = "PLIMSOLL_E2E_PACKAGES"

// packageFile is the one file of the folder that a pattern names.
func packageFile(t *testing.T, pattern string) string {
	t.Helper()
	dir := os.Getenv(packagesName)
	if dir == "" {
		t.Skip("no packages were made: .ci/run e2e makes them (" + packagesName + ")")
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %q, %v", pattern, dir, found, err)
	}
	return found[0]
}

// lintian finds no error in the deb, and no warning that the overrides do not explain.
func TestDebPassesLintian(t *testing.T) {
	deb := packageFile(t, "plimsoll_0.1.0-1_amd64.deb")
	lintian := packageTool(t, "lintian")
	out, err := exec.Command(lintian, "--allow-root", "--fail-on=error,warning", deb).CombinedOutput()
	if err != nil || strings.Contains(string(out), "\nW: ") {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}

// packageTool is a program of Debian that judges packages.
func packageTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if _, apt := exec.LookPath("apt-get"); os.Getenv("CI") == "true" && apt == nil && os.Getuid() == 0 {
			t.Fatalf("%v: the gate did not install it (out/apt-packages.txt)", err) // apt can bring it
		}
		t.Skipf("%v: apt-get install %s", err, name)
	}
	return path
}

// rpm reads the package: its files have the owners and modes they should, its scripts are a shell's, and it installs and goes away again
// in a folder.
func TestRPMInstalls(t *testing.T) {
	file := packageFile(t, "plimsoll-0.1.0-1.x86_64.rpm")
	tool := packageTool(t, "rpm")
	rpm := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(tool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("rpm %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if list := rpm("-qplv", file); !regexp.MustCompile(`(?m)^-rwxr-xr-x +1 root +root +\d+ .* /usr/bin/plimsoll$`).MatchString(list) {
		t.Errorf("the program is not among\n%s", list)
	}
	if doc := rpm("-qpd", file); !strings.Contains(doc, "/usr/share/man/man1/plimsoll.1.gz") || !strings.Contains(doc, "/usr/share/doc/plimsoll/changelog.gz") {
		t.Errorf("documents are\n%s", doc)
	}
	for _, header := range []string{"%{POSTIN}", "%{PREUN}", "%{POSTUN}"} {
		check := exec.Command("sh", "-n")
		check.Stdin = strings.NewReader(rpm("-qp", "--qf", header, file))
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", header, err, out)
		}
	}
	if os.Getuid() != 0 {
		t.Log("only root can install into another root: not tried")
		return
	}
	root := t.TempDir()
	rpm("--root", root, "--nodeps", "--noscripts", "--ignorearch", "-i", file)
	if out, err := exec.Command(filepath.Join(root, "usr/bin/plimsoll"), "version").CombinedOutput(); err != nil {
		t.Errorf("what was installed: %v\n%s", err, out)
	}
	rpm("--root", root, "--nodeps", "--noscripts", "-e", "plimsoll")
	if left := named(t, root); len(left) != 0 {
		t.Errorf("rpm -e leaves %q", left)
	}
}

// named lists what is called like the program below a folder, without homes and what the tests themselves have put there.
func named(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	for _, top := range []string{"etc", "usr", "var", "run", "opt", "srv"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, _ fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			if err == nil && (name == filepath.Join(root, "run/user") || name == filepath.Join(root, "var/cache/man")) {
				return filepath.SkipDir // of users, and of man
			}
			if err == nil && strings.Contains(filepath.Base(name), "plimsoll") && !strings.Contains(name, "plimsoll-test") {
				found = append(found, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// A bootedSystem is a throw-away machine that packages are installed into for good.
type bootedSystem struct{ t *testing.T }

func newBootedSystem(t *testing.T) bootedSystem {
	t.Helper()
	if os.Getenv(unitsName) == "" {
		t.Skip("it installs packages into the system: .ci/steps/vm runs it in a throw-away machine (" + unitsName + "=1)")
	}
	if os.Getuid() != 0 {
		t.Fatal("only root can install a package")
	}
	return bootedSystem{t}
}

// does runs a line in a shell and gives what it prints.
func (s bootedSystem) does(line string) string {
	s.t.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	if took := time.Since(begin); took > 3*time.Second {
		s.t.Logf("%.0f s: %.100s", took.Seconds(), line)
	}
	return strings.TrimSpace(string(out))
}

// holds asks for the words in what a line prints.
func (s bootedSystem) holds(line string, words ...string) {
	s.t.Helper()
	out := s.does(line)
	for _, word := range words {
		if !strings.Contains(out, word) {
			s.t.Errorf("%s does not print %q:\n%.2000s", line, word, out)
		}
	}
}

// The history of a user, and that of the daemon's user.
const (
	usersRun     = "runuser -l tester -c 'plimsoll run --quiet -- /bin/true'"
	usersStats   = "runuser -l tester -c 'plimsoll stats true --json'"
	daemonsStart = "systemd-run --quiet --wait --pipe -p DynamicUser=yes -p User=plimsoll -p StateDirectory=plimsoll -p StateDirectoryMode=0700 -p CacheDirectory=plimsoll -p CacheDirectoryMode=0700 -E PLIMSOLL_STATE_DIR=/var/lib/plimsoll -E PLIMSOLL_CACHE_DIR=/var/cache/plimsoll /usr/bin/plimsoll "
	daemonsRun   = daemonsStart + "run --quiet -- /bin/true"
	daemonsStats = daemonsStart + "stats true --json"
)

// running asks that the daemon runs and takes requests, and says which process it is.
func (s bootedSystem) running() string {
	s.t.Helper()
	wait.Within(s.t, patience, "the daemon is active", func() bool { return property(s.t, "ActiveState") == "active" })
	r, err := (&http.Client{Timeout: time.Minute}).Get("http://127.0.0.1:4620/healthz")
	if err != nil {
		s.t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		s.t.Errorf("/healthz: %s", r.Status)
	}
	return property(s.t, "MainPID")
}

// keeps asks for everything that no upgrade may change.
func (s bootedSystem) keeps(token string) {
	s.t.Helper()
	s.holds(usersStats, `"recorded": 1`)
	s.holds(daemonsStats, `"recorded": 1`)
	if got := s.does("cat /etc/plimsoll/credentials/token"); got != token {
		s.t.Error("the token is another one")
	}
}

// used starts the daemon and makes a history, and gives the token.
func (s bootedSystem) used() string {
	s.t.Helper()
	if state := s.does("systemctl is-enabled plimsoll-serve.socket plimsoll-serve.service plimsoll-gc.timer || true"); state != "disabled\ndisabled\ndisabled" {
		s.t.Errorf("an installation enables: %s", state)
	}
	s.holds("stat -c '%a %U' /etc/plimsoll/credentials /etc/plimsoll/credentials/token", "700 root\n600 root")
	token := s.does("cat /etc/plimsoll/credentials/token")
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(token) {
		s.t.Error("the token is none")
	}
	s.does(usersRun)
	s.does(daemonsRun)
	s.does("systemctl enable --now plimsoll-serve.socket && systemctl start plimsoll-serve")
	s.running()
	s.keeps(token)
	return token
}

// The deb on a Debian that runs: installed, read, started, upgraded and downgraded beneath the daemon, removed and purged.
func TestDebInTheSystem(t *testing.T) {
	s := newBootedSystem(t)
	// These machines are made without documents.
	const dpkg = "dpkg --path-include='/usr/share/doc/plimsoll*' --path-include='/usr/share/man/*' "
	install := func(version string) string {
		t.Helper()
		return s.does(dpkg + "-i " + packageFile(t, "plimsoll_"+version+"-1_amd64.deb"))
	}
	install("0.1.0")
	// man, bash-completion and rpm are those of one Debian.
	tools := filepath.Join(os.Getenv(packagesName), "tools-"+s.does(". /etc/os-release && echo $VERSION_CODENAME")+".tar")
	if !fileExists(t, tools) {
		t.Logf("there is no %s: the manual page and the completions are read on another Debian", tools)
	} else {
		s.does("tar -xf " + tools + " -C / --keep-directory-symlink && ldconfig")
		s.holds("MANWIDTH=80 MAN_KEEP_FORMATTING= man -P cat plimsoll", "NAME", "plimsoll", "SYNOPSIS")
		s.holds("source /usr/share/bash-completion/bash_completion; _completion_loader plimsoll; COMP_WORDS=(plimsoll doc); COMP_CWORD=1 COMP_LINE='plimsoll doc' COMP_POINT=12; "+
			"complete -p plimsoll; __start_plimsoll; echo \"${COMPREPLY[@]}\"", "__start_plimsoll", "doctor")
	}
	s.holds("ls /usr/share/doc/plimsoll /usr/share/doc/plimsoll/examples", "copyright", "changelog.gz", "changelog.Debian.gz", "kernel-limits.conf", "plimsoll.rules.yml")

	token := s.used()
	before := s.running()
	// A newer one beneath the daemon, and the older one again: it goes on with the other program.
	for _, version := range []string{"0.2.0", "0.1.0"} {
		install(version)
		s.holds("dpkg-query -W -f '${Version} ${db:Status-Status}' plimsoll", version+"-1 installed")
		after := s.running()
		if after == before {
			t.Errorf("version %s: the daemon still runs the program before", version)
		}
		s.holds(fmt.Sprintf("readlink /proc/%s/exe", after), "/usr/bin/plimsoll")
		before = after
		s.keeps(token)
	}
	s.holds("systemctl is-enabled plimsoll-serve.socket", "enabled")

	s.does("dpkg --remove plimsoll")
	s.holds("ls -A /etc/plimsoll/credentials", "token")
	s.holds("systemctl list-units --all 'plimsoll*' --no-legend | wc -l", "0")
	s.does("dpkg --purge plimsoll")
	if left := named(t, "/"); len(left) != 0 {
		t.Errorf("purge leaves %q", left)
	}
	s.does("test -n \"$(find /home/tester/.local/state/plimsoll -type f)\"") // homes are their users'
}

// The rpm's own scripts, run by rpm under a systemd that runs.
func TestRPMInTheSystem(t *testing.T) {
	s := newBootedSystem(t)
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("rpm is not here for this Debian: it is tried on another one")
	}
	rpm := func(args string) { t.Helper(); s.does("rpm --nodeps " + args) }
	rpm("-i " + packageFile(t, "plimsoll-0.1.0-1.x86_64.rpm"))
	s.does("rm -rf /home/tester/.local/state/plimsoll")
	token := s.used()
	before := s.running()
	rpm("-U " + packageFile(t, "plimsoll-0.2.0-1.x86_64.rpm"))
	if after := s.running(); after == before {
		t.Error("after an upgrade the daemon still runs the program before")
	}
	s.keeps(token)
	rpm("-e plimsoll")
	s.holds("systemctl list-units --all 'plimsoll*' --no-legend | wc -l", "0")
	left := strings.Join(named(t, "/"), "\n")
	for name := range strings.FieldsSeq(left) {
		if !strings.HasPrefix(name, "/etc/plimsoll") && !strings.HasPrefix(name, "/var/lib/p") && !strings.HasPrefix(name, "/var/cache/p") {
			t.Errorf("rpm -e leaves %s", name)
		}
	}
	s.does("rm -rf /etc/plimsoll /var/lib/plimsoll /var/lib/private/plimsoll /var/cache/plimsoll /var/cache/private/plimsoll")
}
