// An agent that runs one command after the other, each in a child, and goes on when one fails.
import { spawn } from 'node:child_process'

const say = what => process.stdout.write(JSON.stringify(what) + '\n')
process.on('SIGTERM', () => {
  say({ stopped: 'SIGTERM' })
  process.exit(0)
})
const commands = process.argv.slice(2)
for (const command of commands) {
  say({ start: command, pid: process.pid })
  const child = spawn(command, { shell: true, stdio: 'inherit' })
  const status = await new Promise(ended => child.on('exit', (code, signal) => ended(code ?? signal)))
  say({ command, status })
}
say({ done: commands.length })
