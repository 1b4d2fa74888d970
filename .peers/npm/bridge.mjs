// A client of the TypeScript SDK that another program controls: .bench/deployment.
//
//   node bridge.mjs URL GENERATION KEY
//
// Connects, and prints {"ready":true}. Then each line of the input is a request, {"id", "method", "params"}, with
// the method call, read or subscribe. Each line of the output is its answer, {"id", "result"} or {"id", "error"},
// or {"updated":true} when the resource has changed. Ends with the input.

import { createInterface } from 'node:readline';

const [url, generation, key] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const updated = () => print({ updated: true });
const transportOptions = { requestInit: { headers: { Authorization: `Bearer ${key}` } } };

// v1 connects the first generation, with a session.
async function v1() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { ResourceUpdatedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const client = new Client({ name: 'ts-sdk-1', version: '1' });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, updated);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), transportOptions));
  return { client, subscribe: (uri) => client.subscribeResource({ uri }) };
}

// v2 connects the second generation, without a session.
async function v2() {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: 'ts-sdk-2', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  client.setNotificationHandler('notifications/resources/updated', updated);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), transportOptions));
  return { client, subscribe: (uri) => client.listen({ resourceSubscriptions: [uri] }) };
}

const { client, subscribe } = await (generation === '1' ? v1() : v2());
client.onerror = () => {}; // errors of calls are answers
process.on('unhandledRejection', () => {}); // a stream that broke
const methods = {
  call: (params) => client.callTool(params),
  read: (params) => client.readResource(params),
  subscribe: async ({ uri }) => {
    await subscribe(uri);
    return {};
  },
};
print({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  methods[method](params).then(
    (result) => print({ id, result }),
    (error) => print({ id, error: String(error?.message ?? error) }),
  );
}
await Promise.race([client.close(), new Promise((resolve) => setTimeout(resolve, 2000))]).catch(() => {});
process.exit(0);
