package run

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/footprint"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
	"github.com/plimsoll/plimsoll/window/models"
)

// windowChoice says whether a run gets a proxy, before anything is started.
type windowChoice struct {
	agent *profile.Agent // nil where nothing is known of it
	// wanted is true for a proxy; else why says why not. unknown is true when it is not, because the program is not a known agent.
	wanted  bool
	why     string
	unknown bool
}

// agent returns the profile of the program that the command starts, else that of the run's tool; false when neither has one.
func (p *decision) agent() (*profile.Agent, bool) {
	if a, ok := profile.Find(p.Match.Profile); ok {
		return a, true
	}
	return profile.Find(p.Tool)
}

// agentBehind returns a function that reports whether argv is that of the agent behind an adapter; nil where the command is not an adapter.
func (p *decision) agentBehind() func(argv []string) bool {
	if a, ok := p.agent(); ok && a.Adapter != nil {
		return a.Adapter.Child
	}
	return nil
}

// chooseWindow decides by the configuration whether the run gets a proxy: tools with a profile do, others only when it is asked for, and
// then by the variables of the providers' own libraries.
func chooseWindow(p *decision) windowChoice {
	s := p.Settings
	agent, known := p.agent()
	from := func(key string) string {
		src := s.Source(key)
		if src.Origin == config.OriginFlag {
			return src.Name
		}
		return "[window] " + strings.TrimPrefix(key, "window.") + " is off (" + src.String() + ")"
	}
	c := windowChoice{agent: agent}
	switch {
	case s.Window.Proxy == "off":
		c.why = from("window.proxy")
	case s.Window.Mode == "off":
		c.why = from("window.mode")
	case known:
		c.wanted = true
	case s.Window.Proxy == "on":
		c.agent, c.wanted = profile.Generic, true
	}
	if !known && !c.wanted {
		c.unknown = true
		c.why = cmp.Or(c.why, p.Tool+" is none of the agents that are known: if it asks a model, nothing stands before that; --proxy puts the proxy there, for programs that take their provider's address from "+profile.GenericNames)
	}
	return c
}

// peerPath stands in place of the token in addresses that a command line shows, where everybody could read that: [proxy.Options.PeerPath].
const peerPath = "peer"

// clientSetup returns the input of profiles: the command, its environment, its directory, and whether it has a terminal.
func (x *process) clientSetup(argv, environ []string) (profile.Setup, error) {
	dir, err := os.Getwd()
	if err != nil {
		return profile.Setup{}, err
	}
	return profile.Setup{
		Argv: argv, Via: x.decision.Match.Via, Environ: environ, Dir: dir,
		Terminal: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())),
	}, nil
}

// planWindow returns the profile's settings that point the tool at the proxy at address, or a Setting.Why not to, and sets x.through. folder is
// the place for its private files; secure opens a second address with TLS.
func (x *process) planWindow(c windowChoice, address, token, folder string, aws bool, secure func() (string, []byte, error)) (profile.Setting, error) {
	p := x.decision
	setup, err := x.clientSetup(x.opts.Command, os.Environ())
	if err != nil {
		return profile.Setting{}, err
	}
	u := p.Settings.Upstream
	setup.Root, setup.AWS, setup.Folder, setup.Secure = address+"/"+token, aws, folder, secure
	if proxy.PeerKnown() {
		setup.PeerRoot = address + "/" + peerPath
	}
	setup.Upstreams = map[string]string{"openai": u.OpenAI, "anthropic": u.Anthropic, "gemini": u.Gemini}
	s, err := c.agent.Plan(setup)
	if err != nil || s.Why != "" {
		return s, err
	}
	for _, up := range s.Upstreams {
		if !core.ThroughProxy(up.URL) {
			continue
		}
		if x.through = spendLimits(p.Settings) != (spend.Limits{}); x.through {
			break // it has limits of its own, which the outer proxy does not know
		}
		return profile.Setting{Why: "its requests go through the proxy of the run that it is in"}, nil
	}
	return s, nil
}

