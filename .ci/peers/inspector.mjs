// Is MCP Inspector's command line, by the method names of the TypeScript SDK.
// Every request is a process with a connection of its own, so nothing of what
// orderdesk remembers can come from a connection. An exit code other than 0
// fails: of a tool that refuses (5), and with --strict of a tool whose schema
// other hosts would not understand (6).
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const start = promisify(execFile);

export async function connect({ transport, era, target, token }) {
  const common = ['--cli', ...target, '--transport', transport, '--protocol-era', era, '--stored-auth-only', '--format', 'json'];
  if (transport !== 'stdio') common.push('--header', `Authorization: Bearer ${token}`);

  async function ask(method, ...options) {
    const { stdout } = await start('mcp-inspector', [...common, '--method', method, ...options], { timeout: 60_000 });
    return JSON.parse(stdout).result;
  }
  return {
    revision: async () => (await ask('initialize')).protocolVersion,
    listTools: () => ask('tools/list', '--strict'),
    callTool: ({ name, arguments: args }) => ask('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)),
    listPrompts: () => ask('prompts/list'),
    getPrompt: ({ name, arguments: args }) =>
      ask('prompts/get', '--prompt-name', name, '--prompt-args', ...Object.entries(args).map(([k, v]) => `${k}=${v}`)),
    listResources: () => ask('resources/list'),
    listResourceTemplates: () => ask('resources/templates/list'),
    readResource: ({ uri }) => ask('resources/read', '--uri', uri),
    close: async () => {},
  };
}
