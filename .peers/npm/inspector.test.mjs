// The Inspector's command line.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { fixture } from './fixture.mjs';

const run = promisify(execFile);
const inspector = join(dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')), 'clients/launcher/build/index.js');

let home; // the Inspector keeps files there

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'petrock-inspector-'));
});
after(() => rm(home, { recursive: true, force: true }));

// inspect asks the server for something and returns the result.
async function inspect(era, ...args) {
  const { stdout } = await run(process.execPath, [inspector, '--cli', fixture, '--protocol-era', era, '--format', 'json', '--quiet', ...args], {
    env: { ...process.env, HOME: home },
    timeout: 60_000,
  });
  return JSON.parse(stdout).result;
}

for (const era of ['legacy', 'auto', 'modern']) {
  test(`the Inspector, ${era}: list`, async () => {
    const { tools } = await inspect(era, '--method', 'tools/list');
    for (const name of ['add', 'wait']) assert.ok(tools.some((tool) => tool.name === name), `${name} is missing`);
    const { resources } = await inspect(era, '--method', 'resources/list');
    assert.ok(resources.some((resource) => resource.uri === 'note://readme'));
    const { prompts } = await inspect(era, '--method', 'prompts/list');
    assert.ok(prompts.some((prompt) => prompt.name === 'greet'));
  });

  test(`the Inspector, ${era}: call, read, get`, async () => {
    const sum = await inspect(era, '--method', 'tools/call', '--tool-name', 'add', '--tool-args-json', '{"a":2,"b":40}');
    assert.deepEqual(sum.structuredContent, { sum: 42 });
    const revision = await inspect(era, '--method', 'tools/call', '--tool-name', 'revision');
    assert.equal(revision.content[0].text, era === 'legacy' ? '2025-11-25' : '2026-07-28');
    const { contents } = await inspect(era, '--method', 'resources/read', '--uri', 'note://readme');
    assert.equal(contents[0].text, 'hello');
    // It tells a tool that failed by its exit status.
    await assert.rejects(inspect(era, '--method', 'tools/call', '--tool-name', 'fail'), { code: 5 });
    const { messages } = await inspect(era, '--method', 'prompts/get', '--prompt-name', 'greet', '--prompt-args', 'name=Ada');
    assert.equal(messages.length, 2);
  });
}