// openProxy starts the proxy of a run that is to have one, and returns the argument vector and the environment that the tool is to get; nil
// and nil leave both as they are. A fault that keeps the proxy from starting goes into the report, and the run goes on without it; the error
// is that of a run with limits that only the proxy can hold.
func (x *process) openProxy(ctx context.Context, run string) (argv, environ []string, err error) {
	choice := chooseWindow(x.decision)
	if !choice.wanted {
		x.report.journal.Append(journal.WindowOff{Reason: choice.why, Unknown: choice.unknown})
		return nil, nil, x.checkUnmetered(choice, choice.why)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		why := "it can't listen: " + err.Error()
		x.withoutProxy(why)
		return nil, nil, x.checkUnmetered(choice, why)
	}
	token := rand.Text()
	address := "http://" + ln.Addr().String()
	secure := &secureDoor{token: token}
	signer := window.AWSCredentials(ctx)
	folder, err := x.privateFolder(run)
	var setting profile.Setting
	if err == nil {
		setting, err = x.planWindow(choice, address, token, folder, signer != nil, secure.open)
	}
	if err == nil && setting.Why == "" {
		err = x.writePrivate(setting.Files)
	}
	if err == nil && setting.Why == "" {
		err = x.serveWindow(ln, secure, setting, signer)
	}
	if err != nil || setting.Why != "" {
		_ = ln.Close()
		secure.close()
		why := setting.Why
		if err != nil {
			why = err.Error()
			x.report.warn("window", "no proxy, because "+why)
		} else if setting.Project {
			x.report.warn("window", "no proxy for the model, because "+why)
		}
		x.withoutProxy(why)
		return nil, nil, x.checkUnmetered(choice, why)
	}
	for _, note := range setting.Notes {
		x.report.journal.Append(journal.Warned{About: "window", Text: note})
	}
	x.report.journal.Append(journal.WindowOn{Client: choice.agent.Name, Through: x.through})
	return setting.Argv, append(setting.Environ(os.Environ()), core.ProxyName+"="+address+"/"+token), nil
}

// privateFolder returns the directory for private files of the run. Who writes into it makes it, and it is removed at the end of the run.
func (x *process) privateFolder(run string) (string, error) {
	dir, err := mcp.TallyOf(x.app.Core, run)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "files"), nil
}

// writePrivate writes files that only this user may read, and makes their folders. At the end of the run it removes the folder above theirs with
// all that is in it.
func (x *process) writePrivate(files []profile.File) error {
	for _, f := range files {
		folder := filepath.Dir(f.Path)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		x.closer.Do(func() { _ = os.RemoveAll(filepath.Dir(folder)) })
		// Volatile: the file goes with the run.
		if err := atomicfile.Write(f.Path, f.Body, 0o600, atomicfile.Volatile); err != nil {
			return err
		}
	}
	return nil
}

func (x *process) withoutProxy(why string) {
	x.report.journal.Append(journal.WindowOff{Reason: why})
}

// lastAnswers bounds the time that requests still under way get when the tool has ended.
const lastAnswers = time.Second

// warnAboutProxy warns when a proxy that was asked for got no request: nothing that it can limit was limited.
func (x *process) warnAboutProxy() {
	w := x.report.reporter.Report().Window
	if x.decision.Settings.Window.Proxy == "on" && w.Proxy && w.Requests == 0 && w.Passed == 0 {
		x.report.warn("window", "nothing came through the proxy: if "+x.decision.Tool+" asked a model, it did so directly; it has to take its provider's address from "+profile.GenericNames)
	}
}

// collectAt is the GC percentage of a supervisor with a proxy. It handles one conversation and has time, and what it holds is taken from the
// agent: with Go's own 100 it held 19 MiB of anonymous memory in a long session of Claude Code, with this 12.
const collectAt = 25

// serveWindow starts the proxy for the run's upstreams on ln, and on the TLS listener of secure if that is open, and sets x.closeProxy. It
// opens the meter, and the memory if that is on.
func (x *process) serveWindow(ln net.Listener, secure *secureDoor, setting profile.Setting, signer *proxy.AWS) error {
	settings := x.decision.Settings
	if x.through { // the outer proxy edits
		settings.Window.Mode = string(proxy.Observe)
	}
	if err := x.openMeter(); err != nil {
		return err
	}
	o := window.Options{Spend: x.meter, Journal: x.report.journal, Run: x.id(), People: sandbox.Terminal(), Token: secure.token, PeerPath: peerPath, Own: setting.Compacts, Exhausted: x.diedOfMemory(), Warn: func(text string) { x.report.warn("window", text) }}
	for _, u := range setting.Upstreams {
		up := proxy.Upstream{Name: u.Name, Provider: proxy.Provider(u.Provider), URL: u.URL}
		if u.SignRegion != "" && signer != nil {
			up.AWS = &proxy.AWS{Credentials: signer.Credentials, Region: u.SignRegion, Bearer: true}
		}
		o.Upstreams = append(o.Upstreams, up)
	}
	for _, m := range setting.Models {
		if o.Models == nil {
			o.Models = map[string][]models.Listing{}
		}
		o.Models[m.Upstream] = append(o.Models[m.Upstream], models.Listing{Model: m.Model, Window: models.Window{Context: m.Context, Output: m.Output}})
	}
	x.widen()
	footprint.CollectAt(collectAt)
	remembered := x.openMemory()
	o.Keeper, o.KeepTurns, o.Recaller, o.RecallFor = remembered.Keeper(), remembered.Turns(), remembered.Recaller(), remembered.Namespace()
	plane, err := window.Open(x.app.Core, settings, o)
	if err != nil {
		remembered.Close()
		return err
	}
	server, err := plane.Proxy.Listen(proxy.ListenOptions{Listener: ln})
	servers := []*proxy.Server{server}
	if err == nil && secure.ln != nil {
		server, err = plane.Proxy.Listen(proxy.ListenOptions{Listener: secure.ln, TLS: secure.tls})
		servers = append(servers, server)
	}
	if err != nil {
		plane.Close()
		remembered.Close()
		return err
	}
	ended := false
	x.closeProxy = func() {
		if ended {
			return
		}
		ended = true
		ctx, cancel := context.WithTimeout(context.Background(), lastAnswers)
		defer cancel()
		for _, s := range servers {
			_ = s.Shutdown(ctx) // what is cut after the time belongs to nobody any more
		}
		plane.Close()
		x.meter.Close()
		remembered.Close()
	}
	x.closer.Do(x.closeProxy)
	return nil
}

