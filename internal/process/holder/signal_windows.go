package holder

import "syscall"

// sigContinue does not exist here: nothing can be paused.
const sigContinue = syscall.Signal(0)
