package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// maxFiles bounds what one call looks at.
const maxFiles = 10_000

// functions returns tools that read below folder and nowhere else. A result may be of any size:
// what is over the cap of the toolbox goes to disk, and the model gets a page of it.
func functions(folder *os.Root) []builtin.Tool {
	reads := builtin.Hints{ReadOnly: true, Idempotent: true}
	type file struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
	}
	list := func(match func(name string) bool) (*builtin.Result, error) {
		files := []file{}
		seen := 0
		err := fs.WalkDir(folder.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // what cannot be read is not shown
			}
			if seen++; seen > maxFiles {
				return fmt.Errorf("there are more than %d files; ask for one folder of them", maxFiles)
			}
			if info, err := d.Info(); err == nil && match(name) {
				files = append(files, file{name, info.Size()})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return builtin.JSON(map[string]any{"total_items": len(files), "items": files})
	}

	type none struct{}
	type search struct {
		Query string `json:"query" jsonschema:"A part of the name, in any case"`
	}
	type read struct {
		Name string `json:"name" jsonschema:"The file's name as list_files gives it"`
	}
	return []builtin.Tool{
		builtin.Typed(builtin.Tool{Name: "list_files", Description: "Lists all files, with their sizes.", Hints: reads},
			func(context.Context, *builtin.Call, none) (*builtin.Result, error) {
				return list(func(string) bool { return true })
			}),
		builtin.Typed(builtin.Tool{Name: "search_files", Description: "Searches files by a part of their names.", Hints: reads},
			func(_ context.Context, _ *builtin.Call, in search) (*builtin.Result, error) {
				query := strings.ToLower(in.Query)
				return list(func(name string) bool { return strings.Contains(strings.ToLower(name), query) })
			}),
		builtin.Typed(builtin.Tool{Name: "read_file", Description: "Reads one file, as text.", Hints: reads},
			func(_ context.Context, _ *builtin.Call, in read) (*builtin.Result, error) {
				info, err := folder.Stat(in.Name)
				if err != nil {
					return nil, err // the model reads it and tries another name
				}
				if !info.Mode().IsRegular() {
					return nil, fmt.Errorf("%s is not a regular file", in.Name)
				}
				f, err := folder.Open(in.Name)
				if err != nil {
					return nil, err
				}
				return &builtin.Result{Stream: func(_ context.Context, w io.Writer) error {
					defer f.Close()
					_, err := io.Copy(w, f)
					return err
				}}, nil
			}),
	}
}
