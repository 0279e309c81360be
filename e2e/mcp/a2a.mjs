// The official JavaScript SDK of A2A as a client of `plimsoll agent serve`, as the tests of
// e2e/a2a_javascript_test.go want it. It prints what it sees, one JSON object a line, and waits for a
// line on its input where the test has something to do.
//
//   node a2a.mjs URL jsonrpc|rest 1.0|0.3 SCENE QUESTION
import { createInterface } from 'node:readline';
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory,
} from '@a2a-js/sdk/client';

const [url, transport, version, scene, question] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (what, about) => console.log(JSON.stringify({ what, ...about }));
const cue = async () => { await lines.next(); };

// A client of 0.3 asks for the card without a version, and finds only what 0.3 has in it.
const cards = async (input, init) => {
  if (version === '1.0') return fetch(input, init);
  const answer = await fetch(input);
  const card = await answer.json();
  delete card.supportedInterfaces;
  return new Response(JSON.stringify(card), { headers: { 'content-type': 'application/json' } });
};
const legacyCompat = { enabled: version === '0.3' };
const kind = transport === 'rest' ? RestTransportFactory : JsonRpcTransportFactory;
const resolver = new DefaultAgentCardResolver({ fetchImpl: cards, legacyCompat });
const factory = new ClientFactory({ transports: [new kind({ legacyCompat })], cardResolver: resolver });
const card = await resolver.resolve(url);
const client = await factory.createFromAgentCard(card);
say('card', { name: card.name, transport: client.transport.protocolName, version: client.protocolVersion });

const message = (text) => ({
  message: {
    messageId: crypto.randomUUID(), role: 1, parts: [{ content: { $case: 'text', value: text }, mediaType: '', filename: '' }],
    contextId: '', taskId: '', extensions: [], referenceTaskIds: [],
  },
  configuration: undefined, metadata: undefined, tenant: '',
});
const words = (parts) => (parts ?? []).map((p) => (p.content?.$case === 'text' ? p.content.value : '')).join('');

// What a client knows of a task.
class Told {
  task = ''; state = 0; texts = new Map(); snapshots = 0; pieces = 0; ends = 0; calls = 0;

  take(event) {
    const { $case: type, value } = event.payload;
    if (type === 'task') {
      this.snapshots++;
      this.task = value.id;
      this.state = value.status?.state;
      this.texts = new Map((value.artifacts ?? []).map((a) => [a.artifactId, words(a.parts)]));
    } else if (type === 'artifactUpdate') {
      this.pieces++;
      const { artifactId: id, parts } = value.artifact;
      this.texts.set(id, (value.append ? this.texts.get(id) ?? '' : '') + words(parts));
    } else if (type === 'statusUpdate') {
      this.state = value.status?.state;
      if (this.state >= 3) this.ends++;
      if (value.metadata?.['plimsoll.event'] === 'call') this.calls++;
    } else {
      throw new Error(`an event of no known kind: ${type}`);
    }
  }

  get text() { return [...this.texts.values()].join(''); }

  get about() {
    const { task, state, text, snapshots, pieces, ends, calls } = this;
    return { task, state, text, snapshots, pieces, ends, calls };
  }
}

const failed = (error) => ({ error: error.name, message: error.message });
const get = async (id) => {
  const told = new Told();
  told.take({ payload: { $case: 'task', value: await client.getTask({ id, tenant: '', historyLength: undefined }) } });
  return told.about;
};

// leave streams an answer and goes away when enough of it is there.
async function leave(enough) {
  const told = new Told();
  const gone = new AbortController();
  try {
    for await (const event of client.sendMessageStream(message(question), { signal: gone.signal })) {
      told.take(event);
      if (enough(told)) gone.abort();
    }
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
  return told;
}

const scenes = {
  async send() {
    const answer = await client.sendMessage(message(question));
    const told = new Told();
    told.take({ payload: { $case: 'task', value: answer.payload?.value ?? answer } });
    say('answer', told.about);
  },
  async stream() {
    say('streamed', (await leave(() => false)).about);
  },
  // In the middle of an answer: away, and back.
  async back() {
    const before = await leave((t) => t.pieces >= 3);
    say('left', before.about);
    await cue();
    const told = new Told();
    let first = true;
    for await (const event of client.resubscribeTask({ id: before.task, tenant: '' })) {
      told.take(event);
      if (first) say('snapshot', told.about);
      first = false;
    }
    say('rest', told.about);
    say('kept', await get(before.task));
    try {
      for await (const event of client.resubscribeTask({ id: before.task, tenant: '' })) say('more', { type: event.payload.$case });
      say('over', {});
    } catch (error) {
      say('over', failed(error));
    }
  },
  // Away from a task that hangs, back, and an end to it.
  async cancel() {
    const before = await leave((t) => t.calls > 0);
    say('left', before.about);
    const told = new Told();
    let asked = false;
    for await (const event of client.resubscribeTask({ id: before.task, tenant: '' })) {
      told.take(event);
      if (!asked) {
        asked = true;
        const after = await client.cancelTask({ id: before.task, tenant: '', metadata: undefined });
        say('cancelled', { state: after.status?.state });
      }
    }
    say('rest', told.about);
    say('kept', await get(before.task));
  },
};

try {
  await scenes[scene]();
} catch (error) {
  say('failed', { ...failed(error), stack: error.stack });
  process.exitCode = 1;
}
process.stdin.destroy();
