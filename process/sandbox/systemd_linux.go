package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

// The systemd layer asks the service manager for a scope over D-Bus (no systemd-run is
// forked), moves the supervisor into it and divides it:
//
//	plimsoll-ID.scope/sup        the supervisor, outside of the limits
//	plimsoll-ID.scope/run        the limits and the peak
//	plimsoll-ID.scope/run/agent  the command
//	plimsoll-ID.scope/plimsoll-ID2/agent  a further run of the same supervisor
//
// The scope ends by itself when its last process has gone. systemd removes its groups then,
// as far as nobody else does so at the same time; see waitUnitGone.
const (
	systemdBus   = "org.freedesktop.systemd1"
	systemdPath  = dbus.ObjectPath("/org/freedesktop/systemd1")
	systemdIface = "org.freedesktop.systemd1.Manager"
	// scopeWait bounds how long the manager may take to move us into the scope.
	scopeWait = 5 * time.Second
	// endWait bounds how long it may take to end one: more than the TimeoutStopUSec of ours,
	// after which it sends SIGKILL.
	endWait = DefaultStopGrace + scopeWait
)

// property is systemd's (name, value) pair, D-Bus type (sv).
type property struct {
	Name  string
	Value dbus.Variant
}

// auxUnit is an auxiliary unit of StartTransientUnit; we never pass one.
type auxUnit struct {
	Name       string
	Properties []property
}

// newSystemd asks systemd for a scope of its own for the run, moves this process into its part "sup", and makes the run's group beside that. A
// further run in the same process gets a group in the same scope.
func newSystemd(spec *Spec, limits Limits) (_ cage, err error) {
	if spec.Nested {
		return nil, errors.New("inside another run: a new scope would leave that run's limits")
	}
	own, err := cgroupfs.Own()
	if err != nil {
		return nil, err
	}
	if own.Unified == "" || !exists(filepath.Join(own.UnifiedMount, "cgroup.controllers")) {
		return nil, errors.New("no cgroup v2 hierarchy is mounted")
	}
	if !hasWord(filepath.Join(own.UnifiedMount, "cgroup.controllers"), "memory") {
		return nil, fmt.Errorf("the cgroup v2 hierarchy at %s has no memory controller (cgroup v1 holds it)", own.UnifiedMount)
	}
	if _, nested := outerNode(own.Unified); nested {
		return nil, errors.New("inside another run: a new scope would leave that run's limits")
	}
	if scope := filepath.Dir(own.Unified); scope == entered.scope() {
		return newInScope(spec, scope, limits)
	}
	conn, ofUser, err := dialManager()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	unit := runPrefix + spec.ID + ".scope"
	if err := spec.remember(Remains{Layer: Systemd, Unit: unit, User: ofUser}); err != nil {
		return nil, err
	}
	scope, err := enterScope(conn, own, unit, spec, limits.CPUWeight)
	if err != nil {
		return nil, err
	}
	if err := spec.remember(Remains{Layer: Systemd, Unit: unit, User: ofUser, Groups: []string{scope}}); err != nil {
		return nil, err
	}
	sup := filepath.Join(scope, "sup")
	if err := os.Mkdir(sup, 0o755); err != nil {
		return nil, fmt.Errorf("divide the scope: %w", err)
	}
	if err := writeControl(sup, "cgroup.procs", "0"); err != nil {
		return nil, err
	}
	if err := writeControl(scope, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return nil, err
	}
	if limits.wantsCPU() {
		enableCPUController(scope)
	}
	g, err := newGroup2(scope, "run", limits)
	if err != nil {
		return nil, err
	}
	// Beside other applications it is the scope's own weight that counts.
	if g.held.CPU == ByKernel && !fileHolds(scope, "cpu.weight", limits.CPUWeight) {
		g.held.CPU = ByNobody
	}
	entered.remember(scope)
	return g, nil
}

