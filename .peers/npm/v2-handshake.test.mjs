import assert from 'node:assert/strict';
import { test } from 'node:test';

import { features, handshakeFeatures } from './features.mjs';
import { asks } from './fixture.mjs';
import { questions } from './questions.mjs';
import { SamePipe, connector } from './v2.mjs';

// This client turns the old code for a missing resource into the new one.
const of = { name: 'v2, handshake', revision: '2025-11-25', stateless: false, notFound: -32602 };
const connect = connector('legacy');
features(of, connect);
handshakeFeatures(of, connect);
if (asks) {
  questions(of, connect);
} else {
  // A server that knows the handshake alone must not stumble over being asked for more.
  for (const [name, Transport] of [['a process of its own', undefined], ['the same pipe', SamePipe]]) {
    test(`v2, falling back: asking ${name} first`, async (t) => {
      const peer = await connector('auto', Transport)(t);
      assert.equal(peer.client.getProtocolEra(), 'legacy');
      assert.equal(peer.revision(), '2025-11-25');
      assert.equal((await peer.call({ name: 'add', arguments: { a: 1, b: 2 } })).structuredContent.sum, 3);
    });
  }
}
