// Connects with one of the TypeScript SDK's two generations: "sdk", which knows
// legacy alone, and "client", which is told the era.
const packages = {
  sdk: ['index', 'stdio', 'streamableHttp', 'sse'].map(f => `@modelcontextprotocol/sdk/client/${f}.js`),
  client: ['@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'],
};
const modes = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } };

export async function connect({ client, transport, era, target, token }) {
  const lib = Object.assign({}, ...(await Promise.all(packages[client].map(p => import(p)))));
  const peer = new lib.Client({ name: `peers-${client}`, version: '1' }, { versionNegotiation: { mode: modes[era] } });
  const wire = open(lib, transport, target, token);
  let revision;
  const pass = wire.setProtocolVersion?.bind(wire); // where the first generation tells it
  wire.setProtocolVersion = v => {
    revision = v;
    pass?.(v);
  };
  await peer.connect(wire);
  peer.revision = () => peer.getNegotiatedProtocolVersion?.() ?? revision;
  return peer;
}

function open(lib, transport, target, token) {
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  switch (transport) {
    case 'stdio': return new lib.StdioClientTransport({ command: target[0], args: target.slice(1) });
    case 'http': return new lib.StreamableHTTPClientTransport(new URL(target[0]), { requestInit });
    case 'sse': return new lib.SSEClientTransport(new URL(target[0]), { requestInit });
  }
}