// fileHolds reports whether the control file name in dir holds the number n.
func fileHolds(dir, name string, n int) bool {
	body, err := os.ReadFile(filepath.Join(dir, name))
	return err == nil && strings.TrimSpace(string(body)) == strconv.Itoa(n)
}

// entered is the scope that an earlier run moved this process into. A program that starts
// many runs asks systemd once; the next ones become siblings inside the same scope.
var entered enteredScope

type enteredScope struct {
	mu  sync.Mutex
	dir string
}

// scope returns the directory of the scope, "" before a run has entered one.
func (e *enteredScope) scope() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dir
}

// remember records the scope that this process was moved into.
func (e *enteredScope) remember(dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dir = dir
}

// newInScope builds the cage of a further run in the scope that this process is in already.
func newInScope(spec *Spec, scope string, limits Limits) (cage, error) {
	name := runPrefix + spec.ID
	if err := spec.remember(Remains{Layer: Cgroup2, Groups: []string{filepath.Join(scope, name)}}); err != nil {
		return nil, err
	}
	if limits.wantsCPU() {
		enableCPUController(scope)
	}
	g, err := newGroup2(scope, name, limits)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// dialManager connects to the service manager of the user, or to that of the system for uid 0: over its bus, or over the manager's own socket,
// which answers even if no bus is running. ofUser is true for the manager of the user. The caller closes conn.
func dialManager() (conn *dbus.Conn, ofUser bool, err error) {
	var failed error
	for _, a := range managerAddresses() {
		conn, err := dialBus(a)
		if err == nil {
			return conn, a.ofUser, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", a.bus, err))
		ofUser = a.ofUser
	}
	if ofUser {
		return nil, true, fmt.Errorf("no user service manager answers (log in through systemd, or loginctl enable-linger): %w", failed)
	}
	return nil, false, fmt.Errorf("no system service manager answers: %w", failed)
}

// managerAddress tells how to reach a service manager.
type managerAddress struct {
	bus    string
	ofUser bool
	direct bool // no bus between: there is nobody to say hello to
	// guessed is true when the bus may be one without a manager, as dbus-run-session starts it.
	guessed bool
}

// managerAddresses returns the addresses at which the service manager may be reached, in the order in which they are to be tried.
func managerAddresses() []managerAddress {
	if os.Geteuid() == 0 {
		bus := "unix:path=/run/dbus/system_bus_socket"
		if a := os.Getenv("DBUS_SYSTEM_BUS_ADDRESS"); a != "" {
			bus = a
		}
		return []managerAddress{{bus: bus}, {bus: "unix:path=/run/systemd/private", direct: true}}
	}
	own := fmt.Sprintf("/run/user/%d", os.Geteuid())
	var list []managerAddress
	if a := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); a != "" {
		list = append(list, managerAddress{bus: a, ofUser: true, guessed: !strings.HasPrefix(a, "unix:path="+own+"/bus")})
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && dir != own {
		list = append(list, managerAddress{bus: "unix:path=" + filepath.Join(dir, "bus"), ofUser: true})
	}
	return append(list,
		managerAddress{bus: "unix:path=" + own + "/bus", ofUser: true},
		managerAddress{bus: "unix:path=" + own + "/systemd/private", ofUser: true, direct: true})
}

// dialBus connects to a bus and says hello; it is an error when the bus does not answer within scopeWait, or a guessed one has no manager.
func dialBus(a managerAddress) (*dbus.Conn, error) {
	conn, err := dbus.Dial(a.bus)
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		err := conn.Auth([]dbus.Auth{dbus.AuthExternal(fmt.Sprint(os.Geteuid()))})
		if err == nil && !a.direct {
			err = conn.Hello()
		}
		if err == nil && a.guessed {
			err = checkManager(conn)
		}
		done <- err
	}()
	select {
	case err = <-done:
	case <-time.After(scopeWait):
		err = errors.New("the bus does not answer")
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// checkManager returns an error unless systemd is on this bus.
func checkManager(conn *dbus.Conn) error {
	var owned bool
	err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, systemdBus).Store(&owned)
	if err == nil && !owned {
		err = errors.New("no service manager is on this bus")
	}
	return err
}

// enterScope asks systemd for the scope unit, waits until this process is in it, and returns its directory.
func enterScope(conn *dbus.Conn, own cgroupfs.Place, unit string, spec *Spec, cpuWeight int) (string, error) {
	// Everybody on this machine may read it, so it has no secrets. systemd keeps it as a line of the unit's file: a prompt of several lines would become
	// several settings when the manager reloads its units.
	description := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, limit.Clip(strings.Join(secrets.Environ(spec.environ()).Argv(spec.Args), " "), 200))
	properties := []property{
		{"Description", dbus.MakeVariant("plimsoll run -- " + description)},
		{"PIDs", dbus.MakeVariant([]uint32{uint32(os.Getpid())})},
		{"Delegate", dbus.MakeVariant(true)},
		{"CollectMode", dbus.MakeVariant("inactive-or-failed")},
		{"OOMPolicy", dbus.MakeVariant("continue")},
		{"TimeoutStopUSec", dbus.MakeVariant(uint64(DefaultStopGrace / time.Microsecond))},
	}
	if cpuWeight > 0 && cpuWeight != NormalWeight {
		properties = append(properties, property{"CPUWeight", dbus.MakeVariant(uint64(cpuWeight))})
	}
	if spec.OOMD != OOMDDefault {
		// For the scope as long as it is a leaf, and for whoever reads the unit; see preferOOMD.
		properties = append(properties, property{"ManagedOOMPreference", dbus.MakeVariant("avoid")})
	}
	manager := conn.Object(systemdBus, systemdPath)
	ctx, cancel := context.WithTimeout(context.Background(), scopeWait)
	defer cancel()
	var job dbus.ObjectPath
	for {
		err := manager.CallWithContext(ctx, systemdIface+".StartTransientUnit", 0, unit, "fail", properties, []auxUnit{}).Store(&job)
		if err == nil {
			break
		}
		// An older systemd refuses the whole call for one property that it does not know.
		if i := unknownProperty(err, properties); i >= 0 {
			properties = append(properties[:i:i], properties[i+1:]...)
			continue
		}
		return "", fmt.Errorf("start the scope %s: %w", unit, err)
	}
	// The job is done when the kernel says that we moved; asking /proc is one read, where
	// the JobRemoved signal costs a match rule and two more round trips.
	deadline := time.Now().Add(scopeWait)
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		place, err := cgroupfs.Own()
		if err != nil {
			return "", err
		}
		if place.Unified != own.Unified && filepath.Base(place.Unified) == unit {
			return place.Unified, nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("systemd accepted the scope %s, but did not move us into it within %s", unit, scopeWait)
		}
		time.Sleep(pause)
	}
}

