package tasklog_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
)

// A client comes late, reads what is kept, and is told of what is not.
func Example() {
	logs := tasklog.New(tasklog.Options{Name: "argocd", MaxEvents: 2})
	log, err := logs.Open("task-1", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	log.Append([]byte("looking"), false)
	log.Append([]byte("found 819"), false)
	log.Append([]byte("done"), true)

	r, err := log.Read(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for {
		record, gap, err := r.Next(context.Background())
		switch {
		case errors.Is(err, io.EOF):
			fmt.Println("the end")
			return
		case err != nil:
			fmt.Println(err)
			return
		case gap.Count() > 0:
			fmt.Printf("%d to %d are gone\n", gap.From, gap.To)
		default:
			fmt.Printf("%d %s\n", record.Seq, record.Payload)
		}
	}
	// Output:
	// 1 to 1 are gone
	// 2 found 819
	// 3 done
	// the end
}
