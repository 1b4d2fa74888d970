// The TypeScript SDK's first client, which knows the handshake alone.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { features, handshakeFeatures } from './features.mjs';
import { fixture } from './fixture.mjs';
import { questions } from './questions.mjs';
import { schema } from './v1.mjs';

async function connect(t, { capabilities = {}, handlers = {}, notifications = {} } = {}) {
  const client = new Client({ name: 'v1-peer', version: '1' }, { capabilities });
  for (const [method, f] of Object.entries(handlers)) client.setRequestHandler(schema(method), async (request) => f(request.params));
  for (const [method, f] of Object.entries(notifications)) client.setNotificationHandler(schema(method), async (notification) => f(notification.params));
  const transport = new StdioClientTransport({ command: fixture, stderr: 'ignore' });
  let revision;
  transport.setProtocolVersion = (version) => (revision = version);
  await client.connect(transport);
  t.after(() => client.close());
  return {
    client,
    revision: () => revision,
    call: (params, options) => client.callTool(params, undefined, options),
    async all(list, key) {
      const found = [];
      for (let cursor; ; ) {
        const page = await client[list]({ cursor });
        found.push(...page[key]);
        if ((cursor = page.nextCursor) === undefined) return found;
      }
    },
  };
}

const of = { name: 'v1', revision: '2025-11-25', stateless: false, notFound: -32002 };
features(of, connect);
handshakeFeatures(of, connect);
questions(of, connect);
