package result

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// The methods whose results are bounded. Frames of all others pass unchanged.
const (
	CallTool     = "tools/call"
	ReadResource = "resources/read"
	// GetTask answers with a task, TaskStatus is a notification with one; either may contain the result of a tool's call.
	GetTask    = "tasks/get"
	TaskStatus = "notifications/tasks"
)

// Defaults of Options.
const (
	// DefaultMaxText is about the size of text that even the clients with the smallest bounds take without
	// cutting it themselves (VS Code 8 KiB, Codex about 10 KB).
	DefaultMaxText = 10 * 1000
	// DefaultMaxItems is the length up to which a list is not paged for its length: lists cost a model more
	// than their bytes.
	DefaultMaxItems = 100
	// DefaultMaxMedia bounds the media of one result, as base64. Larger ones are refused by the
	// models' providers anyway (5 to 10 MB an image).
	DefaultMaxMedia = 8 * limit.MiB
	// DefaultPageItems is the number of items on a page.
	DefaultPageItems = 20
	// DefaultMaxFrame bounds a message; a larger one is an error.
	DefaultMaxFrame = 4 * limit.GiB
)

// Bounds of what is held of one response.
const (
	// MaxNotice is the length of a notice in bytes.
	MaxNotice = 600
	// ChunkBytes is the size of the buffer for one read.
	ChunkBytes = 32 << 10
	// HoldBytes bounds the raw bytes that are kept in memory; further ones go to a file.
	HoldBytes = 64 << 10
	// MaxKept bounds the bytes of all small members that a composed message keeps, and
	// MaxMember those of one.
	MaxKept   = 32 << 10
	MaxMember = 4 << 10
	// MaxMeta bounds the bytes of a result that describe it to the client and are read by no model: its _meta, annotations, and members
	// of no known name. More of it counts as text.
	MaxMeta = 64 << 10
	// MaxTask bounds the bytes of a task beside its result, such as its requests for the client's input.
	MaxTask = 16 << 20
	// MaxDepth bounds the nesting of values; the same as in encoding/json.
	MaxDepth = 10_000
)

// Names are the names of the tools that read kept results.
type Names struct {
	Page, Search, Query string
}

// DefaultNames are the names unless another tool already has one of them.
var DefaultNames = Names{Page: "result_page", Search: "result_search", Query: "result_query"}

// Options configure the bounding of one response.
type Options struct {
	// Method is the method of the request that is answered, or of the notification.
	Method string
	// ID is the id of that request; with "" the id in the response is used. It is needed for Early and for answering a response that broke
	// off before its id.
	ID jsonrpc.ID
	// MaxText bounds the text, in bytes; 0 means DefaultMaxText, below 0 no bound. If it is less than Source.PageBytes or 1 KiB, a page may
	// still have as much as those: 1 pages everything.
	MaxText limit.Bytes
	// MaxItems is the length up to which arrays are not paged for their length; 0 turns that off.
	MaxItems int
	// MaxMedia bounds the media, in bytes as they are sent; 0 means DefaultMaxMedia.
	MaxMedia limit.Bytes
	// MaxFrame bounds the message; 0 means DefaultMaxFrame.
	MaxFrame limit.Bytes
	// PageItems is the number of items on page 1; 0 means that of Source or, if that is 0 too, of the document's shape.
	PageItems int
	// Spool keeps the document of a result that is paged, under Source; the size of its pages is set here. Without a spool only the
	// beginning of a result that is too large is delivered.
	Spool  *spool.Spool
	Source spool.Source
	// Names of the added tools; the zero value means DefaultNames.
	Names Names
	// Contract is the tool's contract for structuredContent as clients were given it: a page then has structuredContent that they accept.
	// nil leaves structuredContent out of pages.
	Contract *Contract
	// Modern is set when the client speaks MCP 2026-07-28, whose results have the member resultType.
	Modern bool
	// Early is the time after which page 1 of a large result is delivered while the server is still sending; 0 waits for the end.
	Early time.Duration
	// TempDir is the folder for temporary files; "" is the system's. It should be on a disk: the system's is often in memory.
	TempDir string
	// Progress is called, at most twice a second until something is delivered, with how much of a result is in the spool. It may be nil.
	Progress func(bytes, items int64, handle string)
	// Deliver is called with the message for the client: at most once, and always for a response unless ctx ended. The frame must not be
	// used after it returns. A notification or request of the server that broke off or is too large is not delivered.
	Deliver func(*transport.Frame)
}

// task reports whether the result is within a task.
func (o *Options) task() bool { return o.Method == GetTask || o.Method == TaskStatus }

// Outcome describes the delivery of a response.
type Outcome struct {
	// ID is the id in the response, or Options.ID if it had none.
	ID jsonrpc.ID
	// Upstream and Delivered are the sizes of the message in bytes, as the server sent it and as the client got it.
	Upstream, Delivered int64
	// Spilled is set when the result is in the spool, under Handle, with Items items.
	Spilled bool
	Handle  string
	Items   int64
	// Failed is set when the client got an error: the tool's (isError), the protocol's, or one made here because the answer did not arrive
	// whole or could not be kept.
	Failed bool
	// Cut is the reason why the message was not read and kept to its end: it broke off, was larger than MaxFrame, was malformed, or the
	// spool failed. It is nil otherwise.
	Cut error
}
