"""An agent that runs one command after the other, each in a child, and goes on when one fails."""

import json
import os
import signal
import subprocess
import sys


def stop(number, frame):
    print(json.dumps({"stopped": signal.Signals(number).name}), flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
for command in sys.argv[1:]:
    print(json.dumps({"start": command, "pid": os.getpid()}), flush=True)
    status = subprocess.run(command, shell=True).returncode
    print(json.dumps({"command": command, "status": status}), flush=True)
print(json.dumps({"done": len(sys.argv) - 1}), flush=True)