// openMemory opens the store for conversations of the run. Inside another run, or without a terminal, the messages are not typed by a
// person, and the store is told so.
func (x *process) openMemory() *remember.Plane {
	p := x.decision
	inside := x.nested || x.app.Core.Fence().Inside() || !term.IsTerminal(int(os.Stdin.Fd()))
	return remember.Open(x.app.Core, p.Settings, remember.Options{
		Journal: x.report.journal, Namespace: remember.ProjectNamespace(p.Project.Key), Client: p.Tool, Run: x.id(), Inside: inside, Own: true,
		Warn: func(text string) { x.report.warn("memory", text) },
	})
}

// afterOOM is the time for which a run after one whose agent died of memory works with half the window.
const afterOOM = 10 * time.Minute

// diedOfMemory reports whether the last run of this tool in this project ran out of memory less than afterOOM ago. Then half of the context
// window is used, which makes the agent smaller.
func (x *process) diedOfMemory() bool {
	if x.history == nil {
		return false
	}
	runs, err := x.history.Runs(x.decision.Project.Key, x.decision.learnsAs())
	if err != nil || len(runs) == 0 {
		return false
	}
	last := runs[len(runs)-1]
	return last.Outcome == journal.OutcomeOOM && time.Since(last.Time) < afterOOM
}

// decideWindow returns what a dry run says about the proxy. It starts nothing.
func (x *process) decideWindow(ctx context.Context) WindowDecision {
	choice := chooseWindow(x.decision)
	if !choice.wanted {
		return WindowDecision{NoProxy: choice.why}
	}
	setting, err := x.planWindow(choice, "http://127.0.0.1:1", "TOKEN", filepath.Join(os.TempDir(), "plimsoll-dry-run"), window.AWSCredentials(ctx) != nil,
		func() (string, []byte, error) { return "https://127.0.0.1:1/TOKEN", nil, nil })
	if err != nil {
		return WindowDecision{NoProxy: err.Error()}
	}
	if setting.Why != "" {
		return WindowDecision{NoProxy: setting.Why}
	}
	d := WindowDecision{Proxy: true, Client: choice.agent.Name, Mode: x.decision.Settings.Window.Mode}
	for _, u := range setting.Upstreams {
		d.Upstreams = append(d.Upstreams, u.URL)
	}
	return d
}

// secureDoor is a second listener of a run's proxy, with TLS, for libraries that send a key in no other way. It is opened when a profile
// asks for it.
type secureDoor struct {
	token string
	ln    net.Listener // nil until then
	tls   *tls.Config
}

// open opens the listener. As [profile.Setup.Secure] it returns the address with the token, and the authority's certificate in PEM.
func (d *secureDoor) open() (root string, authority []byte, err error) {
	pair, authority, err := newCertificate(time.Now())
	if err != nil {
		return "", nil, err
	}
	if d.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return "", nil, err
	}
	d.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return "https://" + d.ln.Addr().String() + "/" + d.token, authority, nil
}

func (d *secureDoor) close() {
	if d.ln != nil {
		_ = d.ln.Close()
	}
}

// certificateLife is longer than any run: the certificate is discarded with the run.
const certificateLife = 366 * 24 * time.Hour

// newCertificate returns a certificate for 127.0.0.1, and in PEM the certificate of the authority that has signed it. The authority's key
// is discarded, so that whoever trusts the authority trusts this one certificate; the other key is in memory only.
func newCertificate(now time.Time) (pair tls.Certificate, authority []byte, err error) {
	keys := [2]*ecdsa.PrivateKey{}
	for i := range keys {
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return pair, nil, err
		}
	}
	above := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "plimsoll run " + rand.Text()[:8]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		// No name constraint beside: BoringSSL, and Claude Code with it, refuses one on addresses.
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, above, above, &keys[0].PublicKey, keys[0])
	if err != nil {
		return pair, nil, err
	}
	if above, err = x509.ParseCertificate(signed); err != nil { // with the identifier of its key, which the one below refers to
		return pair, nil, err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: above.NotBefore, NotAfter: above.NotAfter, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, above, &keys[1].PublicKey, keys[0])
	if err != nil {
		return pair, nil, err
	}
	var text bytes.Buffer
	if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: signed}); err != nil {
		return pair, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: keys[1]}, text.Bytes(), nil
}
