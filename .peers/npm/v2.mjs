// The TypeScript SDK's second client, which knows both eras of the protocol.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { fixture } from './fixture.mjs';

// This client asks a process of its own for the revisions, and only then starts the one
// that it talks to. A transport that is not the very class above it uses for both.
export class SamePipe extends StdioClientTransport {
  sent = [];

  send(message) {
    this.sent.push(message);
    return super.send(message);
  }
}

// connector makes the connect of a mode: 'legacy', 'auto' or { pin }.
export function connector(mode, Transport = StdioClientTransport) {
  return async (t, { capabilities = {}, handlers = {}, notifications = {}, ...options } = {}) => {
    const client = new Client({ name: 'v2-peer', version: '1' }, { capabilities, versionNegotiation: { mode }, ...options });
    for (const [method, f] of Object.entries(handlers)) client.setRequestHandler(method, async (request) => f(request.params));
    for (const [method, f] of Object.entries(notifications)) client.setNotificationHandler(method, async (notification) => f(notification.params));
    const transport = new Transport({ command: fixture, stderr: 'ignore' });
    await client.connect(transport);
    t.after(() => client.close());
    return {
      client,
      transport,
      revision: () => client.getNegotiatedProtocolVersion(),
      call: (params, options) => client.callTool(params, options),
      all: async (list, key) => (await client[list]())[key], // it turns the pages itself
    };
  };
}
