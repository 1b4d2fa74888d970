import assert from 'node:assert/strict';
import { test } from 'node:test';

import { features, handshakeFeatures } from './features.mjs';
import { questions } from './questions.mjs';
import { SamePipe, connector } from './v2.mjs';

// This client turns the old code for a missing resource into the new one.
const of = { name: 'v2, handshake', revision: '2025-11-25', stateless: false, notFound: -32602 };
const connect = connector('legacy');
features(of, connect);
handshakeFeatures(of, connect);
questions(of, connect);

// Deaf makes the server not understand the client's first question.
class Deaf extends SamePipe {
  send(message) {
    return super.send(message.method === 'server/discover' ? { ...message, method: 'server/unheard-of' } : message);
  }
}

test('v2, handshake: fall back to it over the same pipe', async (t) => {
  const peer = await connector('auto', Deaf)(t);
  assert.deepEqual(peer.transport.sent.map((message) => message.method), ['server/unheard-of', 'initialize', 'notifications/initialized']);
  assert.equal(peer.revision(), '2025-11-25');
  assert.equal((await peer.call({ name: 'add', arguments: { a: 1, b: 2 } })).structuredContent.sum, 3);
});
