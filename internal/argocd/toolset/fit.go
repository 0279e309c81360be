package toolset

// Bounds of the text of a default answer, in bytes: VS Code cuts results at 8 KiB, Codex at about 10 KB. Applications are
// listed most often. A page of 11 to 20 rows is the most frequent answer, so its rows are shortened to stay below
// shortPage; a caller who wants more of each row asks for ten.
const (
	maxAnswer             = 10_000
	maxApplicationsAnswer = 8 << 10
	shortPage             = 5_000
	wholeRows             = 10
)

// roomOfPage returns the room for a page of rows rows, in bytes, when asked were asked for: at most shortPage for 11 to 20 rows of a
// default page size.
func roomOfPage(room, rows, asked int) int {
	if rows > wholeRows && rows <= defaultPageSize && asked <= defaultPageSize {
		return min(room, shortPage)
	}
	return room
}

// droppableFields returns the fields that rows lose to make a page smaller, all rows of the page alike, in the order of removal. At the end
// only those of inventory.LeastFields are left, which identify an object and its state.
func droppableFields() []string {
	return []string{
		"ref", "hydrate_to", "template", "sync_windows", "roles", "namespaces", "version", "rev", "chart", "path", "generators", "sources", "repos", "repo",
		"destinations", "message", "description", "applications", "error", "dest", "project", "matched", "operation", "hydration", "deleting",
	}
}
