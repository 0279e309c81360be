// Package memtools offers agents the memory: four tools with the signatures that models know.
//
//	search_memory {query, limit, offset, filter}   LangMem's: what was said, noted and learned, ranked, in pages
//	get_memory    {id, around}                     one record whole, with the turns around it
//	manage_memory {content, action, id}            LangMem's: create, update or delete a memory of the agent's own
//	memory        {command, path, …}               Anthropic's memory tool over Markdown files (package notes)
//
// It knows nothing of MCP: [Toolset.Tools] describes the tools, and who serves them calls the methods. What a tool writes has the origin
// "agent", so it is never put into a prompt by itself; update and delete reach only notes of an agent in the same namespace. A record is one
// line with its words as a JSON string, so that no text of a record passes for a line of the answer. Any goroutine may call the methods.
package memtools
