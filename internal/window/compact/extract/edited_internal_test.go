package extract

import (
	"slices"
	"testing"
)

func TestEditedPathsComeFromArguments(t *testing.T) {
	for _, c := range []struct {
		tool, arguments string
		want            []string
	}{
		{"Edit", `{"file_path":"/repo/a b.go","old_string":"x/y.go","new_string":"see https://a.b/c"}`, []string{"/repo/a b.go"}},
		{"Write", `{"file_path":"Makefile","content":"all:\n\tgo build ./cmd/x.go\n"}`, []string{"Makefile"}},
		{"MultiEdit", `{"file_path":"a/b.ts","edits":[{"old_string":"a","new_string":"b"}]}`, []string{"a/b.ts"}},
		{"NotebookEdit", `{"notebook_path":"/n/x.ipynb","new_source":"1"}`, []string{"/n/x.ipynb"}},
		{"Read", `{"file_path":"/repo/a.go","offset":3}`, nil},
		{"Grep", `{"pattern":"a\nb","path":"internal/x.go"}`, nil},
		{"str_replace_based_edit_tool", `{"command":"view","path":"/w/a.py"}`, nil},
		{"str_replace_based_edit_tool", `{"command":"create","path":"/w/a.py","file_text":"x"}`, []string{"/w/a.py"}},
		{"editor", `{"command":"str_replace","path":"/w/a.py","old_str":"x","new_str":""}`, []string{"/w/a.py"}},
		{"replace", `{"file_path":"C:\\src\\a.cs","instruction":"change it","old_string":"a","new_string":"b"}`, []string{`C:\src\a.cs`}},
		{"datei_schreiben", `{"ziel":"src/übung.go","inhalt":"package x\n"}`, []string{"src/übung.go"}},
		{"apply_changes", `{"changes":{"lib/a.rb":[{"line":1}],"lib/b.rb":[{"line":2}]}}`, []string{"lib/a.rb", "lib/b.rb"}},
		{"batch_write", `{"files":[{"path":"one.txt","content":"1"},{"path":"two.txt","content":"2"}]}`, []string{"one.txt", "two.txt"}},
		{"write_files", `{"files":"[{\"path\":\"one.txt\",\"content\":\"1\"}]"}`, []string{"one.txt"}},
		{"move_file", `{"source":"a/one.go","destination":"b/two.go"}`, []string{"a/one.go", "b/two.go"}},
		{"apply_patch", "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: src/b.rs\n+z\n*** End Patch", []string{"src/a.rs", "src/b.rs"}},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Delete File: old.py\n*** End Patch"}`, []string{"old.py"}},
		{"", `{"type":"apply_patch_call","operation":{"type":"update_file","path":"lib/x.py","diff":"@@\n-a\n+b"}}`, []string{"lib/x.py"}},
		{"git_apply", `{"diff":"diff --git a/x/y.go b/x/y.go\n--- a/x/y.go\n+++ b/x/y.go\n@@ -1 +1 @@\n-a\n+++ b\n"}`, []string{"x/y.go"}},
		{"shell", `{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: web/app.tsx\n*** End Patch\nEOF"]}`, []string{"web/app.tsx"}},
		{"bash", `{"command":"cat > conf/app.yaml <<'EOF'\na: b > c/d.txt\nEOF\necho done >> logs/run.log 2>&1"}`, []string{"conf/app.yaml", "logs/run.log"}},
		{"bash", `{"command":"cd x && sed -i 's/a/b/' internal/a.go internal/b.go && git mv old.go new.go"}`, []string{"internal/a.go", "internal/b.go", "old.go", "new.go"}},
		{"bash", `{"command":"go test ./... > /dev/null 2> err.txt | tee out/test.log"}`, []string{"out/test.log"}},
		{"bash", `{"command":"cat internal/a.go | grep -n x/y.go; ls -la cmd/main.go"}`, nil},
		{"bash", `{"command":"python3 - <<'EOF'\np = open('tools/gen.py', 'w')\nq = open('tools/in.py')\nEOF"}`, []string{"tools/gen.py"}},
		{"Bash", `{"command":["bash","-lc","perl -pi -e 's/x/y/' lib/Foo.pm"]}`, []string{"lib/Foo.pm"}},
		{"pwsh", `{"command":"(Get-Content x) -replace 'a','b' | Set-Content -Path conf/app.json"}`, []string{"conf/app.json"}},
		{"Bash", `{"command":"yq -i '.a=1' deploy/values.yaml && jq . pkg.json > pkg.new.json"}`, []string{"deploy/values.yaml", "pkg.new.json"}},
		{"escribir_archivo", `{"ruta":"src/índice.ts","contenido":"x"}`, []string{"src/índice.ts"}},
		{"save_file", `{"filename":"notes.md","code":"x","overwrite":true}`, []string{"notes.md"}},
		{"TodoWrite", `{"todos":[{"content":"edit a/b.go","status":"pending"}]}`, nil},
		{"fetch", `{"url":"https://example.com/a/b.html","prompt":"x"}`, nil},
	} {
		v := parseArguments(c.arguments)
		if got := editedPaths(c.tool, &v); !slices.Equal(got, c.want) {
			t.Errorf("%s %s:\n got %q\nwant %q", c.tool, c.arguments, got, c.want)
		}
	}
}
