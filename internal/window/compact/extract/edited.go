package extract

import (
	"slices"
	"strings"
)

// What the name of a tool says it does, by its words.
var (
	writingWords = []string{
		"edit", "multiedit", "write", "create", "replace", "insert", "patch", "update", "save", "apply", "delete", "remove", "move", "rename",
		"modify", "append", "prepend", "overwrite", "rewrite", "put", "refactor", "touch", "change", "fix", "add", "store", "upsert", "set", "format", "unlink", "copy",
		"substitute", "swap", "splice", "mutate", "generate", "scaffold", "codemod", "transform", "commit", "schreiben", "schreibe", "ändern", "bearbeiten", "ersetzen", "escribir", "editar", "crear", "reemplazar", "guardar",
		"ecrire", "écrire", "modifier", "creer", "créer", "remplacer", "escrever", "criar", "scrivi", "scrivere", "modifica", "schrijf", "bewerk", "zapisz", "edytuj",
	}
	readingWords = []string{
		"read", "view", "open", "cat", "get", "list", "ls", "search", "grep", "rg", "find", "glob", "fetch", "show", "stat", "tree", "outline", "query", "lookup", "peek", "head", "tail", "diff",
	}
)

// Keys of arguments, as [plainKey] has them.
var (
	pathKeys = []string{
		"path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths", "notebookpath", "targetfile", "absolutepath", "relativepath", "relpath", "abspath",
		"targetpath", "targetnotebook", "uri", "fileuri", "newpath", "oldpath", "newname", "newfile", "oldfile", "target", "destination", "dest", "source", "src", "to", "from", "document",
		"location", "outputpath", "outputfile", "sourcepath", "destinationpath", "movepath", "resource", "script",
		"datei", "pfad", "chemin", "fichier", "ruta", "archivo", "fichero", "arquivo", "caminho", "percorso", "bestand", "plik", "ziel", "destino", "cible", "where",
	}
	contentKeys = []string{
		"content", "contents", "filetext", "newstring", "newstr", "oldstring", "oldstr", "text", "diff", "patch", "edits", "replacement", "replace", "inserttext", "code", "body", "data",
		"newsource", "changes", "newcontent", "codeedit", "newtext", "oldtext", "insert", "replacements", "operations", "hunks", "newcode", "contenido", "contenu", "inhalt", "conteudo", "conteúdo", "contenuto", "inhoud", "texto", "texte", "testo", "treść", "substitution", "value", "after", "updated", "lines", "unifieddiff", "codeeditinstructions",
	}
	// placeKeys hold folders in which something is done, not what is changed.
	placeKeys = []string{"cwd", "workdir", "workingdirectory", "root", "directory", "dir", "folder", "projectpath", "repo", "repository", "pattern", "query", "regex", "glob", "include", "exclude", "url", "branch"}
	// shellKeys hold commands for a shell.
	shellKeys = []string{"command", "cmd", "script", "commands", "commandline", "shell", "bash", "input", "args", "argv", "run", "chars"}
	// actionKeys are the arguments that name in one word what a tool of many uses is asked to do.
	actionKeys = []string{"command", "action", "operation", "op", "mode", "kind", "method", "type"}
)

const (
	maxPath    = 300 // bytes of a path
	maxEdited  = 64  // paths of one call
	maxScanned = 1 << 20
)

// editedPaths returns the paths that a call changes, judged by the names of the tool and the arguments, and by patches and shell commands
// in the values.
func editedPaths(tool string, arguments *value) []string {
	e := edits{writes: hasWord(tool, writingWords), reads: hasWord(tool, readingWords)}
	e.addObject(arguments, e.writes)
	arguments.forPlainValues(func(text, key string) {
		if len(text) < 8 {
			return
		}
		e.addPatch(text[:min(len(text), maxScanned)])
		if key == "" || slices.Contains(shellKeys, plainKey(key)) {
			e.addShell(text[:min(len(text), maxScanned)])
		}
	})
	return e.paths
}

