package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/plimsoll/plimsoll/limit"
)

// maxBody bounds what a request may send; the server's own bound for messages is larger.
const maxBody = 4 * limit.MiB

// marshal writes what cannot fail: maps, slices and strings made here.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this package that is no JSON is a mistake in it
	}
	return b
}

// body returns the bytes of a request.
func (c *call) body() ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, int64(maxBody)))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, refuse(resourceExhausted, "grpc: received message larger than max (more than %d)", large.Limit)
		}
		return nil, refuse(invalidArgument, "unexpected EOF")
	}
	return body, nil
}

// read decodes a request's body, with the errors of encoding/json as the server tells them.
func (c *call) read(v any) error {
	body, err := c.body()
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return refuse(invalidArgument, "%v", err)
	}
	return nil
}

// foundApplication is an application: generated, or as a write left it.
type foundApplication struct {
	head

	index int // of a generated one, -1 of others
	entry *entry
}

// application finds the one a path names. What the server says of one that is missing
// depends on whether the request names a project: without it nobody is told what exists.
func (c *call) application() (foundApplication, error) {
	name, space := c.args[0], c.query.Get("appNamespace")
	if space == "" {
		space = "argocd"
	}
	return c.find(name, space, c.query.Get("project"))
}

func (c *call) find(name, space, project string) (foundApplication, error) {
	missing := func() error {
		if project != "" && c.canRead(project) {
			return refuse(notFound, "applications.argoproj.io %q not found", name)
		}
		return denied()
	}
	f, ok := c.known(name, space)
	switch {
	case !ok, project != "" && f.project != project:
		return foundApplication{}, missing()
	case !c.canRead(f.project):
		return foundApplication{}, denied()
	}
	return f, nil
}

// known looks an application up, whoever asks.
func (s *Simulator) known(name, space string) (foundApplication, bool) {
	f := foundApplication{index: -1}
	if space == "argocd" {
		if i, ok := s.apps.find(name); ok {
			f.index = i
		}
	}
	if f.entry = s.stored[applications].get(space + "/" + name); f.entry != nil {
		f.head = f.entry.head
		return f, f.entry.body != nil
	}
	if f.index < 0 {
		return f, false
	}
	var a application
	s.application(f.index, &a)
	a.head(&f.head)
	return f, true
}

// bodyOf returns the bytes of an application.
func (s *Simulator) bodyOf(f foundApplication) []byte {
	if f.entry != nil {
		return f.entry.body
	}
	var a application
	s.application(f.index, &a)
	return s.writeApplication(nil, &a)
}

func getApplication(c *call) error {
	f, err := c.application()
	if err != nil {
		return err
	}
	if how := c.query.Get("refresh"); how == "normal" || how == "hard" {
		if f, err = c.refresh(f, how); err != nil {
			return err
		}
	}
	return c.answer(c.bodyOf(f))
}

// projectBody returns a project's bytes.
func (c *call) projectBody() ([]byte, error) {
	name := c.args[0]
	if !c.canRead(name) {
		return nil, c.permissionDenied("projects", "get", name)
	}
	body, ok := c.projectNamed(name)
	if !ok {
		return nil, refuse(notFound, "appprojects.argoproj.io %q not found", name)
	}
	return body, nil
}

func (s *Simulator) projectNamed(name string) ([]byte, bool) {
	if e := s.stored[projects].get("argocd/" + name); e != nil {
		return e.body, e.body != nil
	}
	i, ok := s.projects.lookup(name)
	if !ok {
		return nil, false
	}
	return s.writeProject(nil, s.project(i)), true
}

func getProject(c *call) error {
	body, err := c.projectBody()
	if err != nil {
		return err
	}
	return c.answer(body)
}

func getDetailed(c *call) error {
	body, err := c.projectBody()
	if err != nil {
		return err
	}
	return c.answer(c.writeDetailed(nil, body, c.args[0]))
}

func getProjectWindows(c *call) error {
	body, err := c.projectBody()
	if err != nil {
		return err
	}
	windows := windowsOf(body)
	if len(windows) == 0 {
		return c.answer([]byte(`{}`))
	}
	return c.answer(marshal(map[string]any{"windows": windows}))
}

func windowsOf(project []byte) []map[string]any {
	var p struct {
		Spec struct{ SyncWindows []map[string]any }
	}
	if json.Unmarshal(project, &p) != nil {
		return nil // a project somebody stored with something else there has none
	}
	return p.Spec.SyncWindows
}

func getProjectEvents(c *call) error {
	if _, err := c.projectBody(); err != nil {
		return err
	}
	return c.answer([]byte(`{"metadata":` + c.meta() + `,"items":[]}`))
}

func getGlobalProjects(c *call) error {
	if _, err := c.projectBody(); err != nil {
		return err
	}
	return c.answer([]byte(`{}`))
}

// setBody returns the bytes and the project of an application set.
func (c *call) setBody() ([]byte, error) {
	name, space := c.args[0], c.query.Get("appsetNamespace")
	if space == "" {
		space = "argocd"
	}
	body, project, ok := c.setNamed(space, name)
	if !ok {
		return nil, refuse(notFound, "error getting ApplicationSet: applicationset.argoproj.io %q not found", name)
	}
	if !c.canRead(project) {
		return nil, c.permissionDenied("applicationsets", "get", project+"/"+name)
	}
	return body, nil
}

func (s *Simulator) setNamed(space, name string) (body []byte, project string, ok bool) {
	if e := s.stored[applicationsets].get(space + "/" + name); e != nil {
		return e.body, e.project, e.body != nil
	}
	i, ok := s.sets.find(name)
	if !ok || space != "argocd" {
		return nil, "", false
	}
	p := s.set(i)
	return s.writeSet(nil, &p), p.project, true
}

func getSet(c *call) error {
	body, err := c.setBody()
	if err != nil {
		return err
	}
	return c.answer(body)
}

func getSetTree(c *call) error {
	body, err := c.setBody()
	if err != nil {
		return err
	}
	var set struct {
		Status struct {
			Resources []struct {
				Group, Version, Kind, Namespace, Name string
				Health                                map[string]any
			}
		}
	}
	if json.Unmarshal(body, &set) != nil || len(set.Status.Resources) == 0 {
		return c.answer([]byte(`{}`)) // one that was stored with another status has no tree
	}
	b := []byte(`{"nodes":[`)
	for i, r := range set.Status.Resources {
		if i > 0 {
			b = append(b, ',')
		}
		b = cat(b, `{"group":"`, quoted(r.Group), `","version":"`, quoted(r.Version), `","kind":"`, quoted(r.Kind), `","namespace":"`, quoted(r.Namespace), `","name":"`, quoted(r.Name), `"`)
		if r.Health != nil {
			b = append(append(b, `,"health":`...), marshal(r.Health)...)
		}
		b = append(b, '}')
	}
	return c.answer(append(b, `]}`...))
}

func getSetEvents(c *call) error {
	if _, err := c.setBody(); err != nil {
		return err
	}
	return c.answer([]byte(`{"metadata":` + c.meta() + `,"items":[]}`))
}
