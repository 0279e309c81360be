package extract

import "slices"

// maxCalledBytes bounds the arguments of a call that [Todos] and [Command] look into, in bytes.
const maxCalledBytes = 256 << 10

// Todos returns the texts, without their state, of the things to do that one call states as a whole list, as TodoWrite, update_plan,
// write_todos and their like do. It is nil for any other call, and for a tool that adds or changes single items.
func Todos(tool, arguments string) (items []string) {
	if !keepsPlan(tool) || len(arguments) > maxCalledBytes {
		return nil
	}
	v := parseArguments(arguments)
	r := planReader{plans: &plans{}, name: tool, named: true}
	r.read(&v)
	if !r.found {
		return nil
	}
	for _, p := range r.list {
		for _, item := range p.items {
			items = append(items, item.text)
		}
	}
	return items
}

// KeepsTodos reports whether a tool may, by its name, keep a list of things to do.
func KeepsTodos(tool string) bool { return keepsPlan(tool) }

// Command returns the command line that a call has a shell run, on one line, at most 160 bytes of it; "" for any other call.
func Command(tool, arguments string) string {
	if len(arguments) > maxCalledBytes {
		return ""
	}
	v := parseArguments(arguments)
	if !slices.ContainsFunc(v.members, func(m value) bool { return slices.Contains(shellKeys, plainKey(m.key)) }) {
		return ""
	}
	command, _ := commandOf(tool, &v)
	return command
}

// Words returns the words of a command line as a shell splits it, with quotes removed; operators between commands are words of their own.
func Words(line string) []string { return shellWords(line) }