// hasWord reports whether the name of a tool has one of some words, or a longer word that begins or ends with one.
func hasWord(name string, words []string) bool {
	for _, w := range wordsOf(name) {
		if slices.Contains(words, w) || len(w) > 5 && slices.ContainsFunc(words, func(s string) bool {
			return len(s) >= 4 && (strings.HasPrefix(w, s) || strings.HasSuffix(w, s))
		}) {
			return true
		}
	}
	return false
}

// edits collects the paths that a call changes.
type edits struct {
	writes, reads bool
	paths         []string
}

// addPath adds a path, unless it is there already, is outside of a project (/tmp, /dev, a URL) or cannot be a path.
func (e *edits) addPath(path string) {
	path = strings.TrimSpace(path)
	path = strings.TrimPrefix(path, "file://")
	if path == "" || len(path) > maxPath || len(e.paths) >= maxEdited || strings.ContainsAny(path, "\n\r\t\x00*?{}<>|\"`") || slices.Contains(e.paths, path) {
		return
	}
	for _, outside := range []string{"/dev/", "/tmp/", "/proc/", "http://", "https://", "$", "-"} {
		if strings.HasPrefix(path, outside) {
			return
		}
	}
	e.paths = append(e.paths, path)
}

// addObject adds the paths that an object in the arguments changes. writes means that the object is part of an edit.
func (e *edits) addObject(v *value, writes bool) {
	content, listed := false, false
	for i := range v.members {
		m := &v.members[i]
		key := plainKey(m.key)
		if m.isPlain() && slices.Contains(actionKeys, key) && len(m.text) < 32 && !strings.Contains(m.text, " ") {
			// "view" of an editor; "create" of a tool with a general name.
			if hasWord(m.text, readingWords) && !hasWord(m.text, writingWords) {
				return
			}
			writes = writes || hasWord(m.text, writingWords)
		}
		switch {
		case slices.Contains(contentKeys, key):
			content = content || m.text != "" || len(m.members) > 0
		case m.isPlain() && !slices.Contains(shellKeys, key) && strings.Contains(m.text, "\n"):
			content = true
		}
		listed = listed || len(m.members) > 0 && !slices.Contains(placeKeys, key)
	}
	writes = writes || content && !e.reads
	for i := range v.members {
		m := &v.members[i]
		key := plainKey(m.key)
		switch {
		case m.key != "" && writes && (m.object || m.array) && looksLikePath(m.key):
			e.addPath(m.key) // {"changes": {"a/b.go": [...]}}
			e.addObject(m, writes)
		case m.isPlain():
			if !writes || slices.Contains(placeKeys, key) || slices.Contains(contentKeys, key) || slices.Contains(shellKeys, key) && key != "script" {
				continue
			}
			if slices.Contains(pathKeys, key) && couldBePath(m.text) || looksLikePath(m.text) {
				e.addPath(m.text)
			}
		case m.array && slices.Contains(pathKeys, key):
			for k := range m.members {
				switch el := &m.members[k]; {
				case el.isPlain() && writes && couldBePath(el.text):
					e.addPath(el.text)
				case !el.isPlain():
					e.addObject(el, writes)
				}
			}
		case listed:
			e.addObject(m, writes)
		}
	}
}

// couldBePath reports whether a text may be a path, if it is the value of a key for paths.
func couldBePath(text string) bool {
	return len(text) >= 2 && len(text) <= maxPath && !strings.ContainsAny(text, "\n\t;") && strings.Count(text, " ") < 4
}

// looksLikePath reports whether a text is a path whatever its key: one word with a slash, a backslash or an extension.
func looksLikePath(text string) bool {
	if len(text) < 3 || len(text) > maxPath || strings.ContainsAny(text, " \n\t\"'`<>|;,=(){}*$") || strings.Contains(text, "://") {
		return false
	}
	letters := strings.ContainsFunc(text, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 })
	if !letters {
		return false
	}
	if i := strings.IndexByte(text, '/'); i >= 0 {
		return i < len(text)-1
	}
	return strings.IndexByte(text, '\\') > 0 || hasExtension(text)
}

// hasExtension reports whether a name has a file's extension at its end: "main.go", ".env".
func hasExtension(name string) bool {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || len(name)-i < 2 || len(name)-i > 12 {
		return false
	}
	for _, c := range []byte(name[i+1:]) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	c := name[i+1]
	return c < '0' || c > '9'
}

