// What all tests need: where the server is, and how to wait for what must happen.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

// The server to drive. The script run builds it.
export const fixture = process.env.PEERS_FIXTURE;
assert.ok(fixture, 'PEERS_FIXTURE must name the fixture, as the script run does');

const patience = 10_000;

// eventually waits until so() holds.
export async function eventually(what, so) {
  for (const end = Date.now() + patience; !(await so()); await sleep(10)) {
    assert.ok(Date.now() < end, `not within ${patience} ms: ${what}`);
  }
}

// A Heard collects what a client is told, in order.
export class Heard {
  #all = [];

  add = (value) => this.#all.push(value);

  get length() {
    return this.#all.length;
  }

  async next(what) {
    await eventually(`the client hears of ${what}`, () => this.#all.length > 0);
    return this.#all.shift();
  }
}

// text is the text of the first block of a result.
export function text(result) {
  assert.equal(result.content?.[0]?.type, 'text', JSON.stringify(result));
  return result.content[0].text;
}

// answers is a client that answers every question. asked collects the questions.
export function answers(asked = []) {
  return {
    capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    handlers: {
      'elicitation/create': (params) => {
        asked.push(params);
        if (params.mode === 'url') return { action: 'accept' };
        return { action: 'accept', content: /color, Ada/.test(params.message) ? { color: 'blue' } : { name: 'Ada' } };
      },
      'sampling/createMessage': (params) => {
        asked.push(params);
        const content = [params.messages[0].content].flat()[0];
        return { role: 'assistant', model: 'model-1', stopReason: 'endTurn', content: { type: 'text', text: `Re: ${content.text}` } };
      },
      'roots/list': () => ({ roots: [{ uri: 'file:///srv/notes', name: 'notes' }] }),
    },
  };
}
