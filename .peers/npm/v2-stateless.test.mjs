import assert from 'node:assert/strict';
import { test } from 'node:test';

import { features } from './features.mjs';
import { questions } from './questions.mjs';
import { statelessFeatures } from './stateless.mjs';
import { SamePipe, connector } from './v2.mjs';

const revision = '2026-07-28';

for (const [name, connect] of [
  ['v2, stateless, left to choose', connector('auto')],
  ['v2, stateless, pinned, one pipe', connector({ pin: revision }, SamePipe)],
]) {
  const of = { name, revision, stateless: true, notFound: -32602 };
  features(of, connect);
  questions(of, connect);
  statelessFeatures(of, connect);
}

// What the client says first, where everything goes over one pipe.
test('v2, stateless: ask for the revisions, and say nothing of a handshake', async (t) => {
  const { transport, call } = await connector('auto', SamePipe)(t);
  await call({ name: 'revision' });
  assert.deepEqual(transport.sent.map((message) => message.method), ['server/discover', 'tools/call']);
  assert.equal(typeof transport.sent[0].id, 'string');
  for (const message of transport.sent) assert.equal(message.params._meta['io.modelcontextprotocol/protocolVersion'], revision);
});

test('v2, stateless: come down from a revision that is not there yet', async (t) => {
  const peer = await connector('auto', SamePipe)(t, { supportedProtocolVersions: ['2099-01-01', revision, '2025-11-25'] });
  assert.equal(peer.revision(), revision);
  assert.deepEqual(peer.transport.sent.map((message) => message.params._meta['io.modelcontextprotocol/protocolVersion']), ['2099-01-01', revision]);
});
