package journal

// The events of the memory plane. No word that is remembered, and no name of a project, goes into an event.
type (
	// MemoryEvicted records that records were removed to stay within a bound: "bytes" or "records" of a namespace, "total" of all.
	MemoryEvicted struct {
		Records int    `json:"records"`
		Bytes   int64  `json:"bytes"`
		Why     string `json:"why"`
	}
	// MemoryConsolidated records that a namespace came near its bound, and what counted no longer has left the disk: old versions,
	// passages that were written twice, what had expired. Left is its size now.
	MemoryConsolidated struct {
		Records int   `json:"records"`
		Bytes   int64 `json:"bytes"`
		Left    int64 `json:"left"`
	}
	// MemoryForgotten records that a person or a tool had records forgotten. Elsewhere counts the things that went in other stores.
	MemoryForgotten struct {
		Records   int   `json:"records"`
		Elsewhere int   `json:"elsewhere"`
		Bytes     int64 `json:"bytes"`
	}
	// MemoryRefused records that passages came again that had been forgotten; they were not stored.
	MemoryRefused struct {
		Records int `json:"records"`
	}
	// MemoryDamaged records that lines of the memory's files are nothing that was written; they are passed over.
	MemoryDamaged struct {
		Lines int `json:"lines"`
	}
	// MemoryVectorsMade records that texts of the memory were sent to the service for embeddings, and their vectors kept. Bytes is the size
	// of the namespace's vectors.
	MemoryVectorsMade struct {
		Records int   `json:"records"`
		Bytes   int64 `json:"bytes"`
	}
	// MemoryVectorsFailed records that the service for embeddings, or the file of vectors, failed: searches go by words only until it works
	// again. It is written when that begins. For is "question", "records" or "file".
	MemoryVectorsFailed struct {
		For   string `json:"for"`
		Error string `json:"error"`
	}
	// MemoryVectorsFull records that the vectors of a namespace are at their bound: those of the oldest records went.
	MemoryVectorsFull struct {
		Gone  int   `json:"gone"`
		Kept  int   `json:"kept"`
		Bytes int64 `json:"bytes"`
	}
)

// Kind implements [Event].
func (MemoryEvicted) Kind() string      { return "memory.evicted" }
func (MemoryConsolidated) Kind() string { return "memory.consolidated" }
func (MemoryForgotten) Kind() string    { return "memory.forgotten" }
func (MemoryRefused) Kind() string      { return "memory.refused" }
func (MemoryDamaged) Kind() string      { return "memory.damaged" }

// Kind implements [Event].
func (MemoryVectorsMade) Kind() string   { return "memory.vectors_made" }
func (MemoryVectorsFailed) Kind() string { return "memory.vectors_failed" }
func (MemoryVectorsFull) Kind() string   { return "memory.vectors_full" }