// patchMarks begin the lines of patches that name a file.
var patchMarks = []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ", "+++ ", "rename to ", "rename from ", "diff --git ", "deleted file: ", "Index: "}

// addPatch adds the files that a patch in any of the usual forms changes.
func (e *edits) addPatch(text string) {
	begun := strings.Contains(text, "*** Begin Patch") || strings.Contains(text, "*** Update File: ") || strings.Contains(text, "*** Add File: ")
	if !begun && !strings.Contains(text, "+++ ") && !strings.Contains(text, "diff --git ") {
		return
	}
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for _, mark := range patchMarks {
			rest, ok := strings.CutPrefix(line, mark)
			if !ok {
				continue
			}
			rest, _, _ = strings.Cut(rest, "\t")
			switch mark {
			case "+++ ":
				old, ok := strings.CutPrefix(before, "--- ")
				if !ok {
					break // a line that was added
				}
				if rest == "/dev/null" {
					rest, _, _ = strings.Cut(old, "\t")
				}
				e.addPath(trimSide(rest))
			case "diff --git ":
				if _, to, ok := strings.Cut(rest, " "); ok {
					e.addPath(trimSide(to))
				}
			default:
				e.addPath(rest)
			}
			break
		}
		before = line
	}
}

// trimSide returns a path without git's "a/" or "b/" in front.
func trimSide(path string) string {
	if strings.HasPrefix(path, "a/") || strings.HasPrefix(path, "b/") {
		return path[2:]
	}
	return path
}

// namedPaths returns the paths in the arguments of a call that stand under keys for paths.
func namedPaths(v *value) (paths []string) {
	var e edits
	v.forPlainValues(func(text, key string) {
		if slices.Contains(pathKeys, plainKey(key)) && looksLikePath(text) {
			e.addPath(text)
		}
	})
	return e.paths
}

// changedWords are words in the result of a tool that has changed something.
var changedWords = []string{
	"written", "wrote", "updated", "created", "saved", "modified", "applied", "replaced", "edited", "changed", "deleted", "removed", "renamed", "moved", "patched", "inserted", "appended", "overwritten",
	"geschrieben", "geändert", "gespeichert", "erstellt", "gelöscht", "ersetzt", "escrito", "guardado", "actualizado", "creado", "modificado", "enregistré", "modifié", "écrit", "créé", "mis à jour", "salvo", "atualizado", "criado",
	"scritto", "salvato", "modificato", "opgeslagen", "gewijzigd", "zapisano", "zmieniono", "записан", "сохран", "измен", "создан", "обновл", "已写入", "已更新", "已保存", "已修改", "已创建", "保存しました", "更新しました", "書き込み",
}

// confirmsChange reports whether a result of less than 300 bytes says that something was changed.
func confirmsChange(result string) bool {
	return len(result) < 300 && containsAny(strings.ToLower(result), changedWords)
}

// editedInText returns the files that an agent without tools changes by its text: patches, search-and-replace blocks, and calls written as
// tags.
func editedInText(text string) []string {
	var e edits
	e.addPatch(text[:min(len(text), maxScanned)])
	if !strings.Contains(text, "<<<<<<< ") && !strings.Contains(text, "<path>") {
		return e.paths
	}
	last, writes := "", false
	for row := range strings.Lines(text[:min(len(text), maxScanned)]) {
		row = strings.TrimSpace(row)
		switch {
		case strings.HasPrefix(row, "<<<<<<< "):
			e.addPath(last)
			last = ""
		case strings.HasPrefix(row, "<path>") && writes:
			e.addPath(strings.TrimSuffix(strings.TrimPrefix(row, "<path>"), "</path>"))
			writes = false
		case strings.HasPrefix(row, "<") && !strings.HasPrefix(row, "</") && strings.HasSuffix(row, ">") && len(row) < maxTag:
			writes = hasWord(strings.Trim(row, "<>"), writingWords)
		case looksLikePath(strings.Trim(row, "`*: ")):
			last = strings.Trim(row, "`*: ")
		}
	}
	return e.paths
}
