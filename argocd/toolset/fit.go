package toolset

// Bounds of the text of a default answer, in bytes: VS Code cuts results at 8 KiB,
// Codex at about 10 KB. Applications are listed most. A page of up to 20 rows is the
// answer that a conversation has most of, so its rows get short to stay below shortPage;
// who wants more of them asks for ten.
const (
	maxAnswer             = 10_000
	maxApplicationsAnswer = 8 << 10
	shortPage             = 5_000
	wholeRows             = 10
)

// roomOfPage returns the part of room for a page of so many rows, when so many were asked for.
func roomOfPage(room, rows, asked int) int {
	if rows > wholeRows && rows <= defaultPageSize && asked <= defaultPageSize {
		return min(room, shortPage)
	}
	return room
}

// droppableFields returns the fields that rows lose to make a page smaller, all rows of the page alike, in the order of removal. What is
// left at last are those of inventory.LeastFields: what an object is and how it is.
func droppableFields() []string {
	return []string{
		"ref", "hydrate_to", "template", "sync_windows", "roles", "namespaces", "version", "rev", "chart", "path", "generators", "sources", "repos", "repo",
		"destinations", "message", "description", "applications", "error", "dest", "project", "matched", "operation", "hydration", "deleting",
	}
}
