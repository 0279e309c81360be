package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// ftsScript answers questions from an index of SQLite FTS5; python3 brings SQLite, so that no binary of ours does.
//
//go:embed memoryfts.py
var ftsScript string

// fts5 returns SQLite's full-text search with its own ranking (bm25); all words of a question, or any of them. The tokenizer is "porter",
// "trigram", or SQLite's own (unicode61) for "".
func fts5(operator, tokenizer string) engine {
	return engine{strings.TrimSpace("SQLite FTS5, " + operator + " " + tokenizer), func(ctx context.Context, d *dialogue) (searcher, error) {
		cmd := exec.CommandContext(ctx, "python3", "-c", ftsScript, operator, tokenizer)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		s := &asked{cmd: cmd, in: in, out: bufio.NewReader(out), stderr: &stderr}
		records, turnOf := d.records()
		s.turnOf = turnOf
		texts := make([]string, len(records))
		for i, r := range records {
			texts[i] = r.Text
		}
		if err := json.NewEncoder(in).Encode(texts); err != nil {
			s.close()
			return nil, fmt.Errorf("%w: %s", err, stderr.Bytes())
		}
		return s, nil
	}}
}

// asked is a searcher that is another process: a line of JSON for each question and each answer.
type asked struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
	turnOf []int
}

func (s *asked) search(question string, n int) ([]int, error) {
	if err := json.NewEncoder(s.in).Encode(map[string]any{"q": question, "n": n}); err != nil {
		return nil, fmt.Errorf("%w: %s", err, s.stderr.Bytes())
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, s.stderr.Bytes())
	}
	var docs []int
	if err := json.Unmarshal(line, &docs); err != nil {
		return nil, err
	}
	var turns []int
	for _, doc := range docs {
		if doc < 0 || doc >= len(s.turnOf) {
			return nil, errors.New("a document that was not given")
		}
		if turn := s.turnOf[doc]; !slices.Contains(turns, turn) { // the best passage of each, as elsewhere
			turns = append(turns, turn)
		}
	}
	return turns, nil
}

func (s *asked) close() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

// hasFTS5 returns an error that says why the comparison with SQLite cannot be made here.
func hasFTS5(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "python3", "-c", `import sqlite3; sqlite3.connect(":memory:").execute("create virtual table t using fts5(x)")`).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// substring is the search of the official memory server (@modelcontextprotocol/server-memory 2026.8.31, searchNodes), made again here: an entity
// is found when the whole query stands in its name or in one of its observations, in lower case, and what is found comes in the order in which it was
// stored. Here each passage is the one observation of an entity.
var substring = engine{"server-memory's search", func(_ context.Context, d *dialogue) (searcher, error) {
	records, turnOf := d.records()
	s := &substrings{turnOf: turnOf}
	for _, r := range records {
		s.texts = append(s.texts, strings.ToLower(r.Text))
	}
	return s, nil
}}

type substrings struct {
	texts  []string
	turnOf []int
}

func (s *substrings) search(question string, n int) (turns []int, err error) {
	question = strings.ToLower(question)
	for i, text := range s.texts {
		if len(turns) < n && strings.Contains(text, question) {
			turns = append(turns, s.turnOf[i])
		}
	}
	return turns, nil
}

func (s *substrings) close() {}
