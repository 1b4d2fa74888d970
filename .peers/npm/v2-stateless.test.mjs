import assert from 'node:assert/strict';
import { test } from 'node:test';

import { features } from './features.mjs';
import { Heard, answers, text } from './fixture.mjs';
import { questions } from './questions.mjs';
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

function statelessFeatures(of, connect) {
  const tryTo = (what, f) => test(`${of.name}: ${what}`, f);

  tryTo('discover', async (t) => {
    const { client } = await connect(t);
    assert.equal(client.getProtocolEra(), 'modern');
    const found = await client.discover();
    assert.ok(found.supportedVersions.includes(revision));
    assert.ok(Number.isInteger(found.ttlMs) && ['public', 'private'].includes(found.cacheScope), JSON.stringify(found));
  });

  tryTo('listen', async (t) => {
    const heard = new Heard();
    const { client, call } = await connect(t, {
      notifications: {
        'notifications/tools/list_changed': () => heard.add('tools'),
        'notifications/prompts/list_changed': () => heard.add('prompts'),
        'notifications/resources/updated': (params) => heard.add(params.uri),
      },
    });
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['note://readme'] });
    assert.deepEqual(subscription.honoredFilter, { toolsListChanged: true, resourceSubscriptions: ['note://readme'] });
    await call({ name: 'switch', arguments: { kind: 'prompts' } }); // nobody asked
    await call({ name: 'switch', arguments: { kind: 'tools' } });
    assert.equal(await heard.next('tools'), 'tools');
    await call({ name: 'touch', arguments: { uri: 'note://logo' } }); // nobody asked
    await call({ name: 'touch', arguments: { uri: 'note://readme' } });
    assert.equal(await heard.next('an update'), 'note://readme');
    await subscription.close();
    assert.equal(await subscription.closed, 'local');
    const other = await client.listen({ resourceSubscriptions: ['note://logo'] });
    await call({ name: 'touch', arguments: { uri: 'note://readme' } });
    await call({ name: 'touch', arguments: { uri: 'note://logo' } });
    assert.equal(await heard.next('an update'), 'note://logo');
    await other.close();
    assert.equal(heard.length, 0);
  });

  tryTo('keep lists fresh', async (t) => {
    const heard = new Heard();
    const { call } = await connect(t, { listChanged: { tools: { onChanged: (error, tools) => heard.add(error ?? tools) } } });
    await call({ name: 'switch', arguments: { kind: 'tools' } });
    const tools = await heard.next('new tools');
    assert.ok(Array.isArray(tools) && tools.some((tool) => tool.name === 'extra'), String(tools));
  });

  tryTo('ask for messages with a request', async (t) => {
    const heard = new Heard();
    const { call } = await connect(t, { notifications: { 'notifications/message': heard.add } });
    await call({ name: 'say' }); // did not ask
    await call({ name: 'say', _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } });
    assert.equal((await heard.next('a shout')).level, 'warning');
    assert.equal(heard.length, 0);
  });

  tryTo('answer by hand', async (t) => {
    const { client } = await connect(t, { ...answers(), inputRequired: { autoFulfill: false } });
    const ask = (more) => client.callTool({ name: 'ask_twice', arguments: {}, ...more }, { allowInputRequired: true });
    const first = await ask();
    assert.equal(first.resultType, 'input_required');
    assert.equal(first.inputRequests.name.method, 'elicitation/create');
    const named = { inputResponses: { name: { action: 'accept', content: { name: 'Ada' } } }, requestState: first.requestState };
    const second = await ask(named);
    assert.equal(second.inputRequests.color.params.message, 'And your favourite color, Ada?');
    assert.notEqual(second.requestState, first.requestState);
    const colored = { inputResponses: { color: { action: 'accept', content: { color: 'blue' } } }, requestState: second.requestState };
    await assert.rejects(ask({ ...colored, requestState: `${second.requestState}-tampered` }), { code: -32602 });
    const last = await ask(colored);
    assert.equal(text(last), '{"color":"blue","name":"Ada"}');
  });
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
