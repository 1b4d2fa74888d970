// What every client does in either era of the protocol.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Heard, eventually, text } from './fixture.mjs';

// features tests a client. connect(t, options) starts the server and connects the
// client to it; of is { name, revision, stateless, notFound }.
export function features(of, connect) {
  const tryTo = (what, f) => test(`${of.name}: ${what}`, f);

  tryTo('agree on a revision', async (t) => {
    const peer = await connect(t);
    assert.equal(peer.revision(), of.revision);
    assert.equal(peer.client.getServerVersion().name, 'fixture');
    assert.equal(peer.client.getInstructions(), 'Call anything.');
    assert.deepEqual(Object.keys(peer.client.getServerCapabilities()).filter((c) => c !== 'logging').sort(), ['completions', 'prompts', 'resources', 'tools']);
    assert.equal(text(await peer.call({ name: 'revision' })), of.revision);
  });

  tryTo('list', async (t) => {
    const peer = await connect(t);
    const tools = (await peer.all('listTools', 'tools')).map((tool) => tool.name);
    for (const name of ['add', 'blocks', 'count', 'fail', 'wait', 'waits']) assert.ok(tools.includes(name), `${name} is missing in ${tools}`);
    const resources = (await peer.all('listResources', 'resources')).map((resource) => resource.uri);
    for (const uri of ['note://readme', 'note://page-0', 'note://page-4']) assert.ok(resources.includes(uri), `${uri} is missing in ${resources}`);
    assert.deepEqual((await peer.all('listResourceTemplates', 'resourceTemplates')).map((template) => template.uriTemplate), ['note://by-id/{id}']);
    assert.ok((await peer.all('listPrompts', 'prompts')).some((prompt) => prompt.name === 'greet'));
  });

  tryTo('call', async (t) => {
    const peer = await connect(t);
    await peer.all('listTools', 'tools'); // the client checks results against what it has seen
    const result = await peer.call({ name: 'add', arguments: { a: 2, b: 40 } });
    assert.deepEqual(result.structuredContent, { sum: 42 });
    assert.equal(text(result), '{"sum":42}');
    const blocks = (await peer.call({ name: 'blocks' })).content;
    assert.deepEqual(blocks.map((block) => block.type), ['text', 'image', 'audio', 'resource', 'resource_link']);
  });

  tryTo('fail', async (t) => {
    const peer = await connect(t);
    const failed = await peer.call({ name: 'fail' });
    assert.equal(failed.isError, true);
    assert.equal(text(failed), 'no luck today');
    assert.equal((await peer.call({ name: 'add', arguments: { a: 'two' } })).isError, true);
    await assert.rejects(peer.call({ name: 'refuse' }), { code: -5 });
    await assert.rejects(peer.call({ name: 'nobody' }), { code: -32602 });
    await assert.rejects(peer.client.getPrompt({ name: 'greet' }), { code: -32602 });
    await assert.rejects(peer.client.readResource({ uri: 'note://by-id/gone' }), { code: of.notFound });
  });

  tryTo('read, get, complete', async (t) => {
    const { client } = await connect(t);
    assert.equal((await client.readResource({ uri: 'note://readme' })).contents[0].text, 'hello');
    assert.equal((await client.readResource({ uri: 'note://logo' })).contents[0].blob, 'AQID');
    assert.equal((await client.readResource({ uri: 'note://by-id/7' })).contents[0].text, 'note 7');
    assert.equal((await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages.length, 2);
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'A' }, context: { arguments: { tone: 'kind' } },
    });
    assert.deepEqual(completion.values, ['Aa', 'Ab', 'known: kind']);
  });

  tryTo('follow progress', async (t) => {
    const peer = await connect(t);
    const heard = [];
    await peer.call({ name: 'count', arguments: { to: 3 } }, { onprogress: (progress) => heard.push(progress) });
    assert.deepEqual(heard.map(({ progress, total, message }) => [progress, total, message]), [[1, 3, 'at 1'], [2, 3, 'at 2'], [3, 3, 'at 3']]);
  });

  tryTo('cancel', async (t) => {
    const peer = await connect(t);
    const waits = async () => JSON.parse(text(await peer.call({ name: 'waits' })));
    const stop = new AbortController();
    const call = peer.call({ name: 'wait' }, { signal: stop.signal });
    call.catch(() => {});
    await eventually('the tool has begun', async () => (await waits()).started === 1);
    stop.abort('changed my mind');
    await assert.rejects(call);
    await eventually('the tool has seen that it was cancelled', async () => (await waits()).cancelled === 1);
    await assert.rejects(peer.call({ name: 'wait' }, { timeout: 100 }));
    await eventually('the tool has seen that time was up', async () => (await waits()).cancelled === 2);
  });
}

// handshakeFeatures tests what only the era of the handshake has.
export function handshakeFeatures(of, connect) {
  const tryTo = (what, f) => test(`${of.name}: ${what}`, f);

  tryTo('ping', async (t) => {
    await (await connect(t)).client.ping();
  });

  tryTo('set the level', async (t) => {
    const heard = new Heard();
    const { client, call } = await connect(t, { notifications: { 'notifications/message': heard.add } });
    await client.setLoggingLevel('info');
    await call({ name: 'say' });
    assert.equal((await heard.next('a word')).level, 'info');
    assert.deepEqual(await heard.next('a shout'), { level: 'warning', logger: 'fixture', data: { msg: 'a shout', n: 3 } });
  });

  tryTo('hear that lists have changed', async (t) => {
    const heard = new Heard();
    const kinds = ['tools', 'resources', 'prompts'];
    const peer = await connect(t, {
      notifications: Object.fromEntries(kinds.map((kind) => [`notifications/${kind}/list_changed`, () => heard.add(kind)])),
    });
    for (const kind of kinds) {
      await peer.call({ name: 'switch', arguments: { kind } });
      assert.equal(await heard.next(kind), kind);
    }
    assert.ok((await peer.all('listTools', 'tools')).some((tool) => tool.name === 'extra'));
  });

  tryTo('subscribe', async (t) => {
    const heard = new Heard();
    const { client, call } = await connect(t, { notifications: { 'notifications/resources/updated': (params) => heard.add(params.uri) } });
    await client.subscribeResource({ uri: 'note://readme' });
    await call({ name: 'touch', arguments: { uri: 'note://logo' } }); // nobody asked
    await call({ name: 'touch', arguments: { uri: 'note://readme' } });
    assert.equal(await heard.next('an update'), 'note://readme');
    await client.unsubscribeResource({ uri: 'note://readme' });
    await client.subscribeResource({ uri: 'note://logo' });
    await call({ name: 'touch', arguments: { uri: 'note://readme' } });
    await call({ name: 'touch', arguments: { uri: 'note://logo' } });
    assert.equal(await heard.next('an update'), 'note://logo');
  });
}
