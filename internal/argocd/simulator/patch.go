package simulator

// mergePatch applies RFC 7396.
func mergePatch(m, patch obj) {
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(m, key)
		case obj:
			mergePatch(ensureObject(m, key), v)
		default:
			m[key] = v
		}
	}
}

func patchApplication(c *call) error {
	var q struct{ Patch, PatchType, AppNamespace, Project string }
	if err := c.read(&q); err != nil {
		return err
	}
	t, done, err := c.forWriting(q.AppNamespace, q.Project, "update")
	if err != nil {
		return err
	}
	defer done()
	if q.PatchType != "merge" {
		return refuse(invalidArgument, "Patch type '%s' is not supported", q.PatchType)
	}
	patch, err := parse([]byte(q.Patch))
	if err != nil {
		return refuse(unknown, "error calculating merge patch: Invalid JSON Patch")
	}
	mergePatch(t.m, patch)
	ensureObject(t.m, "metadata")["name"], ensureObject(t.m, "metadata")["namespace"] = t.name, t.namespace
	if err := c.valid(t.m); err != nil {
		return err
	}
	return c.saved(t)
}
