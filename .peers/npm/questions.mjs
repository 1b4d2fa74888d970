// What a client is asked by the server, in either era of the protocol.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { answers, text } from './fixture.mjs';

export function questions(of, connect) {
  const tryTo = (what, f) => test(`${of.name}: ${what}`, f);

  tryTo('fill in a form', async (t) => {
    const asked = [];
    const { call } = await connect(t, answers(asked));
    assert.deepEqual((await call({ name: 'ask_form' })).structuredContent, {
      action: 'accept',
      content: { name: 'Ada', age: 30, score: 95.5, news: true, plain: 'green', titled: 'l', named: 'b' },
    });
    assert.deepEqual((await call({ name: 'ask_lists' })).structuredContent.content, { name: 'Ada', several: ['x', 'z'], titles: ['q'] });
    assert.equal(asked.length, 2);
    assert.equal(asked[0].message, 'Who are you?');
    assert.deepEqual(asked[0].requestedSchema.properties.titled.oneOf[1], { const: 'l', title: 'Large' });
  });

  tryTo('decline a form', async (t) => {
    for (const action of ['decline', 'cancel']) {
      const { call } = await connect(t, { capabilities: { elicitation: {} }, handlers: { 'elicitation/create': () => ({ action }) } });
      assert.deepEqual((await call({ name: 'ask_form' })).structuredContent, { action });
    }
  });

  tryTo('open a page', async (t) => {
    const asked = [];
    const { call } = await connect(t, answers(asked));
    assert.deepEqual((await call({ name: 'ask_link' })).structuredContent, { action: 'accept' });
    assert.equal(asked[0].mode, 'url');
    assert.equal(asked[0].url, 'https://example.org/connect');
    assert.equal('elicitationId' in asked[0], !of.stateless);
  });

  tryTo('ask a model', async (t) => {
    const asked = [];
    const { call } = await connect(t, answers(asked));
    assert.deepEqual((await call({ name: 'ask_model' })).structuredContent, { text: 'Re: Write a subject line', model: 'model-1', stopReason: 'endTurn' });
    assert.equal(asked[0].maxTokens, 40);
  });

  tryTo('name the roots', async (t) => {
    const { call } = await connect(t, answers());
    assert.deepEqual((await call({ name: 'ask_roots' })).structuredContent, { roots: [{ uri: 'file:///srv/notes', name: 'notes' }] });
  });

  tryTo('answer several questions at once', async (t) => {
    const { call } = await connect(t, answers());
    assert.deepEqual((await call({ name: 'ask_all' })).structuredContent, {
      name: 'Ada', roots: ['file:///srv/notes'], draft: 'Re: Write a subject line', model: 'model-1',
    });
  });

  tryTo('answer one question after the other', async (t) => {
    const asked = [];
    const { call } = await connect(t, answers(asked));
    assert.deepEqual((await call({ name: 'ask_twice' })).structuredContent, { name: 'Ada', color: 'blue' });
    assert.equal(asked.length, 2);
  });

  tryTo('answer for a resource and a prompt', async (t) => {
    const { client } = await connect(t, answers());
    assert.equal((await client.readResource({ uri: 'note://asked' })).contents[0].text, 'for Ada');
    assert.equal((await client.getPrompt({ name: 'asked' })).messages[0].content.text, 'for Ada');
  });

  tryTo('be told that it cannot be asked', async (t) => {
    const refused = async (call, name) => {
      if (of.stateless) return assert.rejects(call({ name }), { code: -32021 });
      const result = await call({ name });
      assert.equal(result.isError, true, `${name}: ${text(result)}`);
    };
    const { call } = await connect(t);
    for (const name of ['ask_form', 'ask_link', 'ask_model', 'ask_roots', 'ask_all', 'ask_twice']) await refused(call, name);
    const forms = await connect(t, { capabilities: { elicitation: {} }, handlers: { 'elicitation/create': () => ({ action: 'accept' }) } });
    await refused(forms.call, 'ask_link');
  });
}
