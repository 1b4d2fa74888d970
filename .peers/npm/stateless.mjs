// What only the era without a handshake has.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Heard, answers, text } from './fixture.mjs';

// statelessFeatures tests a client: see features.
export function statelessFeatures(of, connect) {
  const tryTo = (what, f) => test(`${of.name}: ${what}`, f);

  tryTo('discover', async (t) => {
    const { client } = await connect(t);
    assert.equal(client.getProtocolEra(), 'modern');
    const found = await client.discover();
    assert.ok(found.supportedVersions.includes(of.revision));
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
