package idle

import (
	"os"
	"time"
)

// InputOf returns nil: a console does not tell when somebody typed last.
func InputOf(*os.File) func() time.Time { return nil }
