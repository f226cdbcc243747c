// Works through a recorded list of tool calls with one MCP client: one half,
// a new connection, the other half. Prints the id of the run.
//
//	node replay.mjs CLIENT TRANSPORT ERA SCRIPT TARGET...
//
// SCRIPT holds the calls and what lists answer. TARGET is the address of a
// server, or a command to start; PEERS_TOKEN is what the server wants to see.
// Every client is used by the method names of the TypeScript SDK, and asked for
// the revision that it negotiated.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const [client, transport, era, scriptFile, ...target] = process.argv.slice(2);
const script = JSON.parse(await readFile(scriptFile, 'utf8'));
const { connect } = await import(client === 'inspector' ? './inspector.mjs' : './typescript.mjs');
const revision = era === 'legacy' ? '2025-11-25' : '2026-07-28';

let peer = await open();
const run_id = (await call('run_start', {})).run_id;
const half = script.calls.length / 2;
for (const { name, args } of script.calls.slice(0, half)) await call(name, { ...args, run_id });
await peer.close();

peer = await open();
const standing = await call('run_status', { run_id });
assert.deepEqual([standing.run_id, standing.status], [run_id, 'running']);
await read();
for (const { name, args } of script.calls.slice(half)) await call(name, { ...args, run_id });
const end = await call('run_finish', { run_id, answer: script.answer });
assert.equal(end.status, 'waiting_for_approval');
await peer.close();
console.log(run_id);

async function open() {
  const peer = await connect({ client, transport, era, target, token: process.env.PEERS_TOKEN });
  assert.equal(await peer.revision(), revision);
  return peer;
}

// call expects an answer, not a refusal, that says the same in both forms.
async function call(name, args) {
  const answer = await peer.callTool({ name, arguments: args });
  const said = `${name}: ${JSON.stringify(answer)}`;
  assert(!answer.isError, said);
  assert.equal(answer.content[0].type, 'text', said);
  assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent, said);
  assert.equal(answer.structuredContent.run_id, args.run_id ?? answer.structuredContent.run_id, said);
  return answer.structuredContent;
}

// read looks at everything that is not a tool call.
async function read() {
  assert.deepEqual((await peer.listTools()).tools.map(t => t.name), script.tools);
  assert.deepEqual((await peer.listPrompts()).prompts.map(p => p.name), script.prompts);
  const prompt = await peer.getPrompt({ name: 'continue_run', arguments: { run_id } });
  assert(prompt.messages[0].content.text.includes(run_id), JSON.stringify(prompt));

  const { resources } = await peer.listResources();
  assert(resources.some(r => r.uri === 'memory://notes'), JSON.stringify(resources));
  const { resourceTemplates } = await peer.listResourceTemplates();
  assert(resourceTemplates.some(t => t.uriTemplate.startsWith('run://')), JSON.stringify(resourceTemplates));
  for (const uri of [`run://${run_id}`, 'memory://notes']) {
    const { contents } = await peer.readResource({ uri });
    assert.equal(contents[0].uri, uri);
    assert.equal(typeof JSON.parse(contents[0].text), 'object');
  }
}