// unknownProperty returns the index of the optional property that an error is about, -1 for none: systemd answers "Cannot set property
// OOMPolicy, or unknown property."
func unknownProperty(err error, properties []property) int {
	e, ok := errors.AsType[dbus.Error](err)
	if !ok || len(e.Body) == 0 {
		return -1
	}
	text, _ := e.Body[0].(string)
	if !strings.Contains(text, "roperty") {
		return -1
	}
	for i, p := range properties {
		optional := slices.Contains([]string{"OOMPolicy", "CollectMode", "TimeoutStopUSec", "CPUWeight", "ManagedOOMPreference"}, p.Name)
		if optional && strings.Contains(text, p.Name) {
			return i
		}
	}
	return -1
}

// endUnit waits until the service manager has no such scope any more or keeps it only as failed, at most for endWait. If stop is set, it first
// tells the manager to end the scope; otherwise the scope must be about to end by itself.
func endUnit(unit string, stop bool) error {
	conn, _, err := dialManager()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	if stop {
		err := conn.Object(systemdBus, systemdPath).CallWithContext(ctx, systemdIface+".StopUnit", 0, unit, "replace").Err
		if isNoSuchUnit(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("stop %s: %w", unit, err)
		}
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		state, err := unitState(ctx, conn, unit)
		switch {
		case isNoSuchUnit(err), err == nil && (state == "inactive" || state == "failed"):
			return nil
		case ctx.Err() != nil && err != nil:
			return fmt.Errorf("wait for the end of %s: %w", unit, err)
		case ctx.Err() != nil:
			return fmt.Errorf("%s is still %s after %s", unit, state, endWait)
		}
		time.Sleep(pause) // an error too is asked again: the unit may have gone between two questions
	}
}

