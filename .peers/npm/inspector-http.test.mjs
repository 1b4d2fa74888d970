// The Inspector's command line over HTTP.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { goodKey, serve } from './http.mjs';
import { asking, inspect } from './inspector.mjs';

let address, locked;
const ending = [];
before(async () => {
  address = process.env.PEERS_URL ?? (await serve((f) => ending.push(f)));
  locked = await serve((f) => ending.push(f), { FIXTURE_API_KEY: goodKey });
});
after(async () => {
  for (const f of ending) await f();
});

asking('over HTTP', () => [address, '--transport', 'http']);

for (const era of ['legacy', 'auto', 'modern']) {
  test(`the Inspector over HTTP, ${era}: come in with a key alone`, async () => {
    const add = (...headers) => inspect([locked, '--transport', 'http', ...headers], era, '--method', 'tools/call', '--tool-name', 'add', '--tool-args-json', '{"a":2,"b":40}');
    await assert.rejects(add());
    await assert.rejects(add('--header', 'X-Api-Token: nobody-knows-this-key'));
    assert.deepEqual((await add('--header', `X-Api-Token: ${goodKey}`)).structuredContent, { sum: 42 });
  });
}
