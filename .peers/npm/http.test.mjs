// The TypeScript SDK's clients over HTTP: all that they do over stdio, each with a server of its own, and what
// there is over HTTP alone.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { features, handshakeFeatures } from './features.mjs';
import { Heard, answers, text } from './fixture.mjs';
import { connectV1, connectV2, goodKey, serve, wire } from './http.mjs';
import { questions } from './questions.mjs';
import { statelessFeatures } from './stateless.mjs';

const handshake = { revision: '2025-11-25', stateless: false };
const stateless = { revision: '2026-07-28', stateless: true, notFound: -32602 };

// clients are all of them; each has connect(t, address, options).
const clients = [
  { ...handshake, name: 'v1 over HTTP', notFound: -32002, connect: connectV1 },
  { ...handshake, name: 'v2 over HTTP, handshake', notFound: -32602, connect: (t, address, options) => connectV2(t, address, 'legacy', options) },
  { ...stateless, name: 'v2 over HTTP, left to choose', connect: (t, address, options) => connectV2(t, address, 'auto', options) },
  { ...stateless, name: 'v2 over HTTP, pinned', connect: (t, address, options) => connectV2(t, address, { pin: '2026-07-28' }, options) },
];

// afterOf is how something is put off to the end of a test.
const afterOf = (t) => (f) => t.after(f);

for (const of of clients) {
  const connect = async (t, options) => of.connect(t, await serve(afterOf(t)), options);
  features(of, connect);
  questions(of, connect);
  if (of.stateless) statelessFeatures(of, connect);
  else handshakeFeatures(of, connect);
}

// One process for all that follows but for keys.
let address;
const ending = [];
before(async () => {
  address = process.env.PEERS_URL ?? (await serve((f) => ending.push(f)));
});
after(async () => {
  for (const f of ending) await f();
});

// ping asks a session whether it is there, and returns the status.
async function ping(session) {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': session },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  await response.text();
  return response.status;
}

for (const of of clients.filter((of) => !of.stateless)) {
  test(`${of.name}: end a session`, async (t) => {
    const { transport, call } = await of.connect(t, address);
    await call({ name: 'add', arguments: { a: 1, b: 2 } });
    const session = transport.sessionId;
    assert.ok(session);
    assert.equal(await ping(session), 200);
    await transport.terminateSession();
    assert.equal(await ping(session), 404);
  });

  test(`${of.name}: take up a stream that was cut`, async (t) => {
    const cuttable = await wire(afterOf(t), address);
    const { call } = await of.connect(t, cuttable.address, {
      transportOptions: { reconnectionOptions: { initialReconnectionDelay: 100, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 1.5, maxRetries: 5 } },
    });
    const heard = [];
    const result = await call({ name: 'count', arguments: { to: 12 } }, {
      onprogress: ({ progress }) => {
        heard.push(progress);
        if (progress === 3) cuttable.cut();
      },
    });
    assert.equal(text(result), 'counted to 12');
    assert.deepEqual(heard, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  test(`${of.name}: come back for an answer`, async (t) => {
    const { call } = await of.connect(t, address);
    assert.equal(text(await call({ name: 'suspend' })), 'back again');
  });

  test(`${of.name}: hear of an update over the session's stream, cut or not`, async (t) => {
    const uri = `note://by-id/${of.name.replaceAll(/[^a-z0-9]/g, '-')}`;
    const heard = new Heard();
    const cuttable = await wire(afterOf(t), address);
    const { client, call } = await of.connect(t, cuttable.address, {
      notifications: { 'notifications/resources/updated': (params) => heard.add(params.uri) },
      transportOptions: { reconnectionOptions: { initialReconnectionDelay: 100, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 1.5, maxRetries: 5 } },
    });
    await client.subscribeResource({ uri });
    await call({ name: 'touch', arguments: { uri } });
    assert.equal(await heard.next('an update'), uri);
    cuttable.cut();
    await call({ name: 'touch', arguments: { uri } });
    assert.equal(await heard.next('an update'), uri);
  });
}

test('one process serves all clients at once', async (t) => {
  const peers = await Promise.all(clients.map((of) => of.connect(t, address, answers())));
  await Promise.all(peers.map(async (peer, i) => {
    assert.equal(text(await peer.call({ name: 'revision' })), clients[i].revision);
    assert.deepEqual((await peer.call({ name: 'ask_twice' })).structuredContent, { name: 'Ada', color: 'blue' });
  }));
});

for (const of of clients) {
  test(`${of.name}: come in with a key alone`, async (t) => {
    const locked = await serve(afterOf(t), { FIXTURE_API_KEY: goodKey });
    const withHeaders = (headers) => of.connect(t, locked, { transportOptions: { requestInit: { headers } } });
    for (const headers of [{}, { 'X-Api-Token': 'nobody-knows-this-key' }, { Authorization: 'Bearer nobody-knows-this-key' }]) {
      await assert.rejects(withHeaders(headers), (error) => [error.code, error.status, error.data?.status].includes(401) || /401|[Uu]nauthorized/.test(error.message));
    }
    for (const headers of [{ 'X-Api-Token': goodKey }, { Authorization: `Bearer ${goodKey}` }]) {
      const { call } = await withHeaders(headers);
      assert.deepEqual((await call({ name: 'add', arguments: { a: 2, b: 40 } })).structuredContent, { sum: 42 });
    }
  });
}
