// The official TypeScript SDK calls tools that have an outputSchema, and says what its callTool gave or threw. It holds every
// result to the schema of the list.
//
//   node typed.mjs COMMAND [ARG...]     one line of JSON a call: {"name":…,"arguments":…} in, {"result":…} or {"error":…} out

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createInterface } from 'node:readline';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'typed', version: '1' });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
const { tools } = await client.listTools();
console.log(JSON.stringify(Object.fromEntries(tools.map((t) => [t.name, t.outputSchema ?? null]))));
for await (const line of createInterface({ input: process.stdin })) {
  const said = await client.callTool(JSON.parse(line)).then((result) => ({ result }), (error) => ({ error: String(error) }));
  console.log(JSON.stringify(said));
}
await client.close();
