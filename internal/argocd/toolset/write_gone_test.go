package toolset_test

import (
	"net/http"
	"strings"
	"testing"
)

// What was deleted between reading it and deleting it is gone, which is what was asked for.
func TestDeletingWhatIsGoneIsNoFailure(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ tool, arguments, object string }{
		{"delete_application", `{"name":"guestbook","confirm":"guestbook","cascade":true}`, "applications/guestbook"},
		{"project_delete", `{"name":"shop","confirm":"shop"}`, "projects/shop"},
		{"applicationset_service__delete", `{"name":"fleet","confirm":"fleet"}`, "applicationsets/fleet"},
	} {
		for _, status := range []int{http.StatusNotFound, http.StatusForbidden} {
			if status == http.StatusForbidden && test.tool != "delete_application" {
				continue // only of an application is that said
			}
			objects := writableObjects()
			if objects[test.object] == "" {
				t.Fatalf("there is no %s", test.object)
			}
			s := newWritable(t, objects)
			s.refuse, s.gone = status, true
			done, text, err := write(t, writer(t, s), test.tool, test.arguments)
			if err != nil || *done.Changed || !strings.Contains(text, "is gone now") {
				t.Errorf("%s, %d: %v: %s", test.tool, status, err, text)
			}
		}
	}
	// One that is still there was refused.
	s := newWritable(t, writableObjects())
	s.refuse = http.StatusForbidden
	if _, text, err := write(t, writer(t, s), "delete_application", `{"name":"guestbook","confirm":"guestbook"}`); err == nil {
		t.Errorf("a deletion that is forbidden: %s", text)
	}
}

// Without cascade the server takes the finalizer away, in the middle of the deletion of what it deployed.
func TestACascadingDeletionIsNotStoppedHalfWay(t *testing.T) {
	t.Parallel()
	objects := writableObjects()
	objects["applications/guestbook"] = strings.Replace(objects["applications/guestbook"], `"namespace":"argocd"`, `"namespace":"argocd","deletionTimestamp":"2026-11-01T10:00:00Z"`, 1)
	if !strings.Contains(objects["applications/guestbook"], "deletionTimestamp") {
		t.Fatal("it is not being deleted")
	}
	s := newWritable(t, objects)
	for _, confirm := range []string{``, `,"confirm":"guestbook"`} {
		_, text, err := write(t, writer(t, s), "delete_application", `{"name":"guestbook"`+confirm+`}`)
		if err == nil || !strings.Contains(err.Error(), "cascade=true") || s.writes() != nil {
			t.Errorf("%s: %v: %s", confirm, err, text)
		}
	}
	if _, text, err := write(t, writer(t, s), "delete_application", `{"name":"guestbook","cascade":true,"confirm":"guestbook"}`); err != nil || len(s.writes()) != 1 {
		t.Errorf("with cascade: %v: %s", err, text)
	}
}

// Creating what is there already, as it is, does not say that it was created.
func TestCreatingWhatIsThereSaysSo(t *testing.T) {
	t.Parallel()
	s := newWritable(t, map[string]string{"projects/shop": `{"metadata":{"name":"shop"},"spec":{"description":"the shop"}}`})
	done, text, err := write(t, writer(t, s), "project_create", `{"name":"shop","description":"the shop","confirm":"shop"}`)
	if err != nil || *done.Changed || strings.Contains(text, `"done":"create`) || !strings.Contains(text, "was there already") {
		t.Errorf("%v: %s", err, text)
	}
}
