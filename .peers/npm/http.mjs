// The fixture over HTTP, and how each client gets to it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { connect as dial, createServer } from 'node:net';
import { createInterface } from 'node:readline';

import { Client as V2, StreamableHTTPClientTransport as V2Transport } from '@modelcontextprotocol/client';
import { Client as V1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as V1Transport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { fixture } from './fixture.mjs';
import { schema } from './v1.mjs';

// A key of a server that wants one.
export const goodKey = '0123456789abcdef0123456789abcdef';

// serve starts the fixture and returns its address. after(f) runs f at the end; the fixture must end well then.
export async function serve(after, env = {}) {
  const server = spawn(fixture, ['serve'], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => server.on('exit', (code, signal) => resolve(code ?? signal)));
  after(async () => {
    server.kill('SIGTERM');
    assert.equal(await ended, 0, 'the server did not end well');
  });
  for await (const line of createInterface({ input: server.stdout })) return line;
  assert.fail('the server does not say where it listens');
}

// wire lays a wire to a server that can be cut.
export async function wire(after, address) {
  const { hostname, port, pathname } = new URL(address);
  const conns = new Set();
  const listener = createServer((near) => {
    const far = dial(port, hostname);
    for (const [from, to] of [[near, far], [far, near]]) {
      conns.add(from);
      from.pipe(to);
      from.on('error', () => {});
      from.on('close', () => {
        conns.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const cut = () => conns.forEach((conn) => conn.destroy());
  after(() => {
    listener.close();
    cut();
  });
  return { address: `http://127.0.0.1:${listener.address().port}${pathname}`, cut };
}

// connectV1 connects the first client to a server.
export async function connectV1(t, address, { capabilities = {}, handlers = {}, notifications = {}, transportOptions = {} } = {}) {
  const client = new V1({ name: 'v1-peer', version: '1' }, { capabilities });
  for (const [method, f] of Object.entries(handlers)) client.setRequestHandler(schema(method), async (request) => f(request.params));
  for (const [method, f] of Object.entries(notifications)) client.setNotificationHandler(schema(method), async (notification) => f(notification.params));
  const transport = new V1Transport(new URL(address), transportOptions);
  await client.connect(transport);
  t.after(() => client.close());
  return {
    client,
    transport,
    revision: () => transport.protocolVersion,
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

// connectV2 connects the second client to a server, in a mode: 'legacy', 'auto' or { pin }.
export async function connectV2(t, address, mode, { capabilities = {}, handlers = {}, notifications = {}, transportOptions = {}, ...options } = {}) {
  const client = new V2({ name: 'v2-peer', version: '1' }, { capabilities, versionNegotiation: { mode }, ...options });
  for (const [method, f] of Object.entries(handlers)) client.setRequestHandler(method, async (request) => f(request.params));
  for (const [method, f] of Object.entries(notifications)) client.setNotificationHandler(method, async (notification) => f(notification.params));
  const transport = new V2Transport(new URL(address), transportOptions);
  await client.connect(transport);
  t.after(() => client.close());
  return {
    client,
    transport,
    revision: () => client.getNegotiatedProtocolVersion(),
    call: (params, options) => client.callTool(params, options),
    all: async (list, key) => (await client[list]())[key], // it turns the pages itself
  };
}
