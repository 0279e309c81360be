package result

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// The methods whose results are bounded. Frames of all others pass unchanged.
const (
	CallTool     = "tools/call"
	ReadResource = "resources/read"
	// GetTask answers with a task in which the result of a tool's call may stand, and TaskStatus tells of one.
	GetTask    = "tasks/get"
	TaskStatus = "notifications/tasks"
)

// Defaults of Options.
const (
	// DefaultMaxText is the text that the most modest clients take of one result without cutting it
	// themselves (VS Code 8 KiB, Codex about 10 KB).
	DefaultMaxText = 10 * 1000
	// DefaultMaxItems is the longest list that is not paged: lists cost a model more than
	// their bytes.
	DefaultMaxItems = 100
	// DefaultMaxMedia is the media of one result, as base64. Larger ones are refused by the
	// models' providers anyway (5 to 10 MB an image).
	DefaultMaxMedia = 8 * limit.MiB
	// DefaultPageItems is the number of items on a page.
	DefaultPageItems = 20
	// DefaultMaxFrame is the largest message that is taken.
	DefaultMaxFrame = 4 * limit.GiB
)

// Bounds of what is held of one response.
const (
	// MaxNotice is the length of a notice in bytes.
	MaxNotice = 600
	// ChunkBytes is the size of one read.
	ChunkBytes = 32 << 10
	// HoldBytes bounds the raw bytes in memory before a file takes them.
	HoldBytes = 64 << 10
	// MaxKept bounds the bytes of all small members that a composed message keeps, and
	// MaxMember those of one.
	MaxKept   = 32 << 10
	MaxMember = 4 << 10
	// MaxMeta bounds the bytes of a result that describe it to the client and are read by no model: its _meta, annotations, and members
	// of no known name. More of it counts as text.
	MaxMeta = 64 << 10
	// MaxTask bounds the bytes of a task beside its result that pass: its requests for the client's input stand there.
	MaxTask = 16 << 20
	// MaxDepth bounds the nesting of values; the same as in encoding/json.
	MaxDepth = 10_000
)

// Names are the names of the tools that read kept results.
type Names struct {
	Page, Search, Query string
}

// DefaultNames are the names when no other tool has them.
var DefaultNames = Names{Page: "result_page", Search: "result_search", Query: "result_query"}

// Options configure the bounding of one response.
type Options struct {
	// Method is of the request that is answered.
	Method string
	// ID is of that request; where it is "" the one in the response is taken. Needed for
	// Early and for answers to responses that broke off before their id.
	ID jsonrpc.ID
	// MaxText bounds the text, in bytes; 0 means DefaultMaxText, below 0 no bound. Where
	// it is less than Source.PageBytes or 1 KiB, a page may have as much as those: 1 pages
	// everything.
	MaxText limit.Bytes
	// MaxItems is the longest array that is not paged; 0 turns that off.
	MaxItems int
	// MaxMedia bounds the media, in bytes as they are sent; 0 means DefaultMaxMedia.
	MaxMedia limit.Bytes
	// MaxFrame bounds the message; 0 means DefaultMaxFrame.
	MaxFrame limit.Bytes
	// PageItems is the number of items on page 1; 0 means DefaultPageItems, or what the
	// document's shape has.
	PageItems int
	// Spool keeps what is not delivered, as Source says; the size of its pages is set here.
	// Without a spool a result that is too large is an error.
	Spool  *spool.Spool
	Source spool.Source
	// Names of the added tools; the zero value means DefaultNames.
	Names Names
	// Contract is the tool's contract for structuredContent as clients were told it: then a page carries
	// one that they take. nil leaves structuredContent out of pages.
	Contract *Contract
	// Modern is set when the client speaks MCP 2026-07-28, whose results name their type.
	Modern bool
	// Early is the time for a server to send before page 1 is delivered without its
	// end; 0 waits for the end.
	Early time.Duration
	// TempDir is the folder for files without a name; "" is the system's. It should be on
	// a disk: the system's is often memory.
	TempDir string
	// Progress is called, at most twice a second until something is delivered, with how far a
	// spilled result has come. nil is not called.
	Progress func(bytes, items int64, handle string)
	// Deliver takes the one message for the client: at most once, and always for a
	// response, unless ctx ended. The frame must not be used after it returns. A
	// notification or request of the server that broke off or is too large is not delivered.
	Deliver func(*transport.Frame)
}

// task reports whether the result stands in a task.
func (o *Options) task() bool { return o.Method == GetTask || o.Method == TaskStatus }

// Outcome describes the delivery of a response.
type Outcome struct {
	// ID is the response's, or Options.ID where it had none.
	ID jsonrpc.ID
	// Upstream and Delivered are the bytes of the message as the server sent it, and as
	// the client got it.
	Upstream, Delivered int64
	// Spilled is set when the result is in the spool, under Handle, with so many Items.
	Spilled bool
	Handle  string
	Items   int64
	// Failed is set when the client got an error: the tool's (isError), the protocol's, or
	// one made here because the answer did not arrive whole.
	Failed bool
	// Cut is the reason why the message was not read to its end, nil when it was: it broke off, was
	// larger than MaxFrame, could not be followed, or could not be kept.
	Cut error
}
