// Package memtools offers agents the memory: four tools with the signatures that models know.
//
//	set, err := memtools.New(memtools.Options{Store: store, Notes: dir, Namespace: "project/3f2a", Client: "mcp"})
//	answer, err := set.Search(ctx, memtools.SearchArguments{Query: "which database?"}, maxText)
//
//	search_memory {query, limit, offset, filter}   LangMem's: what was said, noted and learned, ranked, in pages
//	get_memory    {id, around}                     one record whole, with the turns around it
//	manage_memory {content, action, id}            LangMem's: create, update or delete a memory of the agent's own
//	memory        {command, path, …}               Anthropic's memory tool over Markdown files (package notes)
//
// The package knows nothing of MCP: [Toolset.Tools] says what each tool is called and does, and who serves them gives the arguments to its
// methods. The text of an answer or an error is for the model to read.
//
// # What an agent may not do
//
// Whatever a tool writes has the origin "agent": it is found on request and never pinned or put into a prompt by itself. update and delete
// reach only notes that an agent wrote in the same namespace; records of the user, of tools and facts are for a person (plimsoll memory
// forget). A search sees the namespaces of Options.Search and the records of its own credential's scope and of none.
//
// # Answers
//
// A record is one line: its id, kind and origin, when it was said and where, and its words as a JSON string, so that no text of a record
// can pass for a line of the answer, let alone for an instruction. The first line says that what follows is data. Lines of long records are
// cut to make a page fit into what the client takes; get_memory has all of it.
//
// A note that is written with the memory tool is searched like any other: [NoteChanged] keeps a record of it up to date.
//
// All methods may be called by any goroutine.
package memtools
