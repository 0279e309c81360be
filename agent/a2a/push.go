package a2a

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/a2a03"
	"github.com/plimsoll/plimsoll/limit"
)

// pushConfig is one push notification configuration of a task (A2A 1.0, section on push).
type pushConfig struct {
	Config sdk.PushConfig `json:"config"`
	// Old reports whether the client speaks A2A 0.3 and gets notifications in that form.
	Old bool `json:"old,omitempty"`
}

// newPush checks a configuration of a client, and returns it with an id if it had none.
func (s *Server) newPush(ctx context.Context, c *sdk.PushConfig) (pushConfig, error) {
	bad := func(what string, err error) error {
		s.counts.pushRefused.Add(1)
		return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf("push notifications: %s: %v", what, err))
	}
	if err := s.pushGuard.check(ctx, c.URL); err != nil {
		return pushConfig{}, bad("url", err)
	}
	if err := checkSecret("the token", c.Token); err != nil {
		return pushConfig{}, bad("token", err)
	}
	if a := c.Auth; a != nil {
		if err := checkSecret("the scheme", a.Scheme); err != nil {
			return pushConfig{}, bad("authentication", err)
		}
		if err := checkSecret("the credential", a.Credentials); err != nil {
			return pushConfig{}, bad("authentication", err)
		}
	}
	if err := checkSecret("the id", c.ID); err != nil || len(c.ID) > maxID {
		return pushConfig{}, bad("id", fmt.Errorf("up to %d bytes of text are taken", maxID))
	}
	kept := *c
	kept.Tenant = ""
	if kept.ID == "" {
		kept.ID = rand.Text()
	}
	return pushConfig{Config: kept, Old: streamOf(ctx).old}, nil
}

// pushOf returns the push configuration that comes with a message, checked; nil if there is none.
func (s *Server) pushOf(ctx context.Context, c *sdk.SendMessageConfig) ([]pushConfig, error) {
	if c == nil || c.PushConfig == nil {
		return nil, nil
	}
	made, err := s.newPush(ctx, c.PushConfig)
	if err != nil {
		return nil, err
	}
	return []pushConfig{made}, nil
}

// addPush adds a configuration to the task, or replaces the one with the same id. The caller stores the task. Too many configurations are
// an error.
func (t *task) addPush(c pushConfig) error {
	c.Config.TaskID = t.id
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.IndexFunc(t.push, func(o pushConfig) bool { return o.Config.ID == c.Config.ID })
	next := slices.Clone(t.push) // whoever notifies may be reading the old list
	switch {
	case at >= 0:
		next[at] = c
	case len(next) >= t.s.o.Limits.MaxPush:
		return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf(
			"push notifications: task %s has %d configurations, as many as it may: delete one", t.id, len(next)))
	default:
		next = append(next, c)
	}
	t.push = next
	return nil
}

// pushes returns the configurations of the task. The list must not be changed.
func (t *task) pushes() []pushConfig {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.push
}

// storeBetweenEvents stores the task while no event is being published.
func (t *task) storeBetweenEvents() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.storeSnapshot(t.snapshot())
}

// CreateTaskPushConfig adds a configuration to a task.
func (h handler) CreateTaskPushConfig(ctx context.Context, c *sdk.PushConfig) (*sdk.PushConfig, error) {
	made, err := h.s.newPush(ctx, c)
	if err != nil {
		return nil, err
	}
	t, err := h.s.acquire(ctx, c.TaskID)
	if err != nil {
		return nil, err
	}
	defer h.s.release(t)
	if err := t.addPush(made); err != nil {
		return nil, err
	}
	t.storeBetweenEvents()
	made.Config.TaskID = t.id
	return &made.Config, nil
}

// GetTaskPushConfig returns a configuration of a task.
func (h handler) GetTaskPushConfig(ctx context.Context, req *sdk.GetTaskPushConfigRequest) (*sdk.PushConfig, error) {
	t, err := h.s.acquire(ctx, req.TaskID)
	if err != nil {
		return nil, err
	}
	defer h.s.release(t)
	all := t.pushes()
	for i := range all {
		// Clients of 0.3 may leave the id out where there is one configuration.
		if all[i].Config.ID == req.ID || req.ID == "" && streamOf(ctx).old && len(all) == 1 {
			found := all[i].Config
			return &found, nil
		}
	}
	return nil, sdk.NewError(sdk.ErrTaskNotFound, fmt.Sprintf(
		"push notifications: task %s has no configuration %q", t.id, limit.Clip(req.ID, 64)))
}

// ListTaskPushConfigs lists all configurations of a task: they fit one page.
func (h handler) ListTaskPushConfigs(ctx context.Context, req *sdk.ListTaskPushConfigRequest) (*sdk.ListTaskPushConfigResponse, error) {
	t, err := h.s.acquire(ctx, req.TaskID)
	if err != nil {
		return nil, err
	}
	defer h.s.release(t)
	out := &sdk.ListTaskPushConfigResponse{Configs: []*sdk.PushConfig{}}
	for _, c := range t.pushes() {
		out.Configs = append(out.Configs, &c.Config)
	}
	return out, nil
}

// DeleteTaskPushConfig removes a configuration and its waiting notifications. Removing one that does not exist is not an error.
func (h handler) DeleteTaskPushConfig(ctx context.Context, req *sdk.DeleteTaskPushConfigRequest) error {
	t, err := h.s.acquire(ctx, req.TaskID)
	if err != nil {
		return err
	}
	defer h.s.release(t)
	t.mu.Lock()
	next := slices.DeleteFunc(slices.Clone(t.push), func(o pushConfig) bool { return o.Config.ID == req.ID })
	changed := len(next) != len(t.push)
	t.push = next
	t.mu.Unlock()
	if changed {
		t.storeBetweenEvents()
	}
	h.s.pusher.forget(deliveryKey{task: t.id, config: req.ID})
	return nil
}

// notify sends a status update to the task's push configurations: the whole task if it ends or waits for the client, otherwise the event.
// Other events are not sent. The caller holds writing.
func (t *task) notify(event sdk.Event) {
	configs := t.pushes()
	if len(configs) == 0 {
		return
	}
	update, ok := event.(*sdk.TaskStatusUpdateEvent)
	if !ok {
		return
	}
	state := update.Status.State
	last := state.Terminal()
	var whole *sdk.Task
	if last || interrupted(state) {
		whole = t.snapshot()
		whole.History = nil
	}
	payload := func(old bool) ([]byte, error) {
		switch {
		case old && whole != nil:
			return json.Marshal(a2a03.Task(whole))
		case old: // what 0.3 sends is always a task
			return json.Marshal(a2a03.Task(update))
		case whole != nil:
			return json.Marshal(sdk.StreamResponse{Event: whole})
		default:
			return json.Marshal(sdk.StreamResponse{Event: update})
		}
	}
	made := map[bool][]byte{}
	for _, c := range configs {
		if made[c.Old] == nil {
			body, err := payload(c.Old)
			if err != nil {
				t.s.log.Error("a2a: a notification is no JSON", "agent", t.s.o.Name, "task", t.id, "error", err)
				return
			}
			made[c.Old] = body
		}
		t.s.pusher.send(deliveryKey{task: t.id, config: c.Config.ID}, notification{config: c.Config, body: made[c.Old], last: last})
	}
}
