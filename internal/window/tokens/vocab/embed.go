package vocab

import (
	_ "embed"
	"sync"
)

var (
	//go:embed o200k.bin
	o200kString string
	//go:embed cl100k.bin
	cl100kString string
	//go:embed text.bin
	textString string
	//go:embed class.bin
	classString string
)

// O200K is o200k_base.
var O200K = sync.OnceValue(func() *Table { return Open(o200kString, textString) })

// CL100K is cl100k_base.
var CL100K = sync.OnceValue(func() *Table { return Open(cl100kString, textString) })