// unitState returns the ActiveState of a unit, such as "active" or "failed".
func unitState(ctx context.Context, conn *dbus.Conn, unit string) (state string, err error) {
	var path dbus.ObjectPath
	if err := conn.Object(systemdBus, systemdPath).CallWithContext(ctx, systemdIface+".GetUnit", 0, unit).Store(&path); err != nil {
		return "", err
	}
	err = conn.Object(systemdBus, path).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, systemdBus+".Unit", "ActiveState").Store(&state)
	return state, err
}

// isNoSuchUnit reports whether an error says that there is no such unit.
func isNoSuchUnit(err error) bool {
	e, ok := errors.AsType[dbus.Error](err)
	return ok && e.Name == "org.freedesktop.systemd1.NoSuchUnit"
}

// Lingers reports whether the service manager that runs our scopes outlives the user's last session. It is true for root, whose scopes belong to
// the manager of the system.
func Lingers() bool {
	if os.Geteuid() == 0 {
		return true
	}
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join("/var/lib/systemd/linger", u.Username))
	return err == nil
}

// systemd-oomd kills whole groups, leaves of the hierarchy only, and reads what is wished of it from
// extended attributes of the leaf itself: ManagedOOMPreference=avoid of a scope sets the attribute on the
// scope, and does nothing for the leaves that the scope was divided into. It honours the
// attribute where the leaf belongs to root, or to the owner of the group that is monitored
// (oomd_fetch_cgroup_oom_preference in src/oomd/oomd-util.c; the user's app.slice and user@.service
// qualify, user.slice and -.slice do not unless the run is root's).
const (
	oomdAvoid = "user.oomd_avoid"
	oomdOmit  = "user.oomd_omit"
	// oomdKilled is the attribute in which systemd-oomd counts its decisions to kill a group; it does so before
	// it kills.
	oomdKilled = "user.oomd_ooms"
)

// preferOOMD asks systemd-oomd to kill other groups before the command's, and never the supervisor's: that would free nothing and lose the
// report. It does nothing outside of cgroup v2 or for OOMDDefault. Errors are ignored.
func preferOOMD(c cage, spec *Spec) {
	g, ok := c.(*group2)
	if !ok || spec.OOMD == OOMDDefault {
		return
	}
	_ = unix.Setxattr(filepath.Join(g.dir, agentLeaf), oomdAvoid, []byte("1"), 0)
	for _, leaf := range []string{"sup", supervisorLeaf} {
		dir := filepath.Join(filepath.Dir(g.dir), leaf)
		if own, err := cgroupfs.Own(); err == nil && own.Unified == dir {
			_ = unix.Setxattr(dir, oomdOmit, []byte("1"), 0)
		}
	}
}

// oomdKills counts how often systemd-oomd killed the run's group or one inside it.
func oomdKills(c cage) int {
	g, ok := c.(*group2)
	if !ok {
		return 0
	}
	total := int64(0)
	for _, dir := range cgroupfs.Tree(g.dir) {
		var value [32]byte
		if n, err := unix.Getxattr(dir, oomdKilled, value[:]); err == nil {
			total += cgroupfs.Number(value[:n])
		}
	}
	return int(min(total, 1<<20))
}
