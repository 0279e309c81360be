package memory_test

import (
	"context"
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// Open a memory, add to it, search it and forget what was found.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "memory")
	defer os.RemoveAll(dir)

	store, err := memory.Open(memory.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	_, err = store.Add(ctx, memory.Record{Namespace: "user", Origin: memory.OriginUser, Text: "We ship on Fridays."})
	fmt.Println(err)
	found, err := store.Search(ctx, memory.Query{Text: "When do we ship?"})
	fmt.Println(found.Items[0].Text, found.Items[0].Origin, err)
	gone, err := store.Forget(ctx, memory.Filter{IDs: []string{found.Items[0].ID}})
	fmt.Println(len(gone.Records), err)
	// Output:
	// <nil>
	// We ship on Fridays. user <nil>
	// 1 <nil>
}
